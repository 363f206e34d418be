// Draws a panel's rules, ticks, bands and points on uPlot's canvas; uPlot draws the lines.

import type uPlot from "uplot";
import type { Band } from "../compare/bands";
import type { Layer } from "../types";
import type { RunPanel } from "./build";

const ROW_GAP = 0.12;
const BAND_ALPHA = 0.22;

/** Draw behind the lines: bands of the controllers' states, the kernel's below the simulator's in each row. */
export function drawBehind(u: uPlot, first: RunPanel, kernel: RunPanel | undefined, dark: boolean): void {
  const both = kernel?.panel.layers.some((layer) => layer.kind === "bands");
  for (const runPanel of both && kernel ? [first, kernel] : [first]) {
    const span: [number, number] = both ? (runPanel === first ? [0, 0.5] : [0.5, 1]) : [0, 1];
    for (const layer of runPanel.panel.layers)
      if (layer.kind === "bands") drawBands(u, runPanel, first.panel.rows.indexOf(layer.row), span, layer, dark);
  }
}

/** Draw the range of a line over several seeds. */
export function drawBand(u: uPlot, { times, low, high, colour, dark }: Band, isDark: boolean): void {
  clipped(u, (canvas) => {
    canvas.fillStyle = isDark ? dark : colour;
    canvas.globalAlpha = BAND_ALPHA;
    canvas.beginPath();
    const known = times.flatMap((time, i) =>
      Number.isNaN(low[i]) ? [] : [[time, low[i], high[i]] as [number, number, number]],
    );
    for (const [time, , top] of known) canvas.lineTo(u.valToPos(time, "x", true), u.valToPos(top, "y", true));
    for (const [time, bottom] of known.toReversed())
      canvas.lineTo(u.valToPos(time, "x", true), u.valToPos(bottom, "y", true));
    canvas.fill();
    canvas.globalAlpha = 1;
  });
}

/** Draw in front of the lines. */
export function drawInFront(u: uPlot, runPanel: RunPanel, dark: boolean): void {
  for (const layer of runPanel.panel.layers) {
    if (layer.kind === "rule") drawRule(u, layer, dark);
    else if (layer.kind === "ticks") drawTicks(u, runPanel, layer, dark);
    else if (layer.kind === "points") drawPoints(u, runPanel, layer, dark);
  }
}

function clipped(u: uPlot, draw: (canvas: CanvasRenderingContext2D) => void): void {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
  draw(u.ctx);
  u.ctx.restore();
}

function drawBands(
  u: uPlot,
  runPanel: RunPanel,
  row: number,
  [above, below]: [number, number],
  layer: Extract<Layer, { kind: "bands" }>,
  dark: boolean,
): void {
  if (row < 0) return;
  const starts = runPanel.figureData.column(layer.s);
  const ends = runPanel.figureData.column(layer.e);
  const inner = 1 - 2 * ROW_GAP;
  const top = u.valToPos(row + ROW_GAP + above * inner, "y", true);
  const height = u.valToPos(row + ROW_GAP + below * inner, "y", true) - top;
  clipped(u, (canvas) => {
    canvas.fillStyle = dark ? layer.dark : layer.colour;
    for (let i = 0; i < starts.length; i++) {
      const left = u.valToPos(starts[i] as number, "x", true);
      const right = u.valToPos(ends[i] as number, "x", true);
      canvas.fillRect(left, top, Math.max(right - left, 1), height);
    }
  });
}

function drawRule(u: uPlot, layer: Extract<Layer, { kind: "rule" }>, dark: boolean): void {
  const y = u.valToPos(layer.v, "y", true);
  clipped(u, (canvas) => {
    canvas.strokeStyle = dark ? layer.dark : layer.colour;
    canvas.lineWidth = devicePixelRatio;
    canvas.setLineDash(layer.dash.map((length) => length * devicePixelRatio));
    canvas.beginPath();
    canvas.moveTo(u.bbox.left, y);
    canvas.lineTo(u.bbox.left + u.bbox.width, y);
    canvas.stroke();
  });
}

function drawTicks(u: uPlot, runPanel: RunPanel, layer: Extract<Layer, { kind: "ticks" }>, dark: boolean): void {
  const ratio = devicePixelRatio;
  const row = layer.row === undefined ? -1 : runPanel.panel.rows.indexOf(layer.row);
  const middle = row < 0 ? u.bbox.top + (layer.top ?? 4) * ratio : u.valToPos(row + 0.5, "y", true);
  const half = (row < 0 ? 3.5 : 5.5) * ratio;
  clipped(u, (canvas) => {
    canvas.strokeStyle = dark ? layer.dark : layer.colour;
    canvas.lineWidth = ratio;
    canvas.beginPath();
    for (const time of runPanel.figureData.column(layer.s)) {
      const x = u.valToPos(time, "x", true);
      canvas.moveTo(x, middle - half);
      canvas.lineTo(x, middle + half);
    }
    canvas.stroke();
  });
}

function drawPoints(u: uPlot, runPanel: RunPanel, layer: Extract<Layer, { kind: "points" }>, dark: boolean): void {
  const radius = Math.sqrt(layer.size / Math.PI) * devicePixelRatio;
  const times = runPanel.figureData.column(layer.s);
  const values = runPanel.figureData.column(layer.v);
  clipped(u, (canvas) => {
    canvas.fillStyle = dark ? layer.dark : layer.colour;
    for (let i = 0; i < times.length; i++) {
      canvas.beginPath();
      canvas.arc(u.valToPos(times[i] as number, "x", true), u.valToPos(values[i] as number, "y", true), radius, 0, 7);
      canvas.fill();
    }
  });
}
