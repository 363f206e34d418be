// All that the page knows. The experiment's text is the truth; controls and figure are the server's answers to it.
// Views read signals and call `actions`; only `actions` and `live` write.

import { computed, signal } from "@preact/signals";
import type { Controls, Edit, FigureData, Problem, Start } from "./types";

export interface Pin {
  id: number;
  toml: string;
  seed: number;
  /** What its curves are called. */
  name: string;
  /** The same, with its path in short. */
  label: string;
  figureData: FigureData;
}

export const offered = signal<Start | null>(null);
export const text = signal("");
export const controls = signal<Controls | null>(null);
export const problem = signal<Problem | null>(null);
export const figureData = signal<FigureData | null>(null);
export const pins = signal<Pin[]>([]);
/** Edits that the server has not answered yet. */
export const pending = signal<Edit[]>([]);
export const busy = signal(false);
export const seed = signal(1);
export const panels = signal(["throughput", "cwnd", "rtt", "queue", "states"]);
/** Lines that the legend hides, by name. */
export const hidden = signal<ReadonlySet<string>>(new Set());
/** The one clock of the page, in seconds of the experiment: figures and packets follow it. */
export const clock = signal<number | null>(null);
/** From the last control to its figure, in ms. */
export const latency = signal<number | null>(null);

const preferred = matchMedia("(prefers-color-scheme: dark)");
export const systemDark = signal(preferred.matches);
preferred.addEventListener("change", () => {
  systemDark.value = preferred.matches;
});
export const theme = signal<"system" | "light" | "dark">("system");
export const dark = computed(() => (theme.value === "system" ? systemDark.value : theme.value === "dark"));

/** What a control shows: what the user turned it to, or what the text says. */
export function shown<T>(key: string, said: T): T {
  const edit = pending.value.findLast((one) => one.key === key && (one.do ?? "set") === "set");
  return edit === undefined ? said : (edit.value as T);
}
