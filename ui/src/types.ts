// The server's responses, made by `python/dumbbell/web`.

export interface Group {
  name: string;
  kind: "tcp" | "udp";
  cc: string | null;
  /** The controller's parameters that are set, by name. */
  cc_parameters: Record<string, string | number>;
  count: number;
  start_ns: number;
  stop_ns: number | null;
  bytes: number | null;
  rate_bps: number | null;
}

export interface Bottleneck {
  rate_bps: number | null;
  traced: boolean;
  qdisc: string;
  kind: string;
  limit: string | null;
}

export interface Controls {
  title: string;
  duration_ns: number;
  rtt_ns: number;
  /** Of the forward path; the rest of `rtt_ns` is on the reverse path. */
  delay_ns: number;
  mtu_bytes: number;
  loss: string | null;
  bottleneck: Bottleneck | null;
  flows: Group[];
}

/** An experiment: its values in nanoseconds, bits per second and bytes, and the names of its groups. */
export interface Case {
  name?: string;
  experiment: Record<string, unknown>;
  groups: string[];
}

export interface Problem {
  text: string;
  key: string;
  right: string;
  line: number | null;
}

export interface State {
  toml: string;
  controls: Controls | null;
  problem: Problem | null;
}

export type Value = string | number | boolean | null | { [key: string]: string | number | boolean };

export interface Edit {
  do?: "set" | "add" | "remove";
  key: string;
  value?: Value;
}

/** A column of a figure: offset and length in numbers. */
export type Span = [number, number];

interface Coloured {
  colour: string;
  dark: string;
}

export interface Line extends Coloured {
  name: string;
  dash: number[];
  s: Span;
  v: Span;
}

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
  | ({ kind: "ticks"; top?: number; row?: string; s: Span } & Coloured)
  | ({ kind: "bands"; row: string; phase: string; s: Span; e: Span } & Coloured)
  | ({ kind: "points"; name: string; size: number; s: Span; v: Span } & Coloured);

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

/** A run as data. */
export interface Drawn {
  duration_s: number;
  flows: { name: string; group: string }[];
  valid: boolean;
  /** Why it did not measure what its experiment specifies. */
  invalid: string[];
  warnings: string[];
  numbers: Record<string, number>;
  panels: Panel[];
  /** Requested columns of the first flow's samples, and their times in `time_s`. */
  samples?: Record<string, Span>;
  took_ms: { simulate: number; all: number };
}

export interface FigureData extends Drawn {
  column(span: Span): Float64Array;
}

export interface Scenario {
  name: string;
  title: string;
  case: string;
  published: boolean;
  toml: string;
}

export interface Start {
  version: string;
  /** Whether `dumbbell ui` is behind the page; otherwise the page runs the simulator itself. */
  server: boolean;
  /** Without a server: the files of built-in experiments, in the folder `files`. */
  files?: string[];
  scenarios: Scenario[];
  controllers: string[];
  /** The text of each discipline, by name; `{limit}` is its buffer. */
  disciplines: Record<string, string>;
}
