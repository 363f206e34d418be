// One panel: a uPlot instance that gets new data while its series stay the same, and is replaced otherwise.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Band } from "../compare/bands";
import { buildPlot, type Palette, type PlotInput, type RunPanel, range } from "./build";
import { drawBand, drawBehind, drawInFront } from "./layers";

export interface Hooks {
  /** The time under the pointer; null when it leaves. */
  pointed(seconds: number | null): void;
  /** The shown range of times; null: all. */
  zoomed(view: [number, number] | null): void;
  /** A click at a time. */
  picked(seconds: number): void;
}

/** From the left of a plot to its first time, and from its last one to the right. */
export const AXIS_LEFT = 58;
export const AXIS_RIGHT = 12;
const SYNC = "time";
const UNFOCUSED = 0.18;

export class Plot {
  private u: uPlot | null = null;
  private key = "";
  private runPanels: RunPanel[] = [];
  private bands: Band[] = [];
  private data: uPlot.AlignedData = [[]];
  private palette: Palette | null = null;
  private view: [number, number] | null = null;
  private alphas: number[] = [];
  private focused = false;

  constructor(
    private readonly box: HTMLElement,
    private readonly hooks: Hooks,
    private readonly timeLabel = "Time, s",
  ) {}

  /** Draw these runs; the first is the shown run. `bands`: its ranges over several seeds. */
  show(runPanels: RunPanel[], palette: Palette, last: boolean, bands: Band[] = []): void {
    const next = buildPlot(runPanels, palette);
    const panel = runPanels[0]?.panel;
    const key = `${next.key} ${panel?.rows} ${panel?.title} ${panel?.height} ${last}`;
    this.runPanels = runPanels;
    this.bands = bands;
    this.palette = palette;
    this.data = next.data;
    if (this.u && key === this.key) this.u.setData(next.data, true);
    else this.make(next, last);
    this.key = key;
  }

  /** Show this range of times. */
  setView(view: [number, number] | null): void {
    if (String(view) === String(this.view)) return;
    this.view = view;
    this.u?.setData(this.data, true);
  }

  resize(): void {
    if (this.u && this.box.clientWidth) this.u.setSize({ width: this.box.clientWidth, height: this.u.height });
  }

  /** The position of a time, in CSS pixels from the left of the box; null outside of the shown range. */
  xOf(seconds: number): number | null {
    if (!this.u) return null;
    const left = this.u.valToPos(seconds, "x");
    return left < 0 || left > this.u.over.clientWidth ? null : left + this.u.over.offsetLeft;
  }

  /** The position of a point, in CSS pixels from the left and the top of the box; null outside of the figure. */
  positionOf(seconds: number, value: number): [number, number] | null {
    const left = this.xOf(seconds);
    if (!this.u || left === null) return null;
    return [left, this.u.valToPos(value, "y") + this.u.over.offsetTop];
  }

  /** The value of each line at a time: its last sample up to then. */
  read(seconds: number): { label: string; value: number; colour: string }[] {
    const u = this.u;
    if (!u) return [];
    const times = u.data[0];
    const at = Math.max(closest(times, seconds), 0);
    return u.series.slice(1).flatMap((series, i) => {
      if (this.alphas[i] === 0) return [];
      const values = u.data[i + 1];
      let index = at;
      while (values && index > 0 && values[index] == null) index--;
      const value = values?.[index];
      const colour = typeof series.stroke === "function" ? String(series.stroke(u, i + 1)) : "";
      return series.show && value != null ? [{ label: String(series.label), value, colour }] : [];
    });
  }

  /** Show the lines of a flow (or of its group) in full, the others pale; null: all in full. */
  focus(name: string | null): void {
    const u = this.u;
    if (!u) return;
    const index = name === null ? -1 : u.series.findIndex((series) => series.label === name);
    for (let i = 1; i < u.series.length; i++) {
      const series = u.series[i] as uPlot.Series;
      const full = this.alphas[i - 1] ?? 1;
      series.alpha = index < 0 || i === index ? full : full * UNFOCUSED;
    }
    if (index >= 0 || this.focused) u.redraw(false);
    this.focused = index >= 0;
  }

  destroy(): void {
    this.u?.destroy();
    this.u = null;
  }

  private make(next: PlotInput, last: boolean): void {
    this.u?.destroy();
    this.alphas = next.series.slice(1).map(({ alpha }) => alpha ?? 1);
    this.u = new uPlot(this.options(next, last), next.data, this.box);
  }

  private options(next: PlotInput, last: boolean): uPlot.Options {
    const first = this.runPanels[0] as RunPanel;
    const palette = this.palette as Palette;
    return {
      width: this.box.clientWidth || 600,
      height: first.panel.height + (last ? 42 : 14),
      series: next.series,
      legend: { show: false },
      padding: [5, AXIS_RIGHT, 0, 0],
      cursor: { sync: { key: SYNC, setSeries: false }, drag: { x: true, y: false }, points: { show: false }, y: false },
      scales: {
        x: { time: false, range: () => this.view ?? [0, this.runPanels[0]?.figureData.duration_s ?? 1] },
        y: {
          // Rows are counted from the top.
          dir: first.panel.rows.length ? -1 : 1,
          range: (_, least, most) => range((this.runPanels[0] as RunPanel).panel, least, most),
        },
      },
      axes: [this.timeAxis(palette, last), this.valueAxis(palette)],
      hooks: {
        drawClear: [
          (u) => {
            for (const band of this.bands) if (!palette.hidden.has(band.line)) drawBand(u, band, palette.dark);
          },
          (u) => this.each((runPanel, kernel) => drawBehind(u, runPanel, kernel, palette.dark)),
        ],
        draw: [(u) => this.each((runPanel) => drawInFront(u, runPanel, palette.dark))],
        setCursor: [(u) => this.pointed(u)],
        setSelect: [(u) => this.selected(u)],
        init: [
          (u) => u.over.addEventListener("dblclick", () => this.hooks.zoomed(null)),
          (u) => u.over.addEventListener("click", () => this.picked(u)),
        ],
      },
    };
  }

  private each(draw: (runPanel: RunPanel, kernel: RunPanel | undefined) => void): void {
    const [first] = this.runPanels;
    const kernel = this.runPanels.find((runPanel) => runPanel.dash);
    if (first) draw(first, kernel);
  }

  private pointed(u: uPlot): void {
    const { left, event } = u.cursor;
    if (!event?.isTrusted) return; // uPlot forwards other panels' pointers.
    this.hooks.pointed(left == null || left < 0 ? null : u.posToVal(left, "x"));
  }

  private picked(u: uPlot): void {
    const { left } = u.cursor;
    if (left != null && left >= 0) this.hooks.picked(u.posToVal(left, "x"));
  }

  private selected(u: uPlot): void {
    if (u.select.width < 4) return;
    const from = u.posToVal(u.select.left, "x");
    const to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.hooks.zoomed([from, to]);
  }

  private timeAxis(palette: Palette, last: boolean): uPlot.Axis {
    const plain = { stroke: palette.text, grid: { stroke: palette.grid, width: 1 }, ticks: { show: false } };
    if (!last) return { ...plain, size: 6, values: (_, splits) => splits.map(() => "") };
    return {
      ...plain,
      size: 18,
      label: this.timeLabel,
      labelSize: 16,
      labelGap: 0,
      font: FONT,
      labelFont: FONT,
      gap: 2,
    };
  }

  private valueAxis(palette: Palette): uPlot.Axis {
    const rows = this.runPanels[0]?.panel.rows ?? [];
    const plain = { stroke: palette.text, size: AXIS_LEFT, font: FONT, ticks: { show: false }, gap: 4 };
    if (!rows.length)
      return {
        ...plain,
        grid: { stroke: palette.grid, width: 1 },
        space: 26,
        values: (_, splits) => splits.map((value) => (value === null ? "" : axisText(value, splits))),
      };
    return {
      ...plain,
      grid: { show: false },
      splits: () => rows.map((_, index) => index + 0.5),
      values: () => rows.map((name) => (name.length > 10 ? `${name.slice(0, 9)}…` : name)),
    };
  }
}

/** A value with as many decimals as its neighbours need to differ. */
function axisText(value: number, splits: (number | null)[]): string {
  const known = splits.filter((each) => each !== null);
  const step = Math.abs((known[1] ?? value + 1) - (known[0] ?? value)) || 1;
  // 0.25 needs two decimals, though its decade has one.
  let decimals = 0;
  while (decimals < 9 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals++;
  return Math.abs(value) >= 1e5 ? value.toExponential(0).replace("+", "") : value.toFixed(decimals);
}

const FONT = "11px system-ui, sans-serif";

function closest(times: ArrayLike<number>, seconds: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) <= seconds) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
