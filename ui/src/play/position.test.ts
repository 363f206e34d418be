import { expect, test } from "vitest";
import { geometryOf } from "./geometry";
import { PacketIndex } from "./index";
import type { Packets } from "./packets";
import { dropLocation, locate, Zone, zoneAt } from "./position";
import { packetsOf, randomTraffic } from "./samplePackets";

const SEEDS = [1, 2, 3, 4, 5];
const TIMES = Array.from({ length: 241 }, (_, i) => i * 0.0025);
const FLOWS = ["bbr", "cubic"].map((name) => ({ name, group: name }));
const INPUTS = { width: 800, flows: FLOWS, peaks: new Map([["bottleneck", 20]]) };

/** The number of times up to now. */
function countUpTo(times: Float64Array, now: number): number {
  return times.filter((time) => time <= now).length;
}

function inZones(of: Packets, now: number): number[] {
  const counted: number[] = Array(8).fill(0);
  for (let row = 0; row < of.rows; row++) {
    const zone = zoneAt(of, row, now);
    counted[zone] = (counted[zone] as number) + 1;
  }
  return counted;
}

test.each(SEEDS)("every packet is in exactly one zone at any time (%i)", (seed) => {
  const of = randomTraffic(seed);
  const droppedInQueue = of.dropped.filter((_, row) => !Number.isNaN(of.queued[row] as number));
  for (const now of TIMES) {
    const zones = inZones(of, now);
    expect(zones.reduce((sum, count) => sum + count)).toBe(of.rows);
    expect(of.rows - (zones[Zone.Unsent] as number)).toBe(countUpTo(of.sent, now));
    expect(zones[Zone.Queue]).toBe(
      countUpTo(of.queued, now) - countUpTo(of.dequeued, now) - countUpTo(droppedInQueue, now),
    );
    expect(zones[Zone.Link]).toBe(countUpTo(of.dequeued, now) - countUpTo(of.departed, now));
    expect(zones[Zone.Dropped]).toBe(countUpTo(of.dropped, now));
    expect(zones[Zone.Arrived]).toBe(countUpTo(of.received, now));
  }
});

test.each(SEEDS)("the candidates include all packets in transit, in the order of sending (%i)", (seed) => {
  const indexed = new PacketIndex(randomTraffic(seed));
  const of = indexed.packets;
  for (const now of TIMES) {
    const candidates = [...indexed.candidates(now)];
    expect(candidates).toEqual(candidates.toSorted((one, other) => one - other));
    expect(new Set(candidates).size).toBe(candidates.length);
    const inTransit = (row: number) => {
      const zone = zoneAt(of, row, now);
      return zone > Zone.Unsent && zone < Zone.Arrived;
    };
    const all = Array.from({ length: of.rows }, (_, row) => row).filter(inTransit);
    expect(candidates.filter(inTransit)).toEqual(all);
  }
});

test.each(SEEDS)("data move to the right only, ACKs to the left only, within their lanes (%i)", (seed) => {
  const of = randomTraffic(seed, 120);
  const geometry = geometryOf(of, INPUTS);
  for (let row = 0; row < of.rows; row++) {
    const locations = TIMES.map((now) => locate(of, row, now, geometry)).filter(
      ({ zone }) => zone > Zone.Unsent && zone < Zone.Arrived && zone !== Zone.Queue,
    );
    for (const [i, { x, lane }] of locations.entries()) {
      expect(x).toBeGreaterThanOrEqual(Math.min(lane.from, lane.to));
      expect(x).toBeLessThanOrEqual(Math.max(lane.from, lane.to));
      const before = locations[i - 1]?.x ?? lane.from;
      expect((x - before) * (lane.reverse ? -1 : 1)).toBeGreaterThanOrEqual(0);
    }
  }
});

test("after half of a section's delay a packet is at its middle", () => {
  const of = packetsOf([{ flow: 0, sent: 0.1, queued: 0.11, dequeued: 0.2, departed: 0.2, received: 0.205 }]);
  const geometry = geometryOf(of, INPUTS);
  const box = geometry.lanes[0]?.box;
  expect(locate(of, 0, 0.105, geometry).x).toBeCloseTo((geometry.left + (box?.entry ?? 0)) / 2);
  expect(locate(of, 0, 0.2025, geometry).x).toBeCloseTo(((box?.far ?? 0) + geometry.right) / 2);
});

test("a drop is at the entry of a full queue, at the exit after queueing, or at the sender", () => {
  const of = packetsOf([
    { flow: 0, sent: 0.1, queued: 0.11, dropped: 0.11 },
    { flow: 0, sent: 0.2, queued: 0.21, dropped: 0.25 },
    { flow: 0, sent: 0.3, dropped: 0.3 },
  ]);
  const [lane] = geometryOf(of, INPUTS).lanes;
  if (!lane?.box) throw new Error("no queue");
  expect([0, 1, 2].map((row) => dropLocation(of, row, lane))).toEqual([lane.box.entry, lane.box.exit, lane.from]);
});

test("the limit is drawn to scale unless it far exceeds the backlog", () => {
  const of = randomTraffic(1);
  const [small] = geometryOf(of, INPUTS).lanes;
  expect([small?.box?.capacity, small?.box?.toScale]).toEqual([20, true]);
  of.queues = [{ name: "bottleneck", limit: 10_240, written: "limit 10240", rate_bps: null }];
  const [huge] = geometryOf(of, INPUTS).lanes;
  expect([huge?.box?.capacity, huge?.box?.toScale]).toEqual([30, false]);
});

test.each([300, 360, 700, 1400])("the parts of a stage %i pixels wide are in order", (width) => {
  const { lanes, left, right } = geometryOf(randomTraffic(1), { ...INPUTS, width });
  const box = lanes[0]?.box;
  const parts = [0, left, box?.entry ?? -1, box?.exit ?? -1, box?.far ?? -1, right, width];
  expect(parts).toEqual(parts.toSorted((one, other) => one - other));
  expect(lanes.map((lane) => lane.reverse)).toEqual([false, true]);
});

test("packets in a queue without a lane are drawn on the path", () => {
  const names = Array.from({ length: 9 }, (_, i) => `access-${i}`);
  const of = packetsOf(
    names.map((_, i) => ({ flow: 0, sent: i / 100, queued: i / 100, dequeued: 0.2, departed: 0.2, received: 0.3 })),
  );
  of.queues = [...names, "bottleneck"].map((name) => ({ name, limit: 5, written: "limit 5", rate_bps: null }));
  of.names.queue = of.queues.map(({ name }) => name);
  of.queue = of.queue.map((_, row) => row);
  const geometry = geometryOf(of, INPUTS);
  const forward = geometry.lanes.filter((lane) => !lane.reverse).map((lane) => lane.queue?.name);
  expect(forward).toEqual(["bottleneck", "access-0", "access-1", "access-2"]);
  expect(names.map((_, row) => locate(of, row, 0.1, geometry).zone)).toEqual(
    names.map((_, row) => (row < 3 ? Zone.Queue : Zone.Through)),
  );
});

test("many flows have a row per group, and groups without a row share the last", () => {
  const many = Array.from({ length: 30 }, (_, i) => ({ name: `flow-${i}`, group: `group-${i % 3}` }));
  const few = geometryOf(null, { ...INPUTS, flows: many });
  expect(few.rows).toEqual(["group-0", "group-1", "group-2"]);
  expect(many.map(({ name }) => few.rowOf(name))).toEqual(many.map((_, i) => i % 3));
  const separate = geometryOf(null, { ...INPUTS, flows: many.map(({ name }) => ({ name, group: name })) });
  expect(separate.rows.length).toBe(8);
  expect(many.map(({ name }) => separate.rowOf(name))).toEqual(many.map((_, i) => Math.min(i, 7)));
});
