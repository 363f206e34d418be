// The packets of a time window from the server (`web/live_figures.py`), as columns; a row is a packet.

import { alone, checked, parseResponse, post } from "../protocol";
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
  /** In packets; null without a limit. */
  limit: number | null;
  /** The limit as in the text. */
  written: string;
  rate_bps: number | null;
}

/** The least delays: sender to queue, queue to receiver, reverse path; null without packets. */
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

/** Names are indices into `names`, times are in seconds, unknown values are NaN. Rows are in the order of `sent`. */
export interface Packets extends Header, Record<Name | Count | Time, Float64Array> {}

interface Description extends Header {
  problem: Problem | null;
  columns: Record<Name | Count | Time, Span>;
}

/** Request packets; a string is an error message. */
export async function packets(body: WindowRequest): Promise<Packets | string> {
  const own = alone();
  if (own) return (await import("../local/packets")).packetsOf(own, body);
  return parsePackets(await (await checked(await post("api/packets", body))).arrayBuffer());
}

export function parsePackets(bytes: ArrayBuffer): Packets | string {
  const { header, column } = parseResponse<Description>(bytes);
  if (header.problem) return header.problem.text;
  const columns = Object.fromEntries(Object.entries(header.columns).map(([name, span]) => [name, column(span)]));
  return { ...header, ...(columns as Record<Name | Count | Time, Float64Array>) };
}

/** Whether the packet's direction is from the flow's receiver to its sender. */
export function isReverse(of: Packets, row: number): boolean {
  return of.names.direction[of.direction[row] as number] === "backward";
}
