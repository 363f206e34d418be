// Packets of a window of time as the server tells of them (`web/packet traces.py`): a column a fact, a row a packet.

import { answered, opened, post } from "../protocol";
import type { Problem, Span } from "../types";

export interface WindowRequest {
  toml: string;
  seed: number;
  from_s: number;
  to_s: number;
}

/** A queue under test. */
export interface QueueFacts {
  name: string;
  /** In packets; null where it has none. */
  limit: number | null;
  /** As it was written. */
  written: string;
  rate_bps: number | null;
}

/** Shortest times from the sender to the queue, from there to the receiver, and back; null where no one went. */
export interface Delays {
  before: number | null;
  after: number | null;
  back: number | null;
}

type Name = "flow" | "kind" | "direction" | "queue" | "dropped_at";
type Count = "sequence" | "size" | "retransmit" | "marked";
export type Time = "sent" | "queued" | "dequeued" | "departed" | "received" | "dropped";

export interface Header {
  from_s: number;
  to_s: number;
  complete_s: number;
  left_out: number;
  rows: number;
  names: Record<Name, string[]>;
  queues: QueueFacts[];
  bottleneck: string | null;
  delays_s: Delays;
}

/** Names are places in `names`, times seconds; what is not known is NaN. Rows are in order of `sent`. */
export interface Packets extends Header, Record<Name | Count | Time, Float64Array> {}

interface Description extends Header {
  problem: Problem | null;
  columns: Record<Name | Count | Time, Span>;
}

/** The server's answer; a string: what is wrong. */
export async function packets(asked: WindowRequest): Promise<Packets | string> {
  return parsePackets(await (await answered(await post("api/packets", asked))).arrayBuffer());
}

export function parsePackets(bytes: ArrayBuffer): Packets | string {
  const { header, column } = opened<Description>(bytes);
  if (header.problem) return header.problem.text;
  const columns = Object.fromEntries(Object.entries(header.columns).map(([name, span]) => [name, column(span)]));
  return { ...header, ...(columns as Record<Name | Count | Time, Float64Array>) };
}

/** Is it on the way from the flow's receiver to its sender? */
export function isBack(of: Packets, row: number): boolean {
  return of.names.direction[of.direction[row] as number] === "backward";
}
