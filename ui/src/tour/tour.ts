// Where the user is on the tour, and what they may do there.
//
// A step puts its experiment on the screen and hears of every figure; what the person had before comes back when they
// leave. The place is remembered by the browser, where it lets us.

import { batch, effect, signal, untracked } from "@preact/signals";
import { applyEdit, refresh, write } from "../live";
import { besides } from "../metrics";
import * as state from "../state";
import type { Controls } from "../types";
import { elsewhere, judged, type Verdict } from "./judge";
import { metrics, STEPS, type Step } from "./steps";

const KEPT = "dumbbell-tour";
export const HASH = "#tour";
/** After this time without a change the verdict is announced, and the next one is compared with it. */
const REST_MS = 700;

/** The step; `STEPS.length` is the end; null: no tour is on. */
export const place = signal<number | null>(null);
/** Steps whose answer was found, by their experiments. */
export const found = signal<ReadonlySet<string>>(new Set());
export const verdict = signal<Verdict | null>(null);
/** The verdict at which the hand came to rest. */
export const rested = signal<Verdict | null>(null);
/** Is what it means shown? */
export const explained = signal(false);

let mine: (() => void) | null = null;
let base: Controls | null = null;
let before: number | null = null;
let resting: ReturnType<typeof setTimeout> | undefined;

export function step(): Step | null {
  return place.value === null ? null : (STEPS[place.value] ?? null);
}

/** Take the tour, from where it was left. */
export function open(): void {
  if (place.value !== null) return;
  mine = whatIsOn();
  history.replaceState(null, "", HASH);
  const kept = remembered();
  found.value = new Set(kept.found);
  go(kept.place);
}

/** Open it where the page's address asks for it. */
export function openFromLink(): void {
  if (location.hash === HASH) open();
}

export function go(to: number): void {
  const next = STEPS[to];
  clearTimeout(resting);
  [base, before] = [null, null];
  batch(() => {
    place.value = Math.min(Math.max(to, 0), STEPS.length);
    verdict.value = null;
    rested.value = null;
    explained.value = next !== undefined && found.value.has(next.experiment);
    if (next) {
      state.pins.value = [];
      state.hidden.value = new Set();
      state.panels.value = next.panels;
      besides.value = metrics(next);
      state.seed.value = 1;
      write(next.toml);
    }
  });
  remember();
}

export function showAnswer(): void {
  const now = step();
  if (now) applyEdit(now.answer);
}

/** Back to what was on the screen before. */
export function leave(): void {
  clearTimeout(resting);
  place.value = null;
  verdict.value = null;
  besides.value = [];
  history.replaceState(null, "", location.pathname + location.search);
  mine?.();
  mine = null;
}

/** From the first step, with nothing found. */
export function restart(): void {
  found.value = new Set();
  go(0);
}

effect(() => {
  if (state.figureData.value) untracked(listen);
});

/** A figure came: is it the answer? */
function listen(): void {
  const [now, controls, drawn] = [step(), state.controls.value, state.figureData.value];
  if (!now || !controls || !drawn) return;
  if (state.text.value === now.toml) base = controls;
  const away = base && elsewhere(now, base, controls);
  const said = judged(now, drawn.numbers, before);
  before ??= said.miss;
  verdict.value = away ? { kind: "elsewhere", text: away, miss: said.miss } : said;
  if (verdict.value.kind === "found" && !found.value.has(now.experiment)) {
    found.value = new Set([...found.value, now.experiment]);
    remember();
  }
  clearTimeout(resting);
  resting = setTimeout(rest, REST_MS);
}

function rest(): void {
  before = verdict.value?.miss ?? before;
  rested.value = verdict.value;
  explained.value ||= verdict.value?.kind === "found";
}

/** Puts back what is on the screen now. */
function whatIsOn(): () => void {
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

interface Kept {
  place: number;
  found: string[];
}

function remembered(): Kept {
  try {
    const kept: Partial<Kept> = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    const at = Number.isInteger(kept.place) ? Math.min(Math.max(kept.place as number, 0), STEPS.length - 1) : 0;
    const known = STEPS.map((one) => one.experiment).filter((name) => kept.found?.includes(name));
    return { place: at, found: known };
  } catch {
    return { place: 0, found: [] };
  }
}

function remember(): void {
  try {
    localStorage.setItem(KEPT, JSON.stringify({ place: place.value, found: [...found.value] }));
  } catch {
    // A browser that keeps nothing: the tour begins again next time.
  }
}
