import { expect, test } from "vitest";
import { LESSONS } from "../lessons/lessons";
import { LANGUAGES, PLACEHOLDER } from "../messages/messages";
import type { Controls, Group } from "../types";
import { type Answer, answerOf, leader, type Numbers } from "./answer";

function group(cc: string, count = 1): Group {
  const nothing = { stop_ns: null, bytes: null, rate_bps: null };
  return { name: cc, kind: "tcp", cc, cc_parameters: {}, count, start_ns: 0, ...nothing };
}

function path(qdisc: string, flows: Group[], loss: string | null = null): Controls {
  const bottleneck = { rate_bps: 50e6, traced: false, qdisc, kind: qdisc.split(" ")[0] as string, limit: null };
  return {
    ...{ title: "", duration_ns: 30e9, rtt_ns: 40e6, delay_ns: 20e6, mtu_bytes: 1500, loss, bottleneck, flows },
  };
}

function shares(bbr: number, delay_ms: number, utilization = 0.98): Numbers {
  return {
    "groups.bbr.share": bbr,
    "groups.cubic.share": 1 - bbr,
    "queue.delay_ms.mean": delay_ms,
    utilization,
  };
}

const TWO = [group("bbr"), group("cubic")];
const keys = (answer: Answer | null) => answer?.phrases.map(({ key }) => key);

test("the larger share is named first, with the queue in which the other waits", () => {
  const controls = path("pfifo limit 1bdp", TWO);
  const answer = answerOf(shares(0.87, 31), controls);
  expect(keys(answer)).toEqual(["answer.waits", "answer.added"]);
  expect(answer?.phrases[0]?.values).toMatchObject({ who: { text: "BBR" }, other: { text: "CUBIC" } });
  expect(answer?.phrases[0]?.values.share).toMatchObject({ number: 87, unit: "%" });
  expect(answer?.next?.edits).toEqual([{ key: "path.bottleneck.qdisc", value: "fq_codel" }]);
  expect(leader(shares(0.2, 31), controls)?.name).toBe("cubic");
});

test("a share is judged by the number of flows", () => {
  const controls = path("pfifo limit 1bdp", [group("bbr", 3), group("cubic")]);
  expect(keys(answerOf(shares(0.75, 2), controls))?.[0]).toBe("answer.even");
});

test("a group that is left with little is not called even, though no other has much more", () => {
  const names = ["a", "b", "c", "long"];
  const controls = path(
    "pfifo limit 1bdp",
    names.map((name) => ({ ...group("reno"), name })),
  );
  const numbers = Object.fromEntries(
    names.map((name, i) => [`groups.${name}.share`, [0.31, 0.3, 0.3, 0.09][i] as number]),
  );
  const [first] = answerOf({ ...numbers, utilization: 0.99, "queue.delay_ms.mean": 1 }, controls)?.phrases ?? [];
  expect([first?.key, first?.values.other]).toEqual(["answer.takes", { text: "long" }]);
});

test("a short queue and a link that is not full are said", () => {
  expect(keys(answerOf(shares(0.52, 2, 0.6), path("fq_codel", TWO)))).toEqual([
    "answer.even",
    "answer.idle",
    "answer.short",
  ]);
});

test("one group fills the link or uses a part of it", () => {
  const alone = path("pfifo limit 1bdp", [group("cubic")], "1%");
  const run = { utilization: 0.12, "queue.delay_ms.mean": 0.1 };
  const answer = answerOf(run, alone);
  expect(keys(answer)).toEqual(["answer.uses", "answer.short"]);
  expect(answer?.next).toMatchObject({ edits: [{ key: "flows.0.cc", value: "bbr" }], lesson: "random-loss" });
  expect(keys(answerOf({ ...run, utilization: 0.99 }, alone))?.[0]).toBe("answer.fills");
});

test("a suggestion changes something, and every text and lesson exists", () => {
  const runs: [Numbers, Controls][] = [
    [shares(0.9, 31), path("pfifo limit 4bdp", TWO)],
    [shares(0.9, 3), path("pfifo limit 0.3bdp", TWO)],
    [shares(0.1, 3), path("pfifo limit 8bdp", TWO)],
    [shares(0.5, 3), path("pfifo limit 1bdp", TWO)],
    [shares(0.5, 3), path("cake", TWO)],
    [shares(0.9, 3), path("fq_codel limit 1000", TWO)],
    [shares(0.9, 3), path("codel limit 1bdp", TWO)],
    [{ utilization: 1, "queue.delay_ms.mean": 1 }, path("pfifo limit 1bdp", [group("bbr")])],
    [{ utilization: 1, "queue.delay_ms.mean": 1 }, path("pfifo limit 1bdp", [group("cubic")])],
  ];
  for (const [numbers, controls] of runs) {
    const { phrases, next } = answerOf(numbers, controls) as Answer;
    expect(LESSONS.map(({ id }) => id)).toContain(next?.lesson);
    expect(next?.edits[0]?.value).not.toBe(controls.bottleneck?.qdisc);
    for (const { key, values } of [...phrases, next?.phrase ?? { key: "", values: {} }])
      for (const messages of Object.values(LANGUAGES)) {
        const placeholders = [...(messages[key] ?? "{missing}").matchAll(PLACEHOLDER)].map(([, name]) => name);
        expect(Object.keys(values), key).toEqual(expect.arrayContaining(placeholders));
      }
  }
});
