// Runs of the shown experiment on the real kernel: start, progress, cancel, result.

import { batch, computed, effect, signal } from "@preact/signals";
import { alone, checked, needsServer, POINTS, parseFigure, post, RequestError, request } from "../protocol";
import { offered, panels, pending, seed, text } from "../state";
import type { FigureData, Problem } from "../types";

export interface Row {
  metric: string;
  /** The simulator's value, the kernel's, then the other columns of `head`. */
  cells: string[];
  verdict: "agrees" | "inconclusive" | "differs" | "shown";
}

export interface Agreement {
  head: string[];
  judged: Row[];
  shown: Row[];
  verdict: string;
  agrees: boolean | null;
  valid: boolean;
  warnings: string[];
}

export interface Overlay extends FigureData {
  toml: string;
  job: string;
  kernel: string;
  seed: number;
  seeds: number;
  agreement: Agreement;
}

export interface Progress {
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  seconds: number;
  of_s: number;
  share: number;
  /** The number of runs queued before this one. */
  before: number;
  problem: Problem | null;
}

/** The kernel to run, or how to get one. */
export const kernelStatus = signal<{ name: string | null; problem: string } | null>(null);
export const progress = signal<Progress | null>(null);
export const runProblem = signal<Problem | null>(null);
/** The result of the last run, of any experiment. */
export const outcome = signal<Overlay | null>(null);
/** The same, if its experiment and seed are the shown ones. */
export const overlay = computed(() => {
  const [last, plain] = [outcome.value, pending.value.length === 0];
  return last && plain && last.toml === text.value && last.seed === seed.value ? last : null;
});

let job = "";
/** Whether it was cancelled before the server returned its name. */
let cancelRequested = false;
let events: EventSource | null = null;

export async function checkKernel(): Promise<void> {
  if (!offered.value) return;
  if (alone()) {
    kernelStatus.value = { name: null, problem: needsServer("The real kernel") };
    return;
  }
  await reportErrors(async () => {
    kernelStatus.value = await (await checked(await request("api/kernel"))).json();
  });
}

/** Run the shown experiment with this number of seeds. */
export async function begin(seeds: number): Promise<void> {
  const toml = text.value;
  runProblem.value = null;
  [job, cancelRequested] = ["", false];
  progress.value = { state: "waiting", seconds: 0, of_s: 0, share: 0, before: 0, problem: null };
  await reportErrors(async () => {
    const reply = await (await checked(await post("api/kernel", { toml, seed: seed.value, seeds }))).json();
    if (reply.problem) return finish(reply.problem);
    job = reply.job;
    listen(toml);
    if (cancelRequested) await cancel();
  });
  if (runProblem.value) void checkKernel();
}

export async function cancel(): Promise<void> {
  cancelRequested = true;
  if (!job) return;
  await reportErrors(async () => {
    await checked(await request(`api/jobs/${job}`, { method: "DELETE" }));
  });
}

function listen(toml: string): void {
  events = new EventSource(`api/jobs/${job}/events`);
  events.onmessage = (event) => {
    const update: Progress = JSON.parse(event.data);
    progress.value = update;
    if (update.state === "done") void loadResult(toml);
    else if (update.state === "failed") finish(update.problem);
    else if (update.state === "cancelled") finish(null);
  };
  events.onerror = () => finish({ text: "the connection was lost: is dumbbell ui still running?", ...NO_LINE });
}

async function loadResult(toml: string): Promise<void> {
  events?.close();
  await reportErrors(async () => {
    const result = await fetchOverlay(toml, job);
    batch(() => {
      outcome.value = result;
      finish(null);
    });
  });
}

async function fetchOverlay(toml: string, of: string): Promise<Overlay> {
  const response = await checked(await post(`api/jobs/${of}/figure`, { panels: panels.value, points: POINTS }));
  const { figureData } = parseFigure(await response.arrayBuffer());
  return { ...(figureData as Overlay), toml, job: of };
}

function finish(problem: Problem | null): void {
  events?.close();
  events = null;
  batch(() => {
    progress.value = null;
    runProblem.value = problem;
  });
}

async function reportErrors(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    finish({ text: error.message, ...NO_LINE });
  }
}

const NO_LINE = { key: "", right: "", line: null };

// Fetches the kernel's curves of newly selected figures.
effect(() => {
  const selected = panels.value;
  const last = outcome.peek();
  if (last && selected.some((name) => !last.panels.some((panel) => panel.name === name)))
    void reportErrors(async () => {
      outcome.value = await fetchOverlay(last.toml, last.job);
    });
});
