// Converts a panel for uPlot: its series, and their data on one time axis.

import uPlot from "uplot";
import type { FigureData, Layer, Line, Panel } from "../types";

export interface Palette {
  dark: boolean;
  text: string;
  grid: string;
  hidden: ReadonlySet<string>;
}

/** A panel of one run: the shown run, the kernel's, or a pinned one. */
export interface RunPanel {
  panel: Panel;
  figureData: FigureData;
  /** A prefix for the names of a pinned run's lines. */
  label: string | null;
  /** Dashes for all its lines, which are then drawn with their full width and opacity, unlike a pinned run's. */
  dash?: number[];
  /** Not drawn, but the axis has room for it: the other one of two figures side by side. */
  unseen?: boolean;
}

export interface PlotInput {
  /** Equal keys have the same series, so only the data must be replaced. */
  key: string;
  series: uPlot.Series[];
  data: uPlot.AlignedData;
}

const PINNED_ALPHA = 0.45;

export function buildPlot(runPanels: RunPanel[], palette: Palette): PlotInput {
  const series: uPlot.Series[] = [{ label: "Time, s" }];
  const tables: uPlot.AlignedData[] = [];
  const keys: string[] = [];
  for (const runPanel of runPanels) {
    for (const layer of runPanel.panel.layers) {
      if (layer.kind !== "lines") continue;
      for (const line of layer.lines) {
        const label = runPanel.label === null ? line.name : `${runPanel.label}: ${line.name}`;
        const show = !palette.hidden.has(line.name);
        series.push(oneSeries(label, line, layer, runPanel, palette, show));
        tables.push([times(runPanel.figureData.column(line.s), layer.curve), runPanel.figureData.column(line.v)]);
        keys.push(`${label} ${line.colour} ${line.dash} ${layer.curve} ${show}`);
      }
    }
  }
  if (tables.length === 0) {
    series.push({ label: "", show: false });
    tables.push([[0], [null]]);
  }
  return { key: `${palette.dark} ${keys.join("|")}`, series, data: joined(tables) };
}

function oneSeries(
  label: string,
  line: Line,
  layer: Extract<Layer, { kind: "lines" }>,
  runPanel: RunPanel,
  palette: Palette,
  show: boolean,
): uPlot.Series {
  const stepped = layer.curve !== "linear" && uPlot.paths.stepped;
  return {
    label,
    show,
    stroke: palette.dark ? line.dark : line.colour,
    width: runPanel.label === null || runPanel.dash ? layer.width : 1,
    alpha: runPanel.unseen ? 0 : runPanel.label === null || runPanel.dash ? layer.opacity : PINNED_ALPHA,
    dash: runPanel.dash ?? (line.dash.length > 1 && line.dash[1] ? line.dash : []),
    points: { show: false },
    spanGaps: true,
    ...(stepped ? { paths: stepped({ align: 1 }) } : {}),
  };
}

/** A bin's time is its middle: its step begins half a bin earlier. */
function times(middles: Float64Array, curve: string): Float64Array {
  const [first, second] = middles;
  if (curve !== "step" || first === undefined || second === undefined) return middles;
  const half = (second - first) / 2;
  return middles.map((time) => time - half);
}

/** Join all lines on one time axis. Lines of one run often have the same times and need no join. */
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

/** The range of a panel's values: its domain, or from zero to the maximum. */
export function range(panel: Panel, minimum: number | null, maximum: number | null): [number, number] {
  if (panel.rows.length) return [0, panel.rows.length];
  if (panel.y.domain) return panel.y.domain;
  const lowest = Math.min(0, minimum ?? 0);
  // Without a value above the lowest an axis would have the same number at each mark.
  if ((maximum ?? lowest) <= lowest) return [lowest, lowest + 1];
  return uPlot.rangeNum(lowest, Math.max(maximum ?? 1, lowest + 1e-9), 0.06, true) as [number, number];
}
