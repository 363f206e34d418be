// From a change to its figure: one request under way, and only the newest wish waiting, so that figures follow the
// hand as fast as they are simulated. Once the hand lets go, what is under way gives way to its last wish.

import { batch } from "@preact/signals";
import { requestedMetrics as numbers } from "./metrics";
import { type Answer, figureData, POINTS, Unanswered } from "./protocol";
import * as state from "./state";
import type { Edit } from "./types";

const TYPING_MS = 200;

interface Request {
  edits: Edit[];
  /** When the first control was turned that it answers; 0: none was. */
  turned: number;
  gone: AbortController;
}

let under: Request | null = null;
let wanted = false;
let turned = 0;
let typing: ReturnType<typeof setTimeout> | undefined;
/** Is a finger on a control or a key? */
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

/** A control was turned: the server writes it into the text. A later turn of the same control replaces an earlier one. */
export function applyEdit(edit: Edit): void {
  const plain = (edit.do ?? "set") === "set";
  const others = plain ? state.pending.value.filter((one) => one.key !== edit.key || one.do) : state.pending.value;
  state.pending.value = [...others, edit];
  turned ||= performance.now();
  refresh();
}

/** The text was written: by hand, or with another experiment. What was asked of the old one is of no use. */
export function write(text: string, at: "once" | "typing" = "once"): void {
  batch(() => {
    state.text.value = text;
    state.pending.value = [];
    state.busy.value = true;
  });
  drop();
  wanted = false;
  clearTimeout(typing);
  typing = at === "typing" ? setTimeout(refresh, TYPING_MS) : undefined;
  if (at === "once") refresh();
}

/** Ask for what is on the screen. */
export function refresh(): void {
  clearTimeout(typing);
  typing = undefined;
  wanted = true;
  next();
}

/** Ask now, or once there is an answer. */
function next(): void {
  if (wanted && under && !held) drop();
  if (wanted && !under) void answer();
  state.busy.value = under !== null || typing !== undefined;
}

async function answer(): Promise<void> {
  const mine: Request = { edits: state.pending.value, turned, gone: new AbortController() };
  [under, wanted, turned] = [mine, false, 0];
  try {
    const got = await figureData(figureRequest(mine), mine.gone.signal);
    if (under === mine) take(mine, got);
  } catch (error) {
    if (under === mine) failed(error);
  } finally {
    if (under === mine) {
      under = null;
      next();
    }
  }
}

function figureRequest({ edits }: Request) {
  return {
    toml: state.text.value,
    edits,
    seed: state.seed.value,
    panels: state.panels.value,
    points: POINTS,
    numbers: numbers(),
  };
}

function take({ edits, turned }: Request, got: Answer): void {
  batch(() => {
    state.text.value = got.state.toml;
    state.pending.value = state.pending.value.filter((edit) => !edits.includes(edit));
    state.controls.value = got.state.controls ?? state.controls.value;
    state.problem.value = got.state.problem;
    if (got.figureData) state.figureData.value = got.figureData;
  });
  if (turned) requestAnimationFrame(() => recordLatency(turned));
}

function failed(error: unknown): void {
  if (!(error instanceof Unanswered)) throw error;
  state.problem.value = { text: error.message, key: "", right: "", line: null };
  state.pending.value = [];
}

/** Nobody waits for its answer any more; the server ends the simulation. */
function drop(): void {
  if (!under) return;
  turned = under.turned || turned;
  under.gone.abort();
  under = null;
}

function recordLatency(since: number): void {
  state.latency.value = performance.now() - since;
  performance.measure("control-to-figure", { start: since });
}
