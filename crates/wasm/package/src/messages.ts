// What goes to the worker and comes back.

import type { Table } from "./tables.js";

/** One experiment of a text: its values in nanoseconds, bits per second and bytes, by key. */
export interface Case {
  name: string;
  experiment: Record<string, unknown>;
  /** The names of its groups of flows, in the order of `experiment.flows`. */
  groups: string[];
}

/** What is wrong in a text, and what would be right. */
export interface Mistake {
  /** All of it in a sentence. */
  message: string;
  problem: string;
  right?: string;
  /** The value at fault. */
  value?: unknown;
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
  | ({ do: "run"; stepNs: number; bins: number } & Start)
  | ({ do: "packets"; from: bigint; to: bigint; mostRows: number } & Start);

/** A flow as it was run. */
export interface FlowDescription {
  name: string;
  group: string;
  cc: string | null;
}

/** A queue as it was run; its rates are times in nanoseconds and bits per second. */
export interface QueueDescription {
  name: string;
  qdisc: string;
  under_test: boolean;
  rates: [number, number][];
}

/** What was run, and whether it is valid. */
export interface Description {
  flows: FlowDescription[];
  queues: QueueDescription[];
  /** The name of the queue that `metrics.queue` describes. */
  bottleneck: string | null;
  /** Why the run did not measure what the experiment specifies; empty: it is valid. */
  invalid: string[];
  /** What else a reader should know, for example a flow that had no time to connect. */
  warnings: string[];
  /** Start and stop of each flow in nanoseconds. */
  lives: [number, number][];
  /** For each flow the states of its controller: name, start and stop in nanoseconds, whether it is inferred. */
  phases: [string, number, number, boolean][][];
}

/** Counts in even bins from the start of the run, for each flow. */
export interface Series {
  stepNs: number;
  /** In bit/s. */
  goodput: Float64Array[];
  /** Retransmitted segments; NaN if they are not counted. */
  retransmits: Float64Array[];
}

/** A result as it comes from the worker: `metrics` and `description` are JSON. */
export interface RunResult {
  metrics: string;
  description: string;
  /** As requested by `step`. */
  series?: Series;
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
