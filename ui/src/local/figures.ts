// Figures without a server: the simulator runs in a Web Worker of this page. The answer has the form of the server's.

import type { FigureResponse, TextRequest } from "../protocol";
import { RequestError } from "../protocol";
import type { Span, Start, State } from "../types";
import { controlsOf } from "./controls";
import { type FigureOptions, type Numbers, type Run, simulator } from "./simulator";
import { experimentOf, filesOf, problemOf, problemOfEdit, TextError } from "./text";

/** Memory of packets and tables of one run. */
export const MOST_BYTES = 1e9;

/** The last run, for the packets of its windows. */
let latest: { key: string; description: Run["description"] } | null = null;

/** What was run with this text and seed. */
export async function descriptionOf(start: Start, toml: string, seed: number) {
  if (latest?.key !== `${seed} ${toml}`) await runOf(start, toml, seed);
  return (latest as { description: Run["description"] }).description;
}

/** Run the text, draw it. */
export async function figuresOf(start: Start, request: TextRequest, signal: AbortSignal): Promise<FigureResponse> {
  const state: State = { toml: request.toml, controls: null, problem: null };
  try {
    const found = await experimentOf(state.toml);
    signal.throwIfAborted();
    state.controls = controlsOf(found);
    const began = performance.now();
    const { panels, points, samples = [] } = request;
    const run = await runOf(start, state.toml, request.seed, { panels, points, samples }, signal);
    const simulate = performance.now() - began;
    const duration_s = Number(run.metrics.duration_s);
    const { numbers: all, ...drawn } = run.figure as Required<Run>["figure"];
    const column = ([offset, count]: Span) => all.subarray(offset, offset + count);
    const { flows, invalid, warnings } = run.description;
    const facts = {
      duration_s,
      flows,
      valid: !invalid.length,
      invalid,
      warnings,
      numbers: measures(run),
      ...drawn,
      column,
    };
    return { state, figureData: { ...facts, took_ms: { simulate, all: performance.now() - began } } };
  } catch (error) {
    if (signal.aborted) throw error;
    return { state: { ...state, problem: await problemFrom(error) }, figureData: null };
  }
}

/** Run an experiment to its end. */
export async function runOf(
  start: Start,
  toml: string,
  seed: number,
  figure?: FigureOptions,
  signal?: AbortSignal,
): Promise<Run> {
  const { run } = await simulator();
  const options = { seed, files: await filesOf(toml, start), mostBytes: MOST_BYTES };
  const result = await run(toml, { ...options, ...(figure && { figure }), ...(signal && { signal }) });
  latest = { key: `${seed} ${toml}`, description: result.description };
  return result;
}

/** The problem of an error of the text or of the run. */
export async function problemFrom(error: unknown) {
  if (error instanceof TextError) return error.problem;
  const { DumbbellError } = await simulator().catch(() => {
    throw new RequestError("the simulator could not be loaded: reload the page");
  });
  if (error instanceof DumbbellError) return problemOf(error.mistakes);
  return problemOfEdit(error);
}

const OF_GROUP = [
  ...["throughput_mbps", "share", "fct_s", "retransmit_rate", "retransmits"],
  ...["rtt_ms.mean", "rtt_ms.p95", "cwnd_packets.mean", "cwnd_packets.p95"],
];
const OF_PATH = [
  ...["ping_ms.mean", "ping_ms.p95", "queue.packets.mean", "queue.packets.p95", "queue.delay_ms.mean"],
  ...["queue.delay_ms.p95", "queue.drops", "queue.marks", "queue.loss_rate", "utilization", "jain"],
  ...["cycle.period_s", "cycle.strength"],
];

/** The numbers of a run by name, without unknown ones (`python/dumbbell/analysis/summary.py`). */
export function measures({ metrics }: Pick<Run, "metrics">): Record<string, number> {
  const groups = Object.keys(metrics.groups as Numbers);
  const single = (name: string) => name === "share" && groups.length < 2;
  const ofGroups = groups.flatMap((group) =>
    OF_GROUP.filter((name) => !single(name)).map((name) => ["groups", group, ...name.split(".")]),
  );
  const paths = [...ofGroups, ...OF_PATH.map((name) => name.split("."))];
  const found = paths.map((path) => [path.join("."), numberOf(path.reduce(childOf, metrics as unknown))] as const);
  return Object.fromEntries(found.filter((each): each is readonly [string, number] => Number.isFinite(each[1])));
}

/** A spread's mean: `groups.NAME.fct_s` alone. */
function numberOf(value: unknown): unknown {
  return childOf(value, "mean") ?? value;
}

function childOf(node: unknown, key: string): unknown {
  return typeof node === "object" && node !== null ? (node as Record<string, unknown>)[key] : undefined;
}
