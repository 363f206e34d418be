// The npm package `dumbbell` (crates/wasm/package), which lies next to the page of a static site: it runs experiments in
// Web Workers. The page is built without it, so it is loaded by its address, and its types are repeated here as far as
// they are used.

import type { Case, Panel, Span } from "../types";

export interface Column {
  values: BigInt64Array | Uint32Array | Uint8Array | Float64Array;
  known?: Uint8Array;
  names?: string[];
}

export interface Table {
  rows: number;
  columns: Record<string, Column>;
}

export interface FlowDescription {
  name: string;
  group: string;
  cc: string | null;
}

export interface QueueDescription {
  name: string;
  qdisc: string;
  under_test: boolean;
  /** Times in ns, bits per second. */
  rates: [number, number][];
}

export interface Run {
  metrics: Numbers;
  description: {
    flows: FlowDescription[];
    queues: QueueDescription[];
    bottleneck: string | null;
    invalid: string[];
    warnings: string[];
  };
  /** As requested. */
  figure?: { panels: Panel[]; samples: Record<string, Span>; numbers: Float64Array };
  flows: Table;
  queues: Table;
  probes: Table;
}

/** Numbers by name, nested. */
export interface Numbers {
  [name: string]: number | string | null | Numbers | Numbers[];
}

export interface Mistake {
  message: string;
  problem: string;
  right?: string;
  key?: string;
  value?: unknown;
  line?: number;
}

export interface FigureOptions {
  panels: readonly string[];
  points: number;
  samples: readonly string[];
}

interface Options {
  seed: number;
  files: Record<string, string>;
  signal?: AbortSignal;
  mostBytes: number;
}

interface Package {
  parse(toml: string): Promise<{ cases: Case[] } | { errors: Mistake[] }>;
  run(toml: string, options: Options & { figure?: FigureOptions }): Promise<Run>;
  packets(
    toml: string,
    window: Options & { from: number; to: number; mostRows: number },
  ): Promise<{ packets: Table; leftOut: number; limits: Record<string, [packets: number, text: string]> }>;
  DumbbellError: new (...rest: never) => Error & { mistakes: Mistake[] };
}

const ADDRESS = "simulator/index.js";
let loaded: Promise<Package> | null = null;

/** Load the package once, with a worker that waits for requests. */
export function simulator(): Promise<Package> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Package> {
  const found: Package = await import(/* @vite-ignore */ new URL(ADDRESS, document.baseURI).href);
  // The first request starts a worker; others that came before its answer would start more.
  await found.parse("");
  return found;
}

/** A column's values as numbers, NaN where a value is not known; a column of names as indices. */
export function numbers(column: Column): Float64Array {
  const { values, known } = column;
  const result = Float64Array.from(values as ArrayLike<number | bigint>, Number);
  if (known)
    for (let row = 0; row < result.length; row++)
      if (!((known[row >> 3] ?? 0) & (1 << (row & 7)))) result[row] = Number.NaN;
  return result;
}
