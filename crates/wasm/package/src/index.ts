// Experiments of TCP congestion control from JavaScript: `parse`, `run`, `packets`. The work is done in a worker.

import type { Case, Description, FigureOptions, Mistake, Progress, Recorded, RunResult, Start } from "./messages.js";
import type { Metrics } from "./metrics.js";
import { submit } from "./workers.js";

export type {
  Case,
  Description,
  Figure,
  FigureOptions,
  FlowDescription,
  Layer,
  Line,
  Mistake,
  Panel,
  Progress,
  QueueDescription,
  Series,
  Span,
} from "./messages.js";
export type * from "./metrics.js";
export type { Column, Table } from "./tables.js";
export { numbers } from "./tables.js";

/** Bytes of packets and tables that a run may hold, unless `mostBytes` says otherwise. */
const MOST_BYTES = 2 ** 30;
/** Rows of a recording, unless `mostRows` says otherwise. */
const MOST_ROWS = 100_000;

/** What a run depends on besides its text. */
export interface Options {
  /** Seed of all random streams: an integer from 0; 1 if it is left out. */
  seed?: number | bigint;
  /** Which case of a text with several cases. */
  case?: string;
  /** Texts of the files that the experiment names (traces, tc scripts), by name. */
  files?: Record<string, string>;
  /** Called some times a second with the simulated time. */
  onProgress?: (progress: Progress) => void;
  /** Ends the run; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Bytes of packets and tables that the run may hold; 1 GiB if it is left out. */
  mostBytes?: number;
  /** Length in seconds of the bins of `series`; without it and without `bins` the result has none. */
  step?: number;
  /** Or the most bins that `series` may have: a step of 1, 2 or 5 times a power of ten, at least 10 ms. */
  bins?: number;
  /** Panels of a figure as data; without it the result has none. */
  figure?: FigureOptions;
}

/** Which packets to record: those in flight between two times, in seconds. */
export interface Window extends Omit<Options, "step" | "bins" | "figure"> {
  from: number;
  to: number;
  /** Packets to record at most, the first ones; 100,000 if it is left out. */
  mostRows?: number;
}

/** A result: numbers of the run, and columns with a row per sample. */
export interface Run extends Omit<RunResult, "metrics" | "description"> {
  metrics: Metrics;
  description: Description;
}

/** A text that is no experiment, or a run that is not possible; `mistakes` has the places. */
export class DumbbellError extends Error {
  override readonly name = "DumbbellError";
  constructor(readonly mistakes: Mistake[]) {
    super(mistakes.map((mistake) => (mistake.line ? `line ${mistake.line}: ` : "") + mistake.message).join("\n"));
  }
}

/** Reads a text: its cases (one, with an empty name, if it has none), or every mistake with its place. */
export async function parse(toml: string): Promise<{ cases: Case[] } | { errors: Mistake[] }> {
  const answer = JSON.parse((await submit({ do: "parse", toml: text(toml) })) as string);
  return answer.errors ? { errors: answer.errors.map((mistake: Mistake) => placed(mistake, toml)) } : answer;
}

/** Runs an experiment to its end. */
export async function run(toml: string, options: Options = {}): Promise<Run> {
  const request = { do: "run" as const, stepNs: Math.round((options.step ?? 0) * 1e9), bins: options.bins ?? 0, figure: options.figure ?? null, ...start(toml, options) };
  const result = (await started(request, options)) as RunResult;
  return { ...result, metrics: JSON.parse(result.metrics), description: JSON.parse(result.description) };
}

/** Records the path of each packet that is in flight in a window; runs until these have arrived or were dropped. */
export async function packets(toml: string, window: Window): Promise<Recorded> {
  const ns = (seconds: number) => BigInt(Math.round(seconds * 1e9));
  const recorded = { from: ns(window.from), to: ns(window.to), mostRows: window.mostRows ?? MOST_ROWS };
  return (await started({ do: "packets", ...recorded, ...start(toml, window) }, window)) as Recorded;
}

/** Text from programs without types, too: a number or an object would reach the worker as such. */
function text(toml: unknown): string {
  if (typeof toml === "string") return toml;
  throw new TypeError(`the experiment is a text in TOML, got ${toml === null ? "null" : typeof toml}`);
}

function start(toml: string, options: Options): Start {
  const seed = BigInt(options.seed ?? 1);
  if (seed < 0n || seed >= 2n ** 64n) throw new RangeError(`seed is an integer from 0 to 2^64 - 1, got ${seed}`);
  const { files = {}, mostBytes = MOST_BYTES } = options;
  return { toml: text(toml), seed, case: options.case ?? "", files: JSON.stringify(files), mostBytes };
}

async function started(request: Parameters<typeof submit>[0], options: Pick<Options, "onProgress" | "signal">): Promise<unknown> {
  try {
    return await submit(request, options.onProgress, options.signal);
  } catch (error) {
    if (!Array.isArray(error)) throw error;
    throw new DumbbellError(error.map((mistake) => placed(mistake, request.toml)));
  }
}

/** A mistake whose place counts in UTF-16 units, as strings do, instead of bytes. */
function placed(mistake: Mistake, toml: string): Mistake {
  if (mistake.from == null || mistake.to == null) return mistake;
  const bytes = new TextEncoder().encode(toml);
  const units = (end: number) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, end)).length;
  return { ...mistake, from: units(mistake.from), to: units(mistake.to) };
}
