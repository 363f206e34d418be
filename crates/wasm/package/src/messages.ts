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

/** Which panels of a figure a result has. */
export interface FigureOptions {
  /** Names as of `dumbbell plot --panels`; those for which the run has no data are left out. */
  panels: string[];
  /** Points of a line at most; 1400 if it is left out. */
  points?: number;
  /** Columns of the first flow's samples. */
  samples?: string[];
}

/** Panels as data: `panels` and `samples` name columns of `numbers` by offset and length. */
export interface Figure {
  panels: Panel[];
  samples: Record<string, Span>;
  numbers: Float64Array;
}

/** A column: offset and length. */
export type Span = [number, number];

interface Coloured {
  colour: string;
  /** On a dark page. */
  dark: string;
}

/** A line: times in seconds, and values. */
export interface Line extends Coloured {
  name: string;
  dash: number[];
  s: Span;
  v: Span;
}

/** A part of a panel; times in seconds. */
export type Layer =
  | {
      kind: "lines";
      of: "flows" | "panel" | "none";
      curve: "linear" | "step" | "step-after";
      width: number;
      opacity: number;
      lines: Line[];
    }
  | ({ kind: "rule"; v: number; dash: number[] } & Coloured)
  | ({ kind: "ticks"; top: number; row?: string; s: Span } & Coloured)
  | ({ kind: "bands"; row: string; phase: string; s: Span; e: Span } & Coloured)
  | ({ kind: "points"; name: string; size: number; s: Span; v: Span } & Coloured);

/** A panel of a figure; its layers are from bottom to top. */
export interface Panel {
  name: string;
  title: string;
  note: string;
  height: number;
  y: { domain: [number, number] | null; nice: boolean };
  /** Names of rows, from the top; empty for a value axis. */
  rows: string[];
  legend: string | null;
  /** The entries of the panel's own legend. */
  entries: ({ name: string } & Coloured)[];
  layers: Layer[];
}

export type Request =
  | { do: "parse"; toml: string }
  | ({ do: "run"; stepNs: number; bins: number; figure: FigureOptions | null } & Start)
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
  /** As requested by `figure`. */
  figure?: Figure;
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
  /** Of each queue, its limit in packets and as configured. */
  limits: Record<string, [packets: number, text: string]>;
}

export type Answer =
  | { is: "progress"; progress: Progress }
  | { is: "done"; result: unknown }
  | { is: "refused"; mistakes: Mistake[] }
  | { is: "failed"; problem: string };
