// Counts the packets on the paths and in the queues at a time, and describes them for screen readers. Pure functions.

import { filled, text as say } from "../messages/messages";
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
  const parts = [counting("forward", counted.forward)];
  const busy = of.queues.filter(({ name }) => counted.queues.get(name) || name === of.bottleneck);
  for (const { name, limit } of busy.slice(0, QUEUES_MAX)) {
    const waiting = counted.queues.get(name) ?? 0;
    const values = { number: String(waiting), limit: String(Math.round(limit ?? 0)), queue: name };
    const key = `count.queue${of.queues.length > 1 ? ".named" : ""}${limit === null ? "" : ".limit"}`;
    parts.push(filled(key, (each) => values[each as keyof typeof values] ?? null));
  }
  const others = busy.slice(QUEUES_MAX).reduce((sum, { name }) => sum + (counted.queues.get(name) ?? 0), 0);
  if (others) parts.push(counting("others", others));
  parts.push(counting("reverse", counted.reverse));
  return [parts.join(say("count.comma")), ...states(shown, time)].join(say("count.semicolon"));
}

function counting(what: string, number: number): string {
  return filled(`count.${what}${number === 1 ? ".one" : ""}`, () => String(number));
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
  const first = ordered
    .slice(0, STATES_MAX)
    .map(([row, phase]) => filled("count.state", (name) => (name === "flow" ? row : phase)));
  return ordered.length > STATES_MAX ? [...first, counting("more", ordered.length - STATES_MAX)] : first;
}

function order(shown: FigureData | null, name: string): number {
  return shown?.flows.findIndex((flow) => flow.name === name) ?? 0;
}

const QUEUES_MAX = 4;
const STATES_MAX = 6;
const EVENTS_MAX = 3;

/** The events at this time, as text. */
export function events(of: Packets, now: Event[]): string {
  const first = now.slice(0, EVENTS_MAX).map(({ row, what }) => `${packetText(of, row)}${say(`event.${what}`)}`);
  const more = now.length - first.length;
  return [...first, ...(more > 0 ? [counting("events", more)] : [])].join(say("count.semicolon"));
}

function packetText(of: Packets, row: number): string {
  const sequence = of.sequence[row] as number;
  const kind = of.names.kind[of.kind[row] as number] ?? "";
  const values: Record<string, string> = {
    flow: of.names.flow[of.flow[row] as number] ?? "",
    kind,
    byte: String(sequence),
    again: of.retransmit[row] ? say("event.again") : "",
  };
  const key = Number.isNaN(sequence) ? "plain" : kind === "ack" ? "ack" : "data";
  return filled(`event.packet.${key}`, (name) => values[name] ?? null);
}
