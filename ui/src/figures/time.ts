// The extent of a run in time, and the marks of an axis. Pure functions.

import type { FigureData } from "../types";

/** A run whose flows end before this part of its duration fills the axis. */
const EARLY = 0.9;
const RATES = new Set(["delivered", "throughput"]);
const MARGIN = 1.04;

/** The end of the last flow's data, if all flows end early; the duration otherwise. */
export function extentOf({ panels, duration_s, column }: FigureData): number {
  let end = 0;
  for (const { name, layers } of panels)
    for (const layer of layers) {
      if (layer.kind !== "lines" || layer.of !== "flows") continue;
      for (const { s, v } of layer.lines) {
        const [times, values] = [column(s), column(v)];
        // A rate of zero after the end of a flow is no data.
        const last = RATES.has(name) ? values.findLastIndex((value) => value > 0) + 1 : values.length - 1;
        end = Math.max(end, times[Math.min(last, times.length - 1)] ?? 0);
      }
    }
  return end > 0 && end < EARLY * duration_s ? end * MARGIN : duration_s;
}

/** Round times in a range, about so many, and how many decimals they need. */
export function marks([from, to]: [number, number], about: number): { times: number[]; decimals: number } {
  const raw = (to - from) / Math.max(about, 1);
  const decade = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * decade >= raw) ?? 10) * decade;
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const times: number[] = [];
  for (let index = Math.ceil(from / step - 1e-9) || 0; index * step <= to + step * 1e-9; index++)
    times.push(index * step);
  return { times, decimals };
}
