import { expect, test } from "vitest";
import type { FigureData } from "../types";
import { countPackets, description, events, states } from "./counts";
import { PacketIndex } from "./index";
import { packetsOf, randomTraffic } from "./samplePackets";

const TIMES = { queued: 0.11, dequeued: 0.2, departed: 0.2, received: 0.205 };
const FEW = packetsOf([
  { flow: 0, sent: 0.1, ...TIMES },
  { flow: 1, sent: 0.1001, ...TIMES, queued: 0.1101, dequeued: 0.201, departed: 0.201, received: 0.206 },
  { flow: 0, sent: 0.1002, queued: 0.1102, dropped: 0.1102 },
  { flow: 0, reverse: true, sent: 0.205, received: 0.22 },
]);

test("packets are counted on the paths and in the queue", () => {
  const few = new PacketIndex(FEW);
  const counted = [0.105, 0.15, 0.2005, 0.2055, 0.3].map((time) => countPackets(few, time));
  expect(counted.map(({ forward, queues, reverse }) => [forward, queues.get("bottleneck"), reverse])).toEqual([
    [3, 0, 0],
    [0, 2, 0],
    [1, 1, 0],
    [1, 0, 1],
    [0, 0, 0],
  ]);
});

test("a queue never exceeds its limit", () => {
  const full = new PacketIndex(randomTraffic(7));
  const counts = Array.from({ length: 500 }, (_, i) => countPackets(full, i / 1000).queues.get("bottleneck") ?? 0);
  expect(Math.max(...counts)).toBe(20);
});

test("the description has the counts and the states", () => {
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
  const few = new PacketIndex(FEW);
  expect(description(FEW, countPackets(few, 0.2005), shown, 0.2005)).toBe(
    "1 packet on the forward path, 1 of 20 in the queue, 0 on the reverse path; bbr in probe_bw",
  );
});

test("events are stepped forwards and backwards and have texts", () => {
  const few = new PacketIndex(FEW);
  const times = [];
  for (let event = few.event(0, true); event; event = few.event(event.time, true)) times.push(event.time);
  expect(times).toEqual(
    [0.1, 0.1001, 0.1002, 0.11, 0.1101, 0.1102, 0.2, 0.201, 0.205, 0.206, 0.22].filter((time) => time <= 1),
  );
  const reversed = [];
  for (let event = few.event(1, false); event; event = few.event(event.time, false)) reversed.push(event.time);
  expect(reversed).toEqual(times.toReversed());
  expect(events(FEW, few.at(0.1102))).toBe(
    "bbr: the packet at byte 100200 enters the queue; bbr: the packet at byte 100200 is dropped",
  );
});

test("drops are found by their times", () => {
  const few = new PacketIndex(FEW);
  expect([...few.dropped(0.1102, 0.2)]).toEqual([]);
  expect([...few.dropped(0.11, 0.1102)]).toEqual([2]);
});
