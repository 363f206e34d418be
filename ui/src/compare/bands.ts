// The range of a line over several seeds: per part of the time the least and the largest mean of a run. Pure functions.

import type { FigureData, Line } from "../types";

export interface Band {
  line: string;
  colour: string;
  dark: string;
  /** The middle of each part, in seconds. */
  times: number[];
  /** NaN where a run has no value. */
  low: number[];
  high: number[];
}

const PARTS = 60;

/** A band for each line of a panel's flows (and queues) that all runs have. */
export function bandsOf(runs: readonly FigureData[], panel: string, end_s: number): Band[] {
  const [first, ...others] = runs.map((run) => linesOf(run, panel));
  if (!first || !others.length) return [];
  return [...first].flatMap(([name, { line, run }]) => {
    const same = others.map((lines) => lines.get(name));
    if (same.some((each) => each === undefined)) return [];
    const all = [{ line, run }, ...same.filter((each) => each !== undefined)];
    const means = all.map((each) => partMeans(each.line, each.run, end_s));
    const over = (pick: (...values: number[]) => number) =>
      Array.from({ length: PARTS }, (_, part) => pick(...means.map((values) => values[part] as number)));
    const times = Array.from({ length: PARTS }, (_, part) => ((part + 0.5) * end_s) / PARTS);
    return [{ line: name, colour: line.colour, dark: line.dark, times, low: over(Math.min), high: over(Math.max) }];
  });
}

function linesOf(run: FigureData, panel: string): Map<string, { line: Line; run: FigureData }> {
  const layers = run.panels.find(({ name }) => name === panel)?.layers ?? [];
  const lines = layers.flatMap((layer) => (layer.kind === "lines" && layer.of !== "none" ? layer.lines : []));
  return new Map(lines.map((line) => [line.name, { line, run }]));
}

/** The mean of each part of the time; of a part without a sample the value between its neighbours. */
function partMeans({ s, v }: Line, { column }: FigureData, end_s: number): number[] {
  const [times, values] = [column(s), column(v)];
  const [sums, counts] = [new Float64Array(PARTS), new Float64Array(PARTS)];
  for (let i = 0; i < times.length; i++) {
    const part = Math.min(Math.floor(((times[i] as number) / end_s) * PARTS), PARTS - 1);
    if (part < 0 || Number.isNaN(values[i])) continue;
    sums[part] = (sums[part] as number) + (values[i] as number);
    counts[part] = (counts[part] as number) + 1;
  }
  const means = Array.from(sums, (sum, part) => (counts[part] ? sum / (counts[part] as number) : Number.NaN));
  return means.map((mean, part) => (Number.isNaN(mean) ? between(means, part) : mean));
}

function between(means: readonly number[], part: number): number {
  const before = means.findLastIndex((mean, i) => i < part && !Number.isNaN(mean));
  const after = means.findIndex((mean, i) => i > part && !Number.isNaN(mean));
  if (before < 0 || after < 0) return Number.NaN;
  const share = (part - before) / (after - before);
  return (means[before] as number) * (1 - share) + (means[after] as number) * share;
}
