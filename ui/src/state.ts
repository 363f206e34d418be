// The state of the page. The experiment's text determines the rest: the server returns its controls and figures.
// Components read signals; `live` and the modules' actions write them.

import { computed, signal } from "@preact/signals";
import type { Controls, Edit, FigureData, Problem, Start } from "./types";

export interface Pin {
  id: number;
  toml: string;
  seed: number;
  /** The prefix of its curves' names. */
  name: string;
  /** The same, with a short description of its path. */
  label: string;
  figureData: FigureData;
}

export const offered = signal<Start | null>(null);
export const text = signal("");
export const controls = signal<Controls | null>(null);
export const problem = signal<Problem | null>(null);
export const figureData = signal<FigureData | null>(null);
export const pins = signal<Pin[]>([]);
/** Edits without a response of the server yet. */
export const pending = signal<Edit[]>([]);
export const busy = signal(false);
export const seed = signal(1);
export const panels = signal(["delivered", "cwnd", "rtt", "queue", "states"]);
/** Lines that the legend hides, by name. */
export const hidden = signal<ReadonlySet<string>>(new Set());
/** The time that figures and packets show, in seconds of the experiment. */
export const clock = signal<number | null>(null);
/** From the last change of a control to its figure, in ms. */
export const latency = signal<number | null>(null);

const preferred = matchMedia("(prefers-color-scheme: dark)");
export const systemDark = signal(preferred.matches);
preferred.addEventListener("change", () => {
  systemDark.value = preferred.matches;
});
const small = matchMedia("(max-width: 760px)");
/** A screen on which the page has one column (`style.css` has the same width). */
export const narrow = signal(small.matches);
small.addEventListener("change", () => {
  narrow.value = small.matches;
});
export const theme = signal<"system" | "light" | "dark">("system");
export const dark = computed(() => (theme.value === "system" ? systemDark.value : theme.value === "dark"));

/** The value that a control shows: its pending edit, or the text's value. */
export function shown<T>(key: string, textValue: T): T {
  const edit = pending.value.findLast((candidate) => candidate.key === key && (candidate.do ?? "set") === "set");
  return edit === undefined ? textValue : (edit.value as T);
}
