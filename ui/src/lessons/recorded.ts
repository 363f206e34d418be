// The first experiment of each lesson on the real Linux kernel: recorded by `make page NAME=lessons`, shipped with the page.

import { signal } from "@preact/signals";
import { checked, parseResponse, request } from "../protocol";
import type { Drawn, FigureData } from "../types";

interface About {
  step: string;
  stop: string;
  /** The version of Linux. */
  kernel: string;
}

export type Recorded = About & FigureData;

const ADDRESSES = import.meta.glob<string>("./recorded/*.bin", { query: "?url", import: "default", eager: true });

/** Whether the figures show it. */
export const shown = signal(false);
const loaded = signal<ReadonlyMap<string, Recorded>>(new Map());

/** Fetch a lesson's recording, once. */
export async function load(lesson: string): Promise<void> {
  const address = ADDRESSES[`./recorded/${lesson}.bin`];
  if (!address || loaded.value.has(lesson)) return;
  const { header, column } = parseResponse<About & Drawn>(await (await checked(await request(address))).arrayBuffer());
  loaded.value = new Map(loaded.value).set(lesson, { ...header, column });
}

/** The recording of a step at this stop of its control; null: there is none, or it is not here yet. */
export function recordedOf(lesson: string, step: string, stop: string): Recorded | null {
  const found = loaded.value.get(lesson);
  return found && found.step === step && found.stop === stop ? found : null;
}
