// A panel as uPlot takes it: its series, their data on one axis of time, and the layers that are drawn by hand.

import uPlot from "uplot";
import type { FigureData, Layer, Line, Panel } from "../types";

export interface Ink {
  dark: boolean;
  text: string;
  grid: string;
  hidden: ReadonlySet<string>;
}

/** One run's share of a panel: the run on the screen, or a pinned one behind it. */
export interface Share {
  panel: Panel;
  figureData: FigureData;
  /** Of a pinned run: what its lines are called after. */
  label: string | null;
  /** How all its lines are drawn, where it isn't as a pinned run's: fully, and with these strokes. */
  dash?: number[];
}

export interface Built {
  /** Equal keys have the same series: new data is enough. */
  key: string;
  series: uPlot.Series[];
  data: uPlot.AlignedData;
}

const PINNED_ALPHA = 0.45;

export function built(shares: Share[], ink: Ink): Built {
  const series: uPlot.Series[] = [{ label: "Time, s" }];
  const tables: uPlot.AlignedData[] = [];
  const keys: string[] = [];
  for (const share of shares) {
    for (const layer of share.panel.layers) {
      if (layer.kind !== "lines") continue;
      for (const line of layer.lines) {
        const named = share.label === null ? line.name : `${share.label}: ${line.name}`;
        const show = !ink.hidden.has(line.name);
        series.push(oneSeries(named, line, layer, share, ink, show));
        tables.push([times(share.figureData.column(line.s), layer.curve), share.figureData.column(line.v)]);
        keys.push(`${named} ${line.colour} ${line.dash} ${layer.curve} ${show}`);
      }
    }
  }
  if (tables.length === 0) {
    series.push({ label: "", show: false });
    tables.push([[0], [null]]);
  }
  return { key: `${ink.dark} ${keys.join("|")}`, series, data: joined(tables) };
}

function oneSeries(
  label: string,
  line: Line,
  layer: Extract<Layer, { kind: "lines" }>,
  share: Share,
  ink: Ink,
  show: boolean,
): uPlot.Series {
  const stepped = layer.curve !== "linear" && uPlot.paths.stepped;
  return {
    label,
    show,
    stroke: ink.dark ? line.dark : line.colour,
    width: share.label === null || share.dash ? layer.width : 1,
    alpha: share.label === null || share.dash ? layer.opacity : PINNED_ALPHA,
    dash: share.dash ?? (line.dash.length > 1 && line.dash[1] ? line.dash : []),
    points: { show: false },
    spanGaps: true,
    ...(stepped ? { paths: stepped({ align: 1 }) } : {}),
  };
}

/** A bin's number stands at its middle: a step begins half a bin earlier. */
function times(middles: Float64Array, curve: string): Float64Array {
  const [first, second] = middles;
  if (curve !== "step" || first === undefined || second === undefined) return middles;
  const half = (second - first) / 2;
  return middles.map((time) => time - half);
}

/** All lines on one axis of time; lines of one run often share theirs, and need no joining. */
function joined(tables: uPlot.AlignedData[]): uPlot.AlignedData {
  const [first] = tables;
  if (!first || tables.length === 1) return first ?? [[]];
  const same = tables.every((table) => equal(table[0] as Float64Array, first[0] as Float64Array));
  if (same) return [first[0], ...tables.map((table) => table[1])] as uPlot.AlignedData;
  return uPlot.join(tables);
}

function equal(one: ArrayLike<number>, other: ArrayLike<number>): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}

/** The range of a panel's values: as it says, or from zero (or from the least) to the largest. */
export function range(panel: Panel, least: number | null, most: number | null): [number, number] {
  if (panel.rows.length) return [0, panel.rows.length];
  if (panel.y.domain) return panel.y.domain;
  if (panel.y.type === "log")
    return uPlot.rangeLog(Math.max(least ?? 1, 1e-6), most ?? 10, 10, false) as [number, number];
  const lowest = panel.y.zero ? Math.min(0, least ?? 0) : (least ?? 0);
  return uPlot.rangeNum(lowest, Math.max(most ?? 1, lowest + 1e-9), 0.06, true) as [number, number];
}
