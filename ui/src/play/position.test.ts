import { expect, test } from "vitest";
import { geometryOf } from "./geometry";
import { Indexed } from "./index";
import { crowd, made } from "./made";
import type { Packets } from "./packets";
import { dropSpot, locate, Zone, zoneAt } from "./position";

const SEEDS = [1, 2, 3, 4, 5];
const TIMES = Array.from({ length: 241 }, (_, i) => i * 0.0025);
const FLOWS = ["bbr", "cubic"].map((name) => ({ name, group: name }));
const GROUND = { width: 800, flows: FLOWS, peaks: new Map([["bottleneck", 20]]) };

/** How many of these times have come. */
function come(times: Float64Array, now: number): number {
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

test.each(SEEDS)("every packet is in one place at any time: what came and did not leave is there (%i)", (seed) => {
  const of = crowd(seed);
  const diedInQueue = of.dropped.filter((_, row) => !Number.isNaN(of.queued[row] as number));
  for (const now of TIMES) {
    const zones = inZones(of, now);
    expect(zones.reduce((sum, count) => sum + count)).toBe(of.rows);
    expect(of.rows - (zones[Zone.Unsent] as number)).toBe(come(of.sent, now));
    expect(zones[Zone.Queue]).toBe(come(of.queued, now) - come(of.dequeued, now) - come(diedInQueue, now));
    expect(zones[Zone.Link]).toBe(come(of.dequeued, now) - come(of.departed, now));
    expect(zones[Zone.Dropped]).toBe(come(of.dropped, now));
    expect(zones[Zone.Arrived]).toBe(come(of.received, now));
  }
});

test.each(SEEDS)("who may be under way includes all that are, in order of sending (%i)", (seed) => {
  const indexed = new Indexed(crowd(seed));
  const of = indexed.packets;
  for (const now of TIMES) {
    const candidates = [...indexed.candidates(now)];
    expect(candidates).toEqual(candidates.toSorted((one, other) => one - other));
    expect(new Set(candidates).size).toBe(candidates.length);
    const isUnderWay = (row: number) => {
      const zone = zoneAt(of, row, now);
      return zone > Zone.Unsent && zone < Zone.Arrived;
    };
    const all = Array.from({ length: of.rows }, (_, row) => row).filter(isUnderWay);
    expect(candidates.filter(isUnderWay)).toEqual(all);
  }
});

test.each(SEEDS)("nobody goes back: data move to the right, ACKs to the left, within their lanes (%i)", (seed) => {
  const of = crowd(seed, 120);
  const geometry = geometryOf(of, GROUND);
  for (let row = 0; row < of.rows; row++) {
    const spots = TIMES.map((now) => locate(of, row, now, geometry)).filter(
      ({ zone }) => zone > Zone.Unsent && zone < Zone.Arrived && zone !== Zone.Queue,
    );
    for (const [i, { x, lane }] of spots.entries()) {
      expect(x).toBeGreaterThanOrEqual(Math.min(lane.from, lane.to));
      expect(x).toBeLessThanOrEqual(Math.max(lane.from, lane.to));
      const before = spots[i - 1]?.x ?? lane.from;
      expect((x - before) * (lane.back ? -1 : 1)).toBeGreaterThanOrEqual(0);
    }
  }
});

test("half of a stretch's time is half of its way", () => {
  const of = made([{ flow: 0, sent: 0.1, queued: 0.11, dequeued: 0.2, departed: 0.2, received: 0.205 }]);
  const geometry = geometryOf(of, GROUND);
  const box = geometry.lanes[0]?.box;
  expect(locate(of, 0, 0.105, geometry).x).toBeCloseTo((geometry.left + (box?.entry ?? 0)) / 2);
  expect(locate(of, 0, 0.2025, geometry).x).toBeCloseTo(((box?.far ?? 0) + geometry.right) / 2);
});

test("a packet falls from where it died: at a full queue's entrance, at the exit after waiting, at its sender", () => {
  const of = made([
    { flow: 0, sent: 0.1, queued: 0.11, dropped: 0.11 },
    { flow: 0, sent: 0.2, queued: 0.21, dropped: 0.25 },
    { flow: 0, sent: 0.3, dropped: 0.3 },
  ]);
  const [lane] = geometryOf(of, GROUND).lanes;
  if (!lane?.box) throw new Error("no queue");
  expect([0, 1, 2].map((row) => dropSpot(of, row, lane))).toEqual([lane.box.entry, lane.box.exit, lane.from]);
});

test("the limit stands where it would be full, unless nothing would be seen beside it", () => {
  const of = crowd(1);
  const [seen] = geometryOf(of, GROUND).lanes;
  expect([seen?.box?.room, seen?.box?.toScale]).toEqual([20, true]);
  of.queues = [{ name: "bottleneck", limit: 10_240, written: "limit 10240", rate_bps: null }];
  const [huge] = geometryOf(of, GROUND).lanes;
  expect([huge?.box?.room, huge?.box?.toScale]).toEqual([30, false]);
});

test.each([300, 360, 700, 1400])("a stage %i pixels wide has all its parts in order", (width) => {
  const { lanes, left, right } = geometryOf(crowd(1), { ...GROUND, width });
  const box = lanes[0]?.box;
  const parts = [0, left, box?.entry ?? -1, box?.exit ?? -1, box?.far ?? -1, right, width];
  expect(parts).toEqual(parts.toSorted((one, other) => one - other));
  expect(lanes.map((lane) => lane.back)).toEqual([false, true]);
});

test("a queue without a lane is passed by, and those that have one are few", () => {
  const names = Array.from({ length: 9 }, (_, i) => `access-${i}`);
  const of = made(
    names.map((_, i) => ({ flow: 0, sent: i / 100, queued: i / 100, dequeued: 0.2, departed: 0.2, received: 0.3 })),
  );
  of.queues = [...names, "bottleneck"].map((name) => ({ name, limit: 5, written: "limit 5", rate_bps: null }));
  of.names.queue = of.queues.map(({ name }) => name);
  of.queue = of.queue.map((_, row) => row);
  const geometry = geometryOf(of, GROUND);
  const there = geometry.lanes.filter((lane) => !lane.back).map((lane) => lane.queue?.name);
  expect(there).toEqual(["bottleneck", "access-0", "access-1", "access-2"]);
  expect(names.map((_, row) => locate(of, row, 0.1, geometry).zone)).toEqual(
    names.map((_, row) => (row < 3 ? Zone.Queue : Zone.Through)),
  );
});

test("many flows have a row a group, and groups without a row share the last", () => {
  const many = Array.from({ length: 30 }, (_, i) => ({ name: `flow-${i}`, group: `group-${i % 3}` }));
  const few = geometryOf(null, { ...GROUND, flows: many });
  expect(few.rows).toEqual(["group-0", "group-1", "group-2"]);
  expect(many.map(({ name }) => few.rowOf(name))).toEqual(many.map((_, i) => i % 3));
  const apart = geometryOf(null, { ...GROUND, flows: many.map(({ name }) => ({ name, group: name })) });
  expect(apart.rows.length).toBe(8);
  expect(many.map(({ name }) => apart.rowOf(name))).toEqual(many.map((_, i) => Math.min(i, 7)));
});
