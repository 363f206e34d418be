// What goes to the worker and comes back.

import type { Table } from "./tables.js";

/** One experiment of a text: its values in nanoseconds, bits per second and bytes, by key. */
export interface Case {
  name: string;
  experiment: Record<string, unknown>;
}

/** What is wrong in a text, and what would be right. */
export interface Mistake {
  /** All of it in a sentence. */
  message: string;
  problem: string;
  right?: string;
  /** The dotted key. */
  key?: string;
  /** The case in which it was found. */
  case?: string;
  /** The line and the column, from 1; 0: no place. */
  line?: number;
  column?: number;
  /** The place in the text: `toml.slice(from, to)`. */
  from?: number | null;
  to?: number | null;
}

/** How far a run is. */
export interface Progress {
  /** Simulated seconds so far. */
  seconds: number;
}

export interface Start {
  toml: string;
  case: string;
  seed: bigint;
  files: string;
  mostBytes: number;
}

export type Request =
  | { do: "parse"; toml: string }
  | ({ do: "run" } & Start)
  | ({ do: "packets"; from: bigint; to: bigint; mostRows: number } & Start);

/** A result as it comes from the worker: `metrics` is JSON. */
export interface RunResult {
  metrics: string;
  /** One row per sample and flow. */
  flows: Table;
  /** One row per sample and queue. */
  queues: Table;
  /** One row per ping or UDP probe. */
  probes: Table;
}

/** Packets of a window. */
export interface Recorded {
  /** One row per packet. */
  packets: Table;
  /** Packets that exceeded `mostRows`. */
  leftOut: number;
}

export type Answer =
  | { is: "progress"; progress: Progress }
  | { is: "done"; result: unknown }
  | { is: "refused"; mistakes: Mistake[] }
  | { is: "failed"; problem: string };
