// Moves: what the user changes in one go (a drag, a choice, some typing). The run before the last move is kept, so that
// figures and numbers can be compared with it; undo and redo go from move to move.

import { computed, signal } from "@preact/signals";
import type { Controls, FigureData } from "./types";

/** A run and what made it. */
export interface Moment {
  toml: string;
  seed: number;
  controls: Controls | null;
  figureData: FigureData;
}

type Place = Pick<Moment, "toml" | "seed">;

/** Changes at a smaller distance are one move. */
const PAUSE_MS = 900;
const UNDO_MAX = 100;

/** The run before the last move; null: nothing to compare with. */
export const before = signal<Moment | null>(null);
/** The last run. */
export const latest = signal<Moment | null>(null);
const past = signal<Place[]>([]);
const future = signal<Place[]>([]);
export const canUndo = computed(() => past.value.length > 0);
export const canRedo = computed(() => future.value.length > 0);

let changedAt = Number.NEGATIVE_INFINITY;
let press = 0;
let pressOfMove = -1;

addEventListener(
  "pointerdown",
  () => {
    press += 1;
  },
  true,
);

/** Keep a run. */
export function record(moment: Moment): void {
  latest.value = moment;
}

/**
 * A change is about to be made; the first of a move keeps what was there. `compared`: the change is one of the same
 * experiment, so its run is worth a comparison.
 */
export function change(compared: boolean, now = performance.now()): void {
  const same = compared && now - changedAt < PAUSE_MS && (press === pressOfMove || now - changedAt < PAUSE_MS / 2);
  const dragged = compared && press === pressOfMove && isHeld;
  changedAt = now;
  if (same || dragged) return;
  pressOfMove = press;
  const kept = latest.value;
  before.value = compared ? kept : null;
  if (!kept) return;
  const { toml, seed } = kept;
  past.value = [...past.value, { toml, seed }].slice(-UNDO_MAX);
  future.value = [];
}

let isHeld = false;
for (const [type, held] of [
  ["pointerdown", true],
  ["pointerup", false],
  ["pointercancel", false],
] as const)
  addEventListener(
    type,
    () => {
      isHeld = held;
    },
    true,
  );

/** The place to return to; null if there is none. */
export function undo(): Place | null {
  return step(past, future);
}

export function redo(): Place | null {
  return step(future, past);
}

function step(from: typeof past, to: typeof past): Place | null {
  const [place, now] = [from.value.at(-1), latest.value];
  if (!place || !now) return null;
  from.value = from.value.slice(0, -1);
  to.value = [...to.value, { toml: now.toml, seed: now.seed }];
  before.value = now;
  changedAt = Number.NEGATIVE_INFINITY;
  return place;
}
