// The package as its users call it, from Node: runs, mistakes, progress, cancelling, memory, packets, and the program in docs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const ROOT = resolve(import.meta.dirname, "../../../..");
const BUILT = join(ROOT, "target/npm/dumbbell");
const { DumbbellError, numbers, packets, parse, run } = await import(pathToFileURL(join(BUILT, "index.js")));

const TEXT = `
duration = "5s"
[path]
rtt = "20ms"
loss = "0.5%"
[path.bottleneck]
rate = "10mbit"
[[flows]]
cc = "cubic"
`;
const LONG = TEXT.replace("5s", "600s");

test("the same seed gives the same columns and metrics, another seed others", async () => {
  const [first, again, other] = await Promise.all([1, 1n, 2].map((seed) => run(TEXT, { seed })));
  assert.deepEqual(first, again);
  assert.notDeepEqual(first.flows, other.flows);
  assert.ok(first.metrics.flows[0].throughput_mbps > 1 && first.metrics.utilization < 1);
  const { cwnd_packets: cwnd, flow, time_ns: time } = first.flows.columns;
  assert.ok(cwnd.values instanceof Uint32Array && time.values instanceof BigInt64Array);
  assert.equal(cwnd.values.length, first.flows.rows);
  assert.equal(flow.names[flow.values[0]], "cubic");
  assert.equal(numbers(cwnd).filter(Number.isFinite).length > 10, true);
});

test("an experiment that is no text is refused", async () => {
  for (const [value, kind] of [[5, "number"], [{ duration: "5s" }, "object"], [null, "null"], [undefined, "undefined"]]) {
    const error = { name: "TypeError", message: `the experiment is a text in TOML, got ${kind}` };
    await assert.rejects(run(value), error);
    await assert.rejects(parse(value), error);
    await assert.rejects(packets(value, { from: 0, to: 1 }), error);
  }
});

test("a value that is not known is NaN", () => {
  const column = { values: Uint32Array.of(4, 0, 6), known: Uint8Array.of(0b101) };
  assert.deepEqual([...numbers(column)], [4, Number.NaN, 6]);
  assert.deepEqual([...numbers({ values: BigInt64Array.of(-1n) })], [-1]);
});

test("parse gives values, or mistakes with places in the string", async () => {
  const { cases } = await parse(TEXT);
  assert.equal(cases[0].experiment.path.rtt, 20_000_000);
  // Behind characters of two and four bytes.
  const wrong = `# Größe 🙂\n${TEXT.replace("rate =", "rote =")}`;
  const { errors } = await parse(wrong);
  const mistake = errors.find(({ key }) => key === "path.bottleneck.rote");
  assert.equal(wrong.slice(mistake.from, mistake.to), "rote");
  await assert.rejects(run(wrong), (error) => error instanceof DumbbellError && error.message.includes("rote"));
});

test("progress is reported, and a cancelled run ends with the signal's reason", async () => {
  const controller = new AbortController();
  const seen = [];
  const onProgress = ({ seconds }) => {
    seen.push(seconds);
    controller.abort(new Error("enough"));
  };
  await assert.rejects(run(LONG, { signal: controller.signal, onProgress }), /enough/);
  assert.equal(seen.length, 1);
  assert.ok(seen[0] > 0 && seen[0] < 600);
  await assert.rejects(run(TEXT, { signal: AbortSignal.abort(new Error("before")) }), /before/);
  await assert.rejects(
    run(LONG, {
      onProgress: () => {
        throw new Error("in a listener");
      },
    }),
    /in a listener/,
  );
});

test("a run that needs too much memory ends with a clear error", async () => {
  await assert.rejects(run(LONG, { mostBytes: 500_000 }), /exceed 500000.*mostBytes/);
  assert.ok(await run(TEXT));
});

test("what can't be run is refused with the reason", async () => {
  await assert.rejects(run(TEXT, { seed: -1 }), RangeError);
  await assert.rejects(run(TEXT, { case: "none" }), /no case 'none'/);
  const traced = TEXT.replace('rate = "10mbit"', 'rate_trace = "link.trace"');
  await assert.rejects(run(traced), /'link.trace' was not handed in/);
  assert.ok((await run(traced, { files: { "link.trace": "2\n4\n6\n" } })).flows.rows > 10);
});

test("an invalid run has its reasons, a valid one may have warnings", async () => {
  const { description: lost } = await run(TEXT.replace("0.5%", "100%"));
  assert.deepEqual([lost.invalid, lost.warnings], [["flow 'cubic' never connected"], []]);
  const { description: late } = await run(`${TEXT}start = "4.99s"\n`);
  assert.deepEqual([late.invalid, late.warnings], [[], ["flow 'cubic' came too late to connect before the end"]]);
});

test("packets of a window have their path", async () => {
  const { packets: table, leftOut } = await packets(TEXT, { from: 1, to: 1.1 });
  assert.equal(leftOut, 0);
  const sent = numbers(table.columns.sent_ns);
  assert.ok(sent.length > 50 && sent.every((ns) => ns <= 1.1e9));
  const { packets: few, leftOut: rest } = await packets(TEXT, { from: 1, to: 1.1, mostRows: 10 });
  assert.deepEqual([few.rows, few.rows + rest], [10, table.rows]);
});

test("the program in the documentation runs", () => {
  const page = readFileSync(join(ROOT, "docs/javascript.md"), "utf8");
  const [, program] = page.match(/```js title="sweep.mjs"\n(.*?)```/s);
  const folder = mkdtempSync(join(tmpdir(), "dumbbell-npm-"));
  try {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(BUILT, join(folder, "node_modules/dumbbell"));
    writeFileSync(join(folder, "sweep.mjs"), program);
    const output = execFileSync(process.execPath, ["sweep.mjs"], { cwd: folder, encoding: "utf8" });
    const [, printed] = page.match(/```console\n\$ node sweep.mjs\n(.*?)```/s);
    assert.equal(output, printed);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
