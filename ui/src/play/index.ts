// Indexes of a window of packets, built once: packets in transit by time, departures of each queue, drops, and events in
// the order of their times.

import type { Packets, Time } from "./packets";

/** More buckets give fewer false candidates, but contain each packet more often. */
const BUCKETS = 64;
const EVENTS: Time[] = ["sent", "queued", "dequeued", "received", "dropped"];

export interface Event {
  time: number;
  what: Time;
  row: number;
}

export class PacketIndex {
  readonly packets: Packets;
  private readonly starts: Int32Array;
  private readonly rows: Int32Array;
  private readonly departures = new Map<number, Float64Array>();
  private readonly drops: Int32Array;
  private events: Event[] | null = null;

  constructor(packets: Packets) {
    this.packets = packets;
    [this.starts, this.rows] = bucketed(packets);
    const { dropped } = packets;
    this.drops = rowsWhere(packets, (row) => !Number.isNaN(dropped[row] as number)).sort(
      (one, other) => (dropped[one] as number) - (dropped[other] as number),
    );
  }

  /** A superset of the rows in transit at a time, in the order of sending. */
  candidates(time: number): Int32Array {
    const bucket = bucketOf(this.packets, time);
    return this.rows.subarray(this.starts[bucket] as number, this.starts[bucket + 1] as number);
  }

  /** Rows that were dropped after one time, up to another. */
  dropped(after: number, upTo: number): Int32Array {
    const { dropped } = this.packets;
    const first = firstBeyond(this.drops.length, (i) => (dropped[this.drops[i] as number] as number) > after);
    const end = firstBeyond(this.drops.length, (i) => (dropped[this.drops[i] as number] as number) > upTo);
    return this.drops.subarray(first, end);
  }

  /** The times of the last departure from a queue up to this time and of the next; infinite without one. */
  around(queue: number, time: number): [number, number] {
    let times = this.departures.get(queue);
    if (!times) {
      const queued = rowsWhere(this.packets, (row) => this.packets.queue[row] === queue);
      times = Float64Array.from(queued, (row) => this.packets.dequeued[row] as number);
      times = times.filter((departure) => !Number.isNaN(departure)).sort();
      this.departures.set(queue, times);
    }
    const at = times;
    const next = firstBeyond(at.length, (i) => (at[i] as number) > time);
    return [at[next - 1] ?? Number.NEGATIVE_INFINITY, at[next] ?? Number.POSITIVE_INFINITY];
  }

  /** The next event after a time, or the last before it; null if the window has none. */
  event(time: number, forwards: boolean): Event | null {
    this.events ??= allEvents(this.packets);
    const all = this.events;
    const next = firstBeyond(all.length, (i) =>
      forwards ? (all[i] as Event).time > time : (all[i] as Event).time >= time,
    );
    return all[forwards ? next : next - 1] ?? null;
  }

  /** The events at a time. */
  at(time: number): Event[] {
    this.events ??= allEvents(this.packets);
    const all = this.events;
    const first = firstBeyond(all.length, (i) => (all[i] as Event).time >= time);
    const end = firstBeyond(all.length, (i) => (all[i] as Event).time > time);
    return all.slice(first, end);
  }
}

function bucketOf({ from_s, to_s }: Packets, time: number): number {
  const fraction = (time - from_s) / Math.max(to_s - from_s, 1e-9);
  return Math.min(Math.max(Math.floor(fraction * BUCKETS), 0), BUCKETS - 1);
}

/** Rows by the time buckets in which they are in transit: the start index of each bucket, and the rows. */
function bucketed(of: Packets): [Int32Array, Int32Array] {
  const [firsts, lasts] = [new Uint8Array(of.rows), new Uint8Array(of.rows)];
  const starts = new Int32Array(BUCKETS + 1);
  for (let row = 0; row < of.rows; row++) {
    const dropped = of.dropped[row] as number;
    const end = Number.isNaN(dropped) ? (of.received[row] as number) : dropped;
    const first = bucketOf(of, of.sent[row] as number);
    const last = Number.isNaN(end) ? BUCKETS - 1 : bucketOf(of, end);
    firsts[row] = first;
    lasts[row] = last;
    for (let i = first; i <= last; i++) starts[i + 1] = (starts[i + 1] as number) + 1;
  }
  for (let i = 0; i < BUCKETS; i++) starts[i + 1] = (starts[i + 1] as number) + (starts[i] as number);
  const rows = new Int32Array(starts[BUCKETS] as number);
  const next = starts.slice();
  for (let row = 0; row < of.rows; row++) {
    for (let i = firsts[row] as number; i <= (lasts[row] as number); i++) {
      rows[next[i] as number] = row;
      next[i] = (next[i] as number) + 1;
    }
  }
  return [starts, rows];
}

function allEvents(of: Packets): Event[] {
  const found: Event[] = [];
  for (const what of EVENTS) {
    of[what].forEach((time, row) => {
      if (time >= of.from_s && time <= of.complete_s) found.push({ time, what, row });
    });
  }
  return found.sort((one, other) => one.time - other.time);
}

function rowsWhere(of: Packets, is: (row: number) => boolean): Int32Array {
  const found = new Int32Array(of.rows);
  let length = 0;
  for (let row = 0; row < of.rows; row++) if (is(row)) found[length++] = row;
  return found.slice(0, length);
}

/** The first index from which on the predicate is true. */
function firstBeyond(length: number, isBeyond: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBeyond(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
