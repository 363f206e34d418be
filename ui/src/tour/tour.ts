// The state and the actions of the tour.
//
// A step shows its experiment and judges every figure. Leaving the tour restores the experiment from before it. The
// browser stores the step, if it permits storage.

import { batch, effect, signal, untracked } from "@preact/signals";
import { applyEdit, refresh, write } from "../live";
import { language, text as say } from "../messages/messages";
import { additionalMetrics } from "../metrics";
import * as state from "../state";
import type { Controls } from "../types";
import { judge, otherChanges, type Verdict } from "./judge";
import { inLanguage, metrics, STEPS, type Step } from "./steps";

const STORAGE_KEY = "dumbbell-tour";
export const HASH = "#tour";
/** After this time without a change the verdict is announced, and the next one is compared with it. */
const REST_MS = 700;

/** The index of the step; `STEPS.length` is the end; null: no tour. */
export const stepIndex = signal<number | null>(null);
/** Steps whose answer was found, by their experiments. */
export const found = signal<ReadonlySet<string>>(new Set());
export const verdict = signal<Verdict | null>(null);
/** The last verdict after a time without changes. */
export const rested = signal<Verdict | null>(null);
/** Whether the explanation is shown. */
export const explained = signal(false);

let restorePage: (() => void) | null = null;
let base: Controls | null = null;
let before: number | null = null;
let resting: ReturnType<typeof setTimeout> | undefined;

export function step(): Step | null {
  return stepIndex.value === null ? null : (STEPS[stepIndex.value] ?? null);
}

/** Open the tour at the stored step. */
export function open(): void {
  if (stepIndex.value !== null) return;
  restorePage = saveState();
  history.replaceState(null, "", HASH);
  const stored = loadStored();
  found.value = new Set(stored.found);
  go(stored.place);
}

/** Open the tour if the page's URL has its hash. */
export function openFromLink(): void {
  if (location.hash === HASH) open();
}

export function go(to: number): void {
  const next = STEPS[to];
  clearTimeout(resting);
  [base, before] = [null, null];
  batch(() => {
    stepIndex.value = Math.min(Math.max(to, 0), STEPS.length);
    verdict.value = null;
    rested.value = null;
    explained.value = next !== undefined && found.value.has(next.experiment);
    if (next) {
      state.pins.value = [];
      state.hidden.value = new Set();
      state.panels.value = next.panels;
      additionalMetrics.value = metrics(next);
      state.seed.value = 1;
      write(next.toml);
    }
  });
  store();
}

export function showAnswer(): void {
  const now = step();
  if (now) applyEdit(now.answer);
}

/** End the tour and restore the page. */
export function leave(): void {
  clearTimeout(resting);
  stepIndex.value = null;
  verdict.value = null;
  additionalMetrics.value = [];
  history.replaceState(null, "", location.pathname + location.search);
  restorePage?.();
  restorePage = null;
}

/** From the first step, with nothing found. */
export function restart(): void {
  found.value = new Set();
  go(0);
}

effect(() => {
  language.value; // The verdict is in it.
  if (state.figureData.value) untracked(judgeFigure);
});

/** Judge a new figure. */
function judgeFigure(): void {
  const [now, controls, drawn] = [step(), state.controls.value, state.figureData.value];
  if (!now || !controls || !drawn) return;
  if (state.text.value === now.toml) base = controls;
  clearTimeout(resting);
  if (!drawn.valid) {
    verdict.value = { kind: "elsewhere", text: say("tour.invalid"), miss: before ?? 0 };
    rested.value = verdict.value;
    return;
  }
  const changes = base && otherChanges(now, base, controls);
  const current = judge(inLanguage(now), drawn.numbers, before);
  before ??= current.miss;
  verdict.value = changes ? { kind: "elsewhere", text: changes, miss: current.miss } : current;
  if (verdict.value.kind === "found" && !found.value.has(now.experiment)) {
    found.value = new Set([...found.value, now.experiment]);
    store();
  }
  resting = setTimeout(rest, REST_MS);
}

function rest(): void {
  before = verdict.value?.miss ?? before;
  rested.value = verdict.value;
  explained.value ||= verdict.value?.kind === "found";
}

/** Save the state of the page; return a function that restores it. */
function saveState(): () => void {
  const [text, panels, hidden, pins, seed] = [
    state.text.value,
    state.panels.value,
    state.hidden.value,
    state.pins.value,
    state.seed.value,
  ];
  return () =>
    batch(() => {
      state.panels.value = panels;
      state.hidden.value = hidden;
      state.pins.value = pins;
      state.seed.value = seed;
      if (state.text.value === text) refresh();
      else write(text);
    });
}

interface Stored {
  place: number;
  found: string[];
}

function loadStored(): Stored {
  try {
    const stored: Partial<Stored> = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");
    const at = Number.isInteger(stored.place) ? Math.min(Math.max(stored.place as number, 0), STEPS.length - 1) : 0;
    const known = STEPS.map(({ experiment }) => experiment).filter((name) => stored.found?.includes(name));
    return { place: at, found: known };
  } catch {
    return { place: 0, found: [] };
  }
}

function store(): void {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify({ place: stepIndex.value, found: [...found.value] }));
  } catch {
    // Without storage the tour starts at its first step next time.
  }
}
