// From a change to its picture: one request under way, and only the newest wish waiting.

import { batch } from "@preact/signals";
import * as state from "./state";
import type { Edit } from "./types";
import { POINTS, picture, Unanswered } from "./wire";

const TYPING_MS = 200;

let under = false;
let wanted = false;
let turned = 0;
let typing: ReturnType<typeof setTimeout> | undefined;

/** A knob was turned: the server writes it into the text. A later turn of the same knob replaces an earlier one. */
export function turn(edit: Edit): void {
  const plain = (edit.do ?? "set") === "set";
  const others = plain ? state.pending.value.filter((one) => one.key !== edit.key || one.do) : state.pending.value;
  state.pending.value = [...others, edit];
  turned ||= performance.now();
  refresh();
}

/** The text was written: by hand, or with another experiment. */
export function write(text: string, at: "once" | "typing" = "once"): void {
  batch(() => {
    state.text.value = text;
    state.pending.value = [];
  });
  clearTimeout(typing);
  state.busy.value = true;
  if (at === "typing") typing = setTimeout(refresh, TYPING_MS);
  else refresh();
}

/** Ask for what is on the screen. */
export function refresh(): void {
  wanted = true;
  if (!under) void answer();
}

async function answer(): Promise<void> {
  under = true;
  state.busy.value = true;
  while (wanted) {
    wanted = false;
    await once();
  }
  under = false;
  state.busy.value = false;
}

async function once(): Promise<void> {
  const asked = state.text.value;
  const edits = state.pending.value;
  const since = turned;
  turned = 0;
  try {
    const got = await picture({
      toml: asked,
      edits,
      seed: state.seed.value,
      panels: state.panels.value,
      points: POINTS,
    });
    if (state.text.value !== asked) {
      wanted = true; // Somebody wrote meanwhile: this answer is of another text.
      return;
    }
    batch(() => {
      state.text.value = got.state.toml;
      state.pending.value = state.pending.value.filter((edit) => !edits.includes(edit));
      state.knobs.value = got.state.knobs ?? state.knobs.value;
      state.problem.value = got.state.problem;
      if (got.picture) state.picture.value = got.picture;
    });
    if (since) requestAnimationFrame(() => told(since));
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    state.problem.value = { text: error.message, key: "", right: "", line: null };
    state.pending.value = [];
  }
}

function told(since: number): void {
  state.latency.value = performance.now() - since;
  performance.measure("knob-to-picture", { start: since });
}
