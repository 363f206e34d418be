// Requests a figure for every change: one request is active, and only the newest waits, so that figures follow a moving
// control as fast as they are simulated. When the control is released, the newest request replaces the active one.

import { batch } from "@preact/signals";
import { measure } from "./measure";
import { requestedMetrics as numbers } from "./metrics";
import { change, record, redo as redone, undo as undone } from "./moves";
import { type FigureResponse, figureData, POINTS, RequestError } from "./protocol";
import * as state from "./state";
import type { Edit } from "./types";

const TYPING_MS = 200;

interface Request {
  edits: Edit[];
  seed: number;
  /** The time of the first change of a control that it includes; 0 without one. */
  changedAt: number;
  controller: AbortController;
}

let active: Request | null = null;
let requested = false;
let changedAt = 0;
let typing: ReturnType<typeof setTimeout> | undefined;
/** Whether a pointer button or a key is pressed. */
let held = false;

for (const down of ["pointerdown", "keydown"])
  addEventListener(
    down,
    () => {
      held = true;
    },
    true,
  );
for (const up of ["pointerup", "pointercancel", "keyup", "blur"])
  addEventListener(
    up,
    () => {
      held = false;
      next();
    },
    true,
  );

/** Apply a control's change: the server edits the text. A later edit of the same key replaces an earlier one. */
export function applyEdit(edit: Edit): void {
  change(true);
  const plain = (edit.do ?? "set") === "set";
  const others = plain ? state.pending.value.filter((one) => one.key !== edit.key || one.do) : state.pending.value;
  state.pending.value = [...others, edit];
  changedAt ||= performance.now();
  refresh();
}

/** Replace the text. Cancels the requests for the old one. */
export function write(text: string, at: "once" | "typing" = "once"): void {
  change(at === "typing");
  replace(text, at);
}

/** Return to what was before the last move, or to what was undone. */
export function undo(): void {
  go(undone());
}

export function redo(): void {
  go(redone());
}

function go(place: ReturnType<typeof undone>): void {
  if (!place) return;
  state.seed.value = place.seed;
  replace(place.toml, "once");
}

/** Run the experiment with another seed. */
export function setSeed(seed: number): void {
  change(true);
  state.seed.value = seed;
  refresh();
}

function replace(text: string, at: "once" | "typing"): void {
  batch(() => {
    state.text.value = text;
    state.pending.value = [];
    state.busy.value = true;
  });
  abortActive();
  requested = false;
  clearTimeout(typing);
  typing = at === "typing" ? setTimeout(refresh, TYPING_MS) : undefined;
  if (at === "once") refresh();
}

/** Request the figures of the shown experiment. */
export function refresh(): void {
  clearTimeout(typing);
  typing = undefined;
  requested = true;
  next();
}

/** Send the next request now, or after the active one. */
function next(): void {
  if (requested && active && !held) abortActive();
  if (requested && !active) void send();
  state.busy.value = active !== null || typing !== undefined;
}

async function send(): Promise<void> {
  const own: Request = {
    edits: state.pending.value,
    seed: state.seed.value,
    changedAt,
    controller: new AbortController(),
  };
  [active, requested, changedAt] = [own, false, 0];
  try {
    const response = await figureData(figureRequest(own), own.controller.signal);
    if (active === own) apply(own, response);
  } catch (error) {
    if (active === own) showError(error);
  } finally {
    if (active === own) {
      active = null;
      next();
    }
  }
}

function figureRequest({ edits, seed }: Request) {
  return {
    toml: state.text.value,
    edits,
    seed,
    panels: state.panels.value,
    points: POINTS,
    numbers: numbers(),
  };
}

function apply({ edits, changedAt, seed }: Request, response: FigureResponse): void {
  const { state: answer, figureData: drawn } = response;
  batch(() => {
    if (drawn) record({ toml: answer.toml, seed, controls: answer.controls, figureData: drawn });
    state.text.value = response.state.toml;
    state.pending.value = state.pending.value.filter((edit) => !edits.includes(edit));
    state.controls.value = response.state.controls ?? state.controls.value;
    state.problem.value = response.state.problem;
    if (response.figureData) state.figureData.value = response.figureData;
  });
  if (changedAt) requestAnimationFrame(() => recordLatency(changedAt));
}

function showError(error: unknown): void {
  if (!(error instanceof RequestError)) throw error;
  state.problem.value = { text: error.message, key: "", right: "", line: null };
  state.pending.value = [];
}

/** Abort the active request; the server cancels its simulation. */
function abortActive(): void {
  if (!active) return;
  changedAt = active.changedAt || changedAt;
  active.controller.abort();
  active = null;
}

function recordLatency(since: number): void {
  state.latency.value = performance.now() - since;
  measure("control-to-figure", since);
}
