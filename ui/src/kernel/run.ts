// What is on the screen on the real kernel: begun, heard of, cancelled, and what came out of it.

import { batch, computed, effect, signal } from "@preact/signals";
import { answered, POINTS, post, request, Unanswered, unpacked } from "../protocol";
import { panels, pending, seed, text } from "../state";
import type { FigureData, Problem } from "../types";

export interface Row {
  metric: string;
  /** The simulator, the kernel, and then what the head names. */
  cells: string[];
  verdict: "agrees" | "inconclusive" | "differs" | "shown";
}

export interface Agreement {
  head: string[];
  judged: Row[];
  shown: Row[];
  verdict: string;
  agrees: boolean;
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
  /** How many wait longer for a processor. */
  before: number;
  problem: Problem | null;
}

/** The kernel that would run, or what to do to get one. */
export const here = signal<{ name: string | null; problem: string } | null>(null);
export const progress = signal<Progress | null>(null);
export const slip = signal<Problem | null>(null);
/** What came out last, of whatever experiment it was. */
export const outcome = signal<Overlay | null>(null);
/** The same, while its experiment is the one on the screen. */
export const overlay = computed(() => {
  const [last, plain] = [outcome.value, pending.value.length === 0];
  return last && plain && last.toml === text.value && last.seed === seed.value ? last : null;
});

let job = "";
/** It was cancelled before the server said what it is called. */
let unwanted = false;
let events: EventSource | null = null;

export async function checkKernel(): Promise<void> {
  await safely(async () => {
    here.value = await (await answered(await request("api/kernel"))).json();
  });
}

/** Run what is on the screen, with so many seeds. */
export async function begin(seeds: number): Promise<void> {
  const toml = text.value;
  slip.value = null;
  [job, unwanted] = ["", false];
  progress.value = { state: "waiting", seconds: 0, of_s: 0, share: 0, before: 0, problem: null };
  await safely(async () => {
    const told = await (await answered(await post("api/kernel", { toml, seed: seed.value, seeds }))).json();
    if (told.problem) return ended(told.problem);
    job = told.job;
    listen(toml);
    if (unwanted) await cancel();
  });
  if (slip.value) void checkKernel();
}

export async function cancel(): Promise<void> {
  unwanted = true;
  if (!job) return;
  await safely(async () => {
    await answered(await request(`api/jobs/${job}`, { method: "DELETE" }));
  });
}

function listen(toml: string): void {
  events = new EventSource(`api/jobs/${job}/events`);
  events.onmessage = (event) => {
    const told: Progress = JSON.parse(event.data);
    progress.value = told;
    if (told.state === "done") void take(toml);
    else if (told.state === "failed") ended(told.problem);
    else if (told.state === "cancelled") ended(null);
  };
  events.onerror = () => ended({ text: "lost sight of the run: is dumbbell ui still running?", ...NOWHERE });
}

async function take(toml: string): Promise<void> {
  events?.close();
  await safely(async () => {
    const got = await taken(toml, job);
    batch(() => {
      outcome.value = got;
      ended(null);
    });
  });
}

async function taken(toml: string, of: string): Promise<Overlay> {
  const response = await answered(await post(`api/jobs/${of}/figure`, { panels: panels.value, points: POINTS }));
  const { figureData } = unpacked(await response.arrayBuffer());
  return { ...(figureData as Overlay), toml, job: of };
}

function ended(problem: Problem | null): void {
  events?.close();
  events = null;
  batch(() => {
    progress.value = null;
    slip.value = problem;
  });
}

async function safely(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    ended({ text: error.message, ...NOWHERE });
  }
}

const NOWHERE = { key: "", right: "", line: null };

// Other figures were chosen: they have the kernel's curves too.
effect(() => {
  const wanted = panels.value;
  const last = outcome.peek();
  if (last && wanted.some((name) => !last.panels.some((panel) => panel.name === name)))
    void safely(async () => {
      outcome.value = await taken(last.toml, last.job);
    });
});
