// One panel on the screen: a uPlot that takes new data while its series stay the same, and is made again otherwise.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Built, built, type Ink, range, type Share } from "./build";
import { drawBefore, drawBehind } from "./layers";

export interface Hooks {
  /** The time under the pointer; null when it leaves. */
  pointed(seconds: number | null): void;
  /** The part of the time that is shown; null: all of it. */
  zoomed(view: [number, number] | null): void;
  /** A click at a time. */
  picked(seconds: number): void;
}

const AXIS_WIDTH = 58;
const SYNC = "time";

export class Plot {
  private u: uPlot | null = null;
  private key = "";
  private shares: Share[] = [];
  private data: uPlot.AlignedData = [[]];
  private ink: Ink | null = null;
  private view: [number, number] | null = null;

  constructor(
    private readonly box: HTMLElement,
    private readonly hooks: Hooks,
  ) {}

  /** Show these runs; the first is the one on the screen. */
  show(shares: Share[], ink: Ink, last: boolean): void {
    const next = built(shares, ink);
    const panel = shares[0]?.panel;
    const key = `${next.key} ${panel?.rows} ${panel?.title} ${panel?.height} ${last}`;
    this.shares = shares;
    this.ink = ink;
    this.data = next.data;
    if (this.u && key === this.key) this.u.setData(next.data, true);
    else this.make(next, last);
    this.key = key;
  }

  /** Show this part of the time. */
  setView(view: [number, number] | null): void {
    if (String(view) === String(this.view)) return;
    this.view = view;
    this.u?.setData(this.data, true);
  }

  resize(): void {
    if (this.u && this.box.clientWidth) this.u.setSize({ width: this.box.clientWidth, height: this.u.height });
  }

  /** Where a time is, in CSS pixels from the left of the box; null outside of what is shown. */
  xOf(seconds: number): number | null {
    if (!this.u) return null;
    const left = this.u.valToPos(seconds, "x");
    return left < 0 || left > this.u.over.clientWidth ? null : left + this.u.over.offsetLeft;
  }

  /** What each line says at a time: the last sample before it. */
  read(seconds: number): { label: string; value: number; colour: string }[] {
    const u = this.u;
    if (!u) return [];
    const times = u.data[0];
    const at = Math.max(closest(times, seconds), 0);
    return u.series.slice(1).flatMap((series, i) => {
      const values = u.data[i + 1];
      let place = at;
      while (values && place > 0 && values[place] == null) place--;
      const value = values?.[place];
      const colour = typeof series.stroke === "function" ? String(series.stroke(u, i + 1)) : "";
      return series.show && value != null ? [{ label: String(series.label), value, colour }] : [];
    });
  }

  destroy(): void {
    this.u?.destroy();
    this.u = null;
  }

  private make(next: Built, last: boolean): void {
    this.u?.destroy();
    this.u = new uPlot(this.options(next, last), next.data, this.box);
  }

  private options(next: Built, last: boolean): uPlot.Options {
    const first = this.shares[0] as Share;
    const ink = this.ink as Ink;
    return {
      width: this.box.clientWidth || 600,
      height: first.panel.height + (last ? 42 : 14),
      series: next.series,
      legend: { show: false },
      padding: [5, 12, 0, 0],
      cursor: { sync: { key: SYNC, setSeries: false }, drag: { x: true, y: false }, points: { show: false }, y: false },
      scales: {
        x: { time: false, range: () => this.view ?? [0, this.shares[0]?.figureData.duration_s ?? 1] },
        y: {
          // Rows are counted from the top.
          dir: first.panel.rows.length ? -1 : 1,
          distr: first.panel.y.type === "log" ? 3 : 1,
          range: (_, least, most) => range((this.shares[0] as Share).panel, least, most),
        },
      },
      axes: [this.timeAxis(ink, last), this.valueAxis(ink)],
      hooks: {
        drawClear: [(u) => this.each((share, kernel) => drawBehind(u, share, kernel, ink.dark))],
        draw: [(u) => this.each((share) => drawBefore(u, share, ink.dark))],
        setCursor: [(u) => this.pointed(u)],
        setSelect: [(u) => this.selected(u)],
        init: [
          (u) => u.over.addEventListener("dblclick", () => this.hooks.zoomed(null)),
          (u) => u.over.addEventListener("click", () => this.picked(u)),
        ],
      },
    };
  }

  private each(draw: (share: Share, kernel: Share | undefined) => void): void {
    const [first] = this.shares;
    const kernel = this.shares.find((share) => share.dash);
    if (first) draw(first, kernel);
  }

  private pointed(u: uPlot): void {
    const { left, event } = u.cursor;
    if (!event?.isTrusted) return; // Another panel's pointer.
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

  private timeAxis(ink: Ink, last: boolean): uPlot.Axis {
    const plain = { stroke: ink.text, grid: { stroke: ink.grid, width: 1 }, ticks: { show: false } };
    if (!last) return { ...plain, size: 6, values: (_, splits) => splits.map(() => "") };
    return { ...plain, size: 18, label: "Time, s", labelSize: 16, labelGap: 0, font: FONT, labelFont: FONT, gap: 2 };
  }

  private valueAxis(ink: Ink): uPlot.Axis {
    const rows = this.shares[0]?.panel.rows ?? [];
    const plain = { stroke: ink.text, size: AXIS_WIDTH, font: FONT, ticks: { show: false }, gap: 4 };
    if (!rows.length) return { ...plain, grid: { stroke: ink.grid, width: 1 }, space: 26 };
    return {
      ...plain,
      grid: { show: false },
      splits: () => rows.map((_, place) => place + 0.5),
      values: () => rows.map((name) => (name.length > 10 ? `${name.slice(0, 9)}…` : name)),
    };
  }
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
