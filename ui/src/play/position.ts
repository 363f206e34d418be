// Where a packet is at a time: pure functions of its trace, the time and the stage's geometry.

import type { Geometry, Lane } from "./geometry";
import { isBack, type Packets } from "./packets";

/** The parts of a way. A packet is in exactly one of them at any time. */
export enum Zone {
  /** Not sent yet. */
  Unsent = 0,
  /** On the wire before the queue. */
  Before = 1,
  /** In the queue under test. */
  Queue = 2,
  /** On the link that the queue feeds. */
  Link = 3,
  /** On the wire behind the link. */
  After = 4,
  /** On a way that has no queue under test. */
  Through = 5,
  /** At the other host. */
  Arrived = 6,
  Dropped = 7,
}

export interface Spot {
  zone: Zone;
  lane: Lane;
  /** From the left, in CSS pixels, where the packet's head is; in the queue its end: there it stands in line. */
  x: number;
  /** How much of its zone lies behind it, from 0 to 1. */
  share: number;
}

/** What is not known of a packet's end is beyond the run's end: it is drawn at its zone's last. */
const NEARLY = 0.98;
/** Of a stretch that no one has crossed, in seconds; it is only drawn. */
const UNKNOWN_S = 0.01;

export function zoneAt(of: Packets, row: number, time: number): Zone {
  const { sent, queued, dequeued, departed, received, dropped } = of;
  // Comparisons with NaN are false: what is not known has not happened.
  if (!(time >= (sent[row] as number))) return Zone.Unsent;
  if (time >= (dropped[row] as number)) return Zone.Dropped;
  if (time >= (received[row] as number)) return Zone.Arrived;
  if (time >= (departed[row] as number)) return Zone.After;
  if (time >= (dequeued[row] as number)) return Zone.Link;
  if (time >= (queued[row] as number)) return Zone.Queue;
  return Number.isNaN(queued[row] as number) ? Zone.Through : Zone.Before;
}

/** How much of a zone lies behind a packet at a time. */
export function shareAt(of: Packets, row: number, time: number, zone: Zone): number {
  const { sent, queued, dequeued, departed, received } = of;
  const { before, after, back } = of.delays_s;
  if (zone === Zone.Before) return share(sent[row] as number, queued[row] as number, time, before);
  if (zone === Zone.Link) return share(dequeued[row] as number, departed[row] as number, time, null);
  if (zone === Zone.After) return share(departed[row] as number, received[row] as number, time, after);
  if (zone === Zone.Through) {
    const whole = isBack(of, row) ? back : (before ?? 0) + (after ?? 0);
    return share(sent[row] as number, received[row] as number, time, whole);
  }
  return zone === Zone.Unsent ? 0 : 1;
}

/** Where a packet is on the stage. */
export function locate(of: Packets, row: number, time: number, geometry: Geometry): Spot {
  const lane = geometry.laneOf(of, row);
  const zone = drawnIn(lane, of, row, zoneAt(of, row, time));
  const gone = shareAt(of, row, time, zone);
  const [from, to] = ends(lane, zone);
  return { zone, lane, share: gone, x: from + (to - from) * gone };
}

/** A queue that has no lane is passed by. */
function drawnIn(lane: Lane, of: Packets, row: number, zone: Zone): Zone {
  const isOnWay = zone > Zone.Unsent && zone < Zone.Arrived;
  return isOnWay && lane.queue?.name !== of.names.queue[of.queue[row] as number] ? Zone.Through : zone;
}

/** Where a packet falls out of its lane: a full queue's at the entrance, one that waited at the exit, others at once. */
export function dropSpot(of: Packets, row: number, lane: Lane): number {
  const queued = of.queued[row] as number;
  if (Number.isNaN(queued) || !lane.box) return lane.from;
  if ((of.dropped[row] as number) >= (of.departed[row] as number)) return (lane.box.exit + lane.to) / 2;
  return (of.dropped[row] as number) > queued ? lane.box.exit : lane.box.entry;
}

/** The left and the right of a zone, in the direction of the way. */
export function ends(lane: Lane, zone: Zone): [number, number] {
  if (zone === Zone.Unsent || !lane.box) return zone === Zone.Unsent ? [lane.from, lane.from] : [lane.from, lane.to];
  if (zone === Zone.Before) return [lane.from, lane.box.entry];
  if (zone === Zone.Queue) return [lane.box.entry, lane.box.exit];
  if (zone === Zone.Link) return [lane.box.exit, lane.box.far];
  if (zone === Zone.After) return [lane.box.far, lane.to];
  return [lane.from, lane.to];
}

function share(from: number, to: number, time: number, typical: number | null): number {
  if (to <= from) return 1;
  if (!Number.isNaN(to)) return Math.min(Math.max((time - from) / (to - from), 0), 1);
  return Math.min((time - from) / (typical || UNKNOWN_S), NEARLY);
}
