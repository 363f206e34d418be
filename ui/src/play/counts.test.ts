import { expect, test } from "vitest";
import type { FigureData } from "../types";
import { countPackets, description, events, states } from "./counts";
import { Indexed } from "./index";
import { crowd, made } from "./made";

const WAY = { queued: 0.11, dequeued: 0.2, departed: 0.2, received: 0.205 };
const FEW = made([
  { flow: 0, sent: 0.1, ...WAY },
  { flow: 1, sent: 0.1001, ...WAY, queued: 0.1101, dequeued: 0.201, departed: 0.201, received: 0.206 },
  { flow: 0, sent: 0.1002, queued: 0.1102, dropped: 0.1102 },
  { flow: 0, back: true, sent: 0.205, received: 0.22 },
]);

test("packets are counted where they are", () => {
  const few = new Indexed(FEW);
  const counted = [0.105, 0.15, 0.2005, 0.2055, 0.3].map((time) => countPackets(few, time));
  expect(counted.map(({ forward, queues, back }) => [forward, queues.get("bottleneck"), back])).toEqual([
    [3, 0, 0],
    [0, 2, 0],
    [1, 1, 0],
    [1, 0, 1],
    [0, 0, 0],
  ]);
});

test("and a queue never has more than its limit", () => {
  const full = new Indexed(crowd(7));
  const most = Array.from({ length: 500 }, (_, i) => countPackets(full, i / 1000).queues.get("bottleneck") ?? 0);
  expect(Math.max(...most)).toBe(20);
});

test("in words", () => {
  const bands = { kind: "bands", row: "bbr", colour: "", dark: "" };
  const shown = {
    flows: [{ name: "bbr", group: "bbr" }],
    panels: [
      {
        layers: [
          { ...bands, phase: "startup", s: [0, 1], e: [1, 1] },
          { ...bands, phase: "probe_bw", s: [2, 1], e: [3, 1] },
        ],
      },
    ],
    column: ([at, count]: [number, number]) => Float64Array.of(0, 0.2, 0.2, 0.5).subarray(at, at + count),
  } as unknown as FigureData;
  expect(states(shown, 0.6)).toEqual([]);
  const few = new Indexed(FEW);
  expect(description(FEW, countPackets(few, 0.2005), shown, 0.2005)).toBe(
    "1 packet on the forward path, 1 of 20 in the queue, 0 on the reverse path; bbr in probe_bw",
  );
});

test("events follow each other, there and back, and say what happens", () => {
  const few = new Indexed(FEW);
  const times = [];
  for (let event = few.event(0, true); event; event = few.event(event.time, true)) times.push(event.time);
  expect(times).toEqual(
    [0.1, 0.1001, 0.1002, 0.11, 0.1101, 0.1102, 0.2, 0.201, 0.205, 0.206, 0.22].filter((time) => time <= 1),
  );
  const back = [];
  for (let event = few.event(1, false); event; event = few.event(event.time, false)) back.push(event.time);
  expect(back).toEqual(times.toReversed());
  expect(events(FEW, few.at(0.1102))).toBe(
    "bbr: the packet at byte 100200 enters the queue; bbr: the packet at byte 100200 is dropped",
  );
});

test("drops are found by their times", () => {
  const few = new Indexed(FEW);
  expect([...few.dropped(0.1102, 0.2)]).toEqual([]);
  expect([...few.dropped(0.11, 0.1102)]).toEqual([2]);
});
