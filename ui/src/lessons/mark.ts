// The point of a figure that a lesson's text speaks of: where the queue is longest, the window falls, the rate is lowest.

import type { FigureData, Panel } from "../types";

/** The start of a run, and its last bin, are not marked. */
const START = 0.2;
const LARGEST = new Set(["queue", "rtt", "inflight", "retransmits"]);
const LEAST = new Set(["delivered", "throughput", "groups"]);

/** Time and value of the point in the panel's first line; null without one. */
export function markOf(name: string, panel: Panel, { column, duration_s }: FigureData): [number, number] | null {
  const line = panel.layers.flatMap((layer) => (layer.kind === "lines" && layer.of !== "none" ? layer.lines : []))[0];
  if (!line) return null;
  const [times, values] = [column(line.s), column(line.v)];
  let best = -1;
  let found = Number.NEGATIVE_INFINITY;
  for (let i = 1; i < values.length - 1; i++) {
    const value = values[i] as number;
    if ((times[i] as number) < START * duration_s) continue;
    const weight = LARGEST.has(name) ? value : LEAST.has(name) ? -value : (values[i - 1] as number) - value;
    if (weight > found) [best, found] = [i, weight];
  }
  return best < 0 ? null : [times[best] as number, values[best] as number];
}
