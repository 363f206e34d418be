// The location of a packet at a time: pure functions of its trace, the time and the stage's geometry.

import type { Geometry, Lane } from "./geometry";
import { isReverse, type Packets } from "./packets";

/** The sections of a path. A packet is in exactly one of them at any time. */
export enum Zone {
  /** Not sent yet. */
  Unsent = 0,
  /** On the path before the queue. */
  Before = 1,
  /** In the queue under test. */
  Queue = 2,
  /** On the link that the queue feeds. */
  Link = 3,
  /** On the path behind the link. */
  After = 4,
  /** On a path without a queue under test. */
  Through = 5,
  /** At the receiving host. */
  Arrived = 6,
  Dropped = 7,
}

export interface PacketLocation {
  zone: Zone;
  lane: Lane;
  /** The position of the packet's head from the left, in CSS pixels; in a queue the queue's exit. */
  x: number;
  /** The fraction of its zone that it has passed. */
  progress: number;
}

/** A packet whose end is unknown leaves its zone after the run's end: its progress stops at this fraction. */
const NEARLY = 0.98;
/** The assumed delay of a section that no packet has passed, in seconds; used only for drawing. */
const UNKNOWN_S = 0.01;

export function zoneAt(of: Packets, row: number, time: number): Zone {
  const { sent, queued, dequeued, departed, received, dropped } = of;
  // Comparisons with NaN are false: an unknown event has not happened.
  if (!(time >= (sent[row] as number))) return Zone.Unsent;
  if (time >= (dropped[row] as number)) return Zone.Dropped;
  if (time >= (received[row] as number)) return Zone.Arrived;
  if (time >= (departed[row] as number)) return Zone.After;
  if (time >= (dequeued[row] as number)) return Zone.Link;
  if (time >= (queued[row] as number)) return Zone.Queue;
  return Number.isNaN(queued[row] as number) ? Zone.Through : Zone.Before;
}

/** The fraction of a zone that a packet has passed at a time. */
export function progressAt(of: Packets, row: number, time: number, zone: Zone): number {
  const { sent, queued, dequeued, departed, received } = of;
  const { before, after, back } = of.delays_s;
  if (zone === Zone.Before) return passedFraction(sent[row] as number, queued[row] as number, time, before);
  if (zone === Zone.Link) return passedFraction(dequeued[row] as number, departed[row] as number, time, null);
  if (zone === Zone.After) return passedFraction(departed[row] as number, received[row] as number, time, after);
  if (zone === Zone.Through) {
    const total = isReverse(of, row) ? back : (before ?? 0) + (after ?? 0);
    return passedFraction(sent[row] as number, received[row] as number, time, total);
  }
  return zone === Zone.Unsent ? 0 : 1;
}

/** The location of a packet on the stage. */
export function locate(of: Packets, row: number, time: number, geometry: Geometry): PacketLocation {
  const lane = geometry.laneOf(of, row);
  const zone = drawnIn(lane, of, row, zoneAt(of, row, time));
  const progress = progressAt(of, row, time, zone);
  const [from, to] = ends(lane, zone);
  return { zone, lane, progress, x: from + (to - from) * progress };
}

/** Packets in a queue without a lane are drawn on the path. */
function drawnIn(lane: Lane, of: Packets, row: number, zone: Zone): Zone {
  const inTransit = zone > Zone.Unsent && zone < Zone.Arrived;
  return inTransit && lane.queue?.name !== of.names.queue[of.queue[row] as number] ? Zone.Through : zone;
}

/** The location of a drop: at the entry of a full queue, at the exit after queueing, otherwise at the sender. */
export function dropLocation(of: Packets, row: number, lane: Lane): number {
  const queued = of.queued[row] as number;
  if (Number.isNaN(queued) || !lane.box) return lane.from;
  if ((of.dropped[row] as number) >= (of.departed[row] as number)) return (lane.box.exit + lane.to) / 2;
  return (of.dropped[row] as number) > queued ? lane.box.exit : lane.box.entry;
}

/** The start and the end of a zone in the direction of the lane. */
export function ends(lane: Lane, zone: Zone): [number, number] {
  if (zone === Zone.Unsent || !lane.box) return zone === Zone.Unsent ? [lane.from, lane.from] : [lane.from, lane.to];
  if (zone === Zone.Before) return [lane.from, lane.box.entry];
  if (zone === Zone.Queue) return [lane.box.entry, lane.box.exit];
  if (zone === Zone.Link) return [lane.box.exit, lane.box.far];
  if (zone === Zone.After) return [lane.box.far, lane.to];
  return [lane.from, lane.to];
}

function passedFraction(from: number, to: number, time: number, typical: number | null): number {
  if (to <= from) return 1;
  if (!Number.isNaN(to)) return Math.min(Math.max((time - from) / (to - from), 0), 1);
  return Math.min((time - from) / (typical || UNKNOWN_S), NEARLY);
}
