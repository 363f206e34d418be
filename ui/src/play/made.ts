// Small windows of packets for the tests of this folder: journeys as the simulator could tell of them.

import type { Packets } from "./packets";

export interface Journey {
  flow: number;
  back?: boolean;
  again?: boolean;
  sent: number;
  queued?: number;
  dequeued?: number;
  departed?: number;
  received?: number;
  dropped?: number;
}

export function made(journeys: Journey[], to_s = 1): Packets {
  const rows = journeys.toSorted((one, other) => one.sent - other.sent);
  const column = (of: (journey: Journey) => number | undefined) =>
    Float64Array.from(rows, (journey) => of(journey) ?? Number.NaN);
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
      dropped_at: ["bottleneck", "path.netem"],
    },
    queues: [{ name: "bottleneck", limit: 20, written: "limit 20", rate_bps: 1.2e7 }],
    bottleneck: "bottleneck",
    delays_s: { before: 0.01, after: 0.005, back: 0.015 },
    flow: column(({ flow }) => flow),
    kind: column(({ back }) => (back ? 1 : 0)),
    direction: column(({ back }) => (back ? 1 : 0)),
    queue: column(({ queued }) => (queued === undefined ? undefined : 0)),
    dropped_at: column(({ dropped }) => (dropped === undefined ? undefined : 0)),
    sequence: column(({ sent }) => Math.round(sent * 1e6)),
    size: column(({ back }) => (back ? 66 : 1514)),
    retransmit: column(({ again }) => (again ? 1 : 0)),
    marked: column(() => 0),
    sent: column(({ sent }) => sent),
    queued: column(({ queued }) => queued),
    dequeued: column(({ dequeued }) => dequeued),
    departed: column(({ departed }) => departed),
    received: column(({ received }) => received),
    dropped: column(({ dropped }) => dropped),
  };
}

/** A full queue of 20 behind 12 Mbit/s, two flows, one packet in ten lost before it, ACKs; from a small set of dice. */
export function crowd(seed: number, packets = 400): Packets {
  const dice = mulberry(seed);
  const journeys: Journey[] = [];
  const leavings: number[] = [];
  for (let time = 0; journeys.length < packets; time += dice() * 0.0015) {
    const journey: Journey = { flow: dice() < 0.5 ? 0 : 1, again: dice() < 0.1, sent: time };
    journeys.push(journey);
    if (dice() < 0.1) {
      journey.dropped = time + 0.002;
      continue;
    }
    const queued = time + 0.01;
    journey.queued = queued;
    const waiting = leavings.filter((leaving) => leaving > queued).length;
    if (waiting >= 20) {
      journey.dropped = queued;
      continue;
    }
    const dequeued = Math.max(queued, leavings.at(-1) ?? 0) + 0.001;
    leavings.push(dequeued);
    journey.dequeued = dequeued;
    journey.departed = dequeued + 0.0005;
    if (dice() < 0.05) continue; // The run ends before it arrives.
    journey.received = dequeued + 0.0055;
    journeys.push({ flow: journey.flow, back: true, sent: journey.received, received: journey.received + 0.015 });
  }
  return made(journeys);
}

/** Dice that fall the same way every time. */
export function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
