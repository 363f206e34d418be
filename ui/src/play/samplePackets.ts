// Small windows of packets for the tests of this folder, in the format of the simulator's traces.

import type { Packets } from "./packets";

export interface Trace {
  flow: number;
  reverse?: boolean;
  retransmitted?: boolean;
  sent: number;
  queued?: number;
  dequeued?: number;
  departed?: number;
  received?: number;
  dropped?: number;
}

export function packetsOf(traces: Trace[], to_s = 1): Packets {
  const rows = traces.toSorted((one, other) => one.sent - other.sent);
  const column = (of: (trace: Trace) => number | undefined) =>
    Float64Array.from(rows, (trace) => of(trace) ?? Number.NaN);
  return {
    from_s: 0,
    to_s,
    complete_s: to_s,
    left_out: 0,
    rows: rows.length,
    names: {
      flow: ["bbr", "cubic"],
      kind: ["data", "ack"],
      direction: ["forward", "backward"],
      queue: ["bottleneck"],
      dropped_at: ["bottleneck", "path-netem"],
    },
    queues: [{ name: "bottleneck", limit: 20, written: "limit 20", rate_bps: 1.2e7 }],
    bottleneck: "bottleneck",
    delays_s: { before: 0.01, after: 0.005, back: 0.015 },
    flow: column(({ flow }) => flow),
    kind: column(({ reverse }) => (reverse ? 1 : 0)),
    direction: column(({ reverse }) => (reverse ? 1 : 0)),
    queue: column(({ queued }) => (queued === undefined ? undefined : 0)),
    dropped_at: column(({ dropped }) => (dropped === undefined ? undefined : 0)),
    sequence: column(({ sent }) => Math.round(sent * 1e6)),
    size: column(({ reverse }) => (reverse ? 66 : 1514)),
    retransmit: column(({ retransmitted }) => (retransmitted ? 1 : 0)),
    marked: column(() => 0),
    sent: column(({ sent }) => sent),
    queued: column(({ queued }) => queued),
    dequeued: column(({ dequeued }) => dequeued),
    departed: column(({ departed }) => departed),
    received: column(({ received }) => received),
    dropped: column(({ dropped }) => dropped),
  };
}

/** A full queue of 20 behind 12 Mbit/s, two flows, one packet in ten lost before it, and ACKs, from `seed`. */
export function randomTraffic(seed: number, packets = 400): Packets {
  const random = mulberry(seed);
  const traces: Trace[] = [];
  const departures: number[] = [];
  for (let time = 0; traces.length < packets; time += random() * 0.0015) {
    const trace: Trace = { flow: random() < 0.5 ? 0 : 1, retransmitted: random() < 0.1, sent: time };
    traces.push(trace);
    if (random() < 0.1) {
      trace.dropped = time + 0.002;
      continue;
    }
    const queued = time + 0.01;
    trace.queued = queued;
    const waiting = departures.filter((departure) => departure > queued).length;
    if (waiting >= 20) {
      trace.dropped = queued;
      continue;
    }
    const dequeued = Math.max(queued, departures.at(-1) ?? 0) + 0.001;
    departures.push(dequeued);
    trace.dequeued = dequeued;
    trace.departed = dequeued + 0.0005;
    if (random() < 0.05) continue; // The run ends before it arrives.
    trace.received = dequeued + 0.0055;
    traces.push({ flow: trace.flow, reverse: true, sent: trace.received, received: trace.received + 0.015 });
  }
  return packetsOf(traces);
}

/** A deterministic random generator. */
export function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
