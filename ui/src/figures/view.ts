// What the figures show: the whole run, or a chosen part of its time.

import { computed, signal } from "@preact/signals";
import { figureData } from "../state";
import { extentOf } from "./time";

/** The chosen part; null: the whole run. */
export const view = signal<[number, number] | null>(null);
/** Up to where a run has something to show. */
export const extent = computed(() => (figureData.value ? extentOf(figureData.value) : 1));
/** What the figures show. */
export const range = computed<[number, number]>(() => {
  const end = extent.value;
  const [from, to] = view.value ?? [0, end];
  return from < end ? [from, Math.min(to, end)] : [0, end];
});

/** Choose a part; one that is nearly the whole run is the whole run. */
export function choose(from: number, to: number): void {
  const end = extent.value;
  const least = end / 1000;
  const [low, high] = [Math.max(Math.min(from, to - least), 0), Math.min(Math.max(to, from + least), end)];
  view.value = low <= end / 500 && high >= end * (1 - 1 / 500) ? null : [low, high];
}
