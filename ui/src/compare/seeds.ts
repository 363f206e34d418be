// The shown experiment with four more seeds, after the first figure and a rest: a run with one seed is one sample.

import { computed, effect, signal, untracked } from "@preact/signals";
import { requestedMetrics } from "../metrics";
import { latest } from "../moves";
import { figureData, POINTS } from "../protocol";
import { busy, panels, pending, problem, seed, text } from "../state";
import type { FigureData } from "../types";
import { twoDigits } from "../units";

export const SEEDS = 5;
const REST_MS = 1500;
/** A run that takes longer than this is not repeated. */
const SIMULATE_MAX_MS = 1200;

interface Others {
  toml: string;
  seed: number;
  runs: FigureData[];
}

const found = signal<Others | null>(null);
let waiting: ReturnType<typeof setTimeout> | undefined;
let active: AbortController | null = null;

/** The runs of other seeds, if they are those of the shown experiment. */
export const otherSeeds = computed<FigureData[]>(() => {
  const others = found.value;
  const isShown = others && others.toml === text.value && others.seed === seed.value && !pending.value.length;
  return isShown && others.runs.length === SEEDS - 1 ? others.runs : [];
});

/** The least and the largest value of a metric over all seeds; null before they are there. */
export function spread(metric: string): [number, number] | null {
  const first = latest.value?.figureData;
  const values = [first, ...otherSeeds.value].map((run) => run?.numbers[metric]);
  if (!otherSeeds.value.length || values.some((value) => value === undefined)) return null;
  const known = values as number[];
  return [Math.min(...known), Math.max(...known)];
}

/** `26–31`, or one number if they are equal. */
export function spreadText([low, high]: [number, number], factor: number): string {
  const [from, to] = [twoDigits(low * factor), twoDigits(high * factor)];
  return from === to ? from : `${from}–${to}`;
}

effect(() => {
  [text.value, seed.value, pending.value, panels.value];
  const rests = !busy.value && latest.value !== null && problem.value === null;
  untracked(() => {
    clearTimeout(waiting);
    active?.abort();
    active = null;
    if (rests) waiting = setTimeout(() => void repeat(), REST_MS);
  });
});

async function repeat(): Promise<void> {
  const now = latest.peek();
  if (!now || otherSeeds.peek().length || document.hidden) return;
  const { toml, seed: first, figureData: drawn } = now;
  if (toml !== text.peek() || drawn.took_ms.simulate > SIMULATE_MAX_MS || !drawn.valid) return;
  const own = new AbortController();
  active = own;
  const runs: FigureData[] = [];
  const names = panels.peek().filter((name) => name !== "states");
  for (let next = first + 1; next < first + SEEDS && !own.signal.aborted; next++) {
    const request = { toml, edits: [], seed: next, panels: names, points: POINTS, numbers: requestedMetrics() };
    // An aborted or refused run of another seed is no news for the reader.
    const response = await figureData(request, own.signal).catch(() => null);
    if (!response?.figureData?.valid || own.signal.aborted) return;
    runs.push(response.figureData);
  }
  found.value = { toml, seed: first, runs };
}
