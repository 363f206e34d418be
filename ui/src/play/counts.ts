// Counts the packets on the paths and in the queues at a time, and describes them for screen readers. Pure functions.

import type { FigureData } from "../types";
import type { Event, PacketIndex } from "./index";
import { isReverse, type Packets } from "./packets";
import { Zone, zoneAt } from "./position";

export interface PacketCounts {
  /** On the forward path, outside queues. */
  forward: number;
  /** Of each queue under test. */
  queues: Map<string, number>;
  /** On the reverse path, outside queues. */
  reverse: number;
}

export function countPackets(of: PacketIndex, time: number): PacketCounts {
  const { packets } = of;
  const counted: PacketCounts = {
    forward: 0,
    queues: new Map(packets.queues.map((queue) => [queue.name, 0])),
    reverse: 0,
  };
  for (const row of of.candidates(time)) {
    const zone = zoneAt(packets, row, time);
    if (zone === Zone.Queue) {
      const name = packets.names.queue[packets.queue[row] as number] as string;
      counted.queues.set(name, (counted.queues.get(name) ?? 0) + 1);
    } else if (zone > Zone.Unsent && zone < Zone.Arrived) {
      if (isReverse(packets, row)) counted.reverse++;
      else counted.forward++;
    }
  }
  return counted;
}

export function description(of: Packets, counted: PacketCounts, shown: FigureData | null, time: number): string {
  const parts = [`${count(counted.forward, "packet")} on the forward path`];
  const busy = of.queues.filter(({ name }) => counted.queues.get(name) || name === of.bottleneck);
  for (const { name, limit } of busy.slice(0, QUEUES_MAX)) {
    const waiting = counted.queues.get(name) ?? 0;
    const label = of.queues.length > 1 ? `in ${name}` : "in the queue";
    parts.push(limit === null ? `${waiting} ${label}` : `${waiting} of ${Math.round(limit)} ${label}`);
  }
  const others = busy.slice(QUEUES_MAX).reduce((sum, { name }) => sum + (counted.queues.get(name) ?? 0), 0);
  if (others) parts.push(`${others} in other queues`);
  parts.push(`${counted.reverse} on the reverse path`);
  return [parts.join(", "), ...states(shown, time)].join("; ");
}

/** The state of each controller, from the bands of the figure: later bands cover earlier ones. */
export function states(shown: FigureData | null, time: number): string[] {
  const now = new Map<string, string>();
  for (const panel of shown?.panels ?? []) {
    for (const layer of panel.layers) {
      if (layer.kind !== "bands" || !shown) continue;
      const [starts, ends] = [shown.column(layer.s), shown.column(layer.e)];
      const within = starts.some((start, i) => start <= time && time < (ends[i] as number));
      if (within) now.set(layer.row, layer.phase);
    }
  }
  const ordered = [...now].toSorted(([one], [other]) => order(shown, one) - order(shown, other));
  const first = ordered.slice(0, STATES_MAX).map(([row, phase]) => `${row} in ${phase}`);
  return ordered.length > STATES_MAX ? [...first, `${ordered.length - STATES_MAX} more flows`] : first;
}

function order(shown: FigureData | null, name: string): number {
  return shown?.flows.findIndex((flow) => flow.name === name) ?? 0;
}

const QUEUES_MAX = 4;
const STATES_MAX = 6;
const EVENT_TEXTS = {
  sent: "is sent",
  queued: "enters the queue",
  dequeued: "leaves the queue",
  departed: "leaves the link",
  received: "arrives",
  dropped: "is dropped",
};
const EVENTS_MAX = 3;

/** The events at this time, as text. */
export function events(of: Packets, now: Event[]): string {
  const first = now.slice(0, EVENTS_MAX).map((event) => `${packetText(of, event.row)} ${EVENT_TEXTS[event.what]}`);
  const more = now.length - first.length;
  return [...first, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

function packetText(of: Packets, row: number): string {
  const flow = of.names.flow[of.flow[row] as number];
  const kind = of.names.kind[of.kind[row] as number];
  const sequence = of.sequence[row] as number;
  const suffix = of.retransmit[row] ? ", retransmitted," : "";
  if (Number.isNaN(sequence)) return `${flow}: a ${kind} packet${suffix}`;
  return kind === "ack" ? `${flow}: an ACK of ${sequence} bytes` : `${flow}: the packet at byte ${sequence}${suffix}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
