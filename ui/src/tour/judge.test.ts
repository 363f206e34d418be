import { expect, test } from "vitest";
import type { Controls } from "../types";
import { filled, judge, otherChanges } from "./judge";
import { STEPS, type Step } from "./steps";

const buffer = STEPS.find((step) => step.experiment === "buffer") as Step;
const numbers = (mean: number, utilization: number) => ({ "queue.delay_ms.mean": mean, utilization });

const CONTROLS: Controls = {
  title: "x",
  duration_ns: 30e9,
  rtt_ns: 4e7,
  delay_ns: 0,
  mtu_bytes: 1500,
  loss: null,
  bottleneck: { rate_bps: 2e7, traced: false, qdisc: "pfifo limit 20bdp", kind: "pfifo", limit: "20bdp" },
  flows: [
    {
      name: "cubic",
      kind: "tcp",
      cc: "cubic",
      cc_parameters: {},
      count: 1,
      start_ns: 0,
      stop_ns: null,
      bytes: null,
      rate_bps: null,
    },
  ],
};

function other(change: (controls: Controls) => void): Controls {
  const controls = structuredClone(CONTROLS);
  change(controls);
  return controls;
}

test("the answer is found when all expectations hold", () => {
  expect(judge(buffer, numbers(12, 0.99), 5)).toMatchObject({ kind: "found", miss: 0 });
  expect(judge(buffer, numbers(12, 0.9), 5).kind).not.toBe("found");
});

test("nearer is warmer, further is colder, and the first unmet expectation gives the text", () => {
  const start = judge(buffer, numbers(800, 0.99), null);
  expect(start).toMatchObject({ kind: "no", text: "The mean queueing delay is 800 ms." });
  expect(judge(buffer, numbers(300, 0.99), start.miss).kind).toBe("warmer");
  expect(judge(buffer, numbers(900, 0.99), start.miss).kind).toBe("colder");
  expect(judge(buffer, numbers(800, 0.99), start.miss).kind).toBe("no");
  expect(judge(buffer, numbers(5, 0.8), start.miss)).toMatchObject({ kind: "warmer" });
  expect(judge(buffer, numbers(5, 0.8), start.miss).text).toContain("80 %");
});

test("a step's own control may be changed, another may not", () => {
  const resized = other((controls) => {
    controls.bottleneck = { ...(controls.bottleneck as object), qdisc: "pfifo limit 1bdp", limit: "1bdp" } as never;
  });
  expect(otherChanges(buffer, CONTROLS, resized)).toBeNull();
  const faster = other((controls) => {
    controls.rtt_ns = 1e6;
  });
  expect(otherChanges(buffer, CONTROLS, faster)).toContain("(rtt)");
  const red = other((controls) => {
    controls.bottleneck = { ...(controls.bottleneck as object), qdisc: "codel limit 20bdp", kind: "codel" } as never;
  });
  expect(otherChanges(buffer, CONTROLS, red)).toContain("(queue)");
  const more = other((controls) => {
    controls.flows.push(controls.flows[0] as never);
  });
  expect(otherChanges(buffer, CONTROLS, more)).toContain("(flows)");
});

test("the title is no control", () => {
  const named = other((controls) => {
    controls.title = "mine";
  });
  expect(otherChanges(buffer, CONTROLS, named)).toBeNull();
});

test("a choice that the question doesn't offer is reported", () => {
  const codel = STEPS.find((step) => step.experiment === "codel") as Step;
  const red = other((controls) => {
    controls.bottleneck = { ...(controls.bottleneck as object), qdisc: "red limit 20bdp", kind: "red" } as never;
  });
  expect(otherChanges(codel, CONTROLS, red)).toContain("pfifo, bfifo, fq, pie and codel; red");
});

test("numbers are inserted into texts with their units", () => {
  expect(filled("{a.b:ms}, {c:%}", { "a.b": 12.345, c: 0.98765 })).toBe("12.3 ms, 98.8 %");
});

test("there are seven steps, and each is complete", () => {
  expect(STEPS.map((step) => step.experiment)).toEqual(["bdp", "buffer", "codel", "loss", "turns", "bbr3", "hpcc"]);
  for (const step of STEPS) {
    expect(step.toml).toContain("[path.bottleneck]");
    for (const expected of step.expect) expect(expected.low ?? expected.high).toBeTruthy();
    expect(step.title.endsWith("?")).toBe(true);
    expect(step.panels.length).toBeLessThanOrEqual(3);
  }
});
