// Colours and dashes of flows as `python/dumbbell/plots/colours.py` computes them; its palette comes with the start of
// the page.

import type { PaletteFacts } from "../types";
import type { FlowDescription } from "./simulator";

const DASHES = [
  [1, 0],
  [6, 2],
  [2, 2],
  [9, 3, 2, 3],
  [12, 4],
  [4, 3],
  [1, 3],
  [9, 2, 2, 2, 2, 2],
];
const WHITE = "#FFFFFF";
/** Contrast with white of the first and of the last flow of a hue. */
const [DARKEST, LIGHTEST] = [8, 3.05];
const LUMINANCE = [0.2126, 0.7152, 0.0722];

export interface Coloured {
  colour: string;
  dark: string;
}

export class Colours {
  private readonly known = new Map<string, string>();

  constructor(readonly palette: PaletteFacts) {}

  /** A colour for each flow, in order. */
  shades(flows: readonly FlowDescription[]): Map<string, string> {
    const taken = new Set(flows.flatMap(({ cc }) => (cc ? [this.hue(cc)] : [])));
    const unused = this.palette.hues.filter((hue) => !taken.has(hue));
    const free = unused.length ? unused : this.palette.hues;
    const nameless = [...new Set(flows.filter(({ cc }) => !cc).map(({ group }) => group))];
    const hueOf = ({ cc, group }: FlowDescription) =>
      cc ? this.hue(cc) : (free[nameless.indexOf(group) % free.length] as string);
    const members = Map.groupBy(flows, hueOf);
    const shade = (flow: FlowDescription) => {
      const hue = hueOf(flow);
      const all = members.get(hue) ?? [];
      if (all.length < 2) return hue;
      return withContrast(hue, DARKEST * (LIGHTEST / DARKEST) ** (all.indexOf(flow) / (all.length - 1)), WHITE);
    };
    return new Map(flows.map((flow) => [flow.name, shade(flow)]));
  }

  /** The colour with its counterpart on a dark page. */
  both(colour: string): Coloured {
    const { hues, on_dark, dark_ground } = this.palette;
    let dark = on_dark[hues.indexOf(colour)] ?? this.known.get(colour);
    dark ??= withContrast(brightest(colour), contrast(colour, WHITE), dark_ground);
    this.known.set(colour, dark);
    return { colour, dark };
  }

  private hue(cc: string): string {
    return this.palette.controllers[cc] ?? (this.palette.hues.at(-1) as string);
  }
}

export function dash(index: number): number[] {
  return DASHES[index % DASHES.length] as number[];
}

function withContrast(colour: string, ratio: number, ground: string): string {
  const away = ground === WHITE ? 0 : 255;
  const low = contrast(colour, ground) < ratio;
  const target = low ? away : 255 - away;
  let [least, most] = [0, 1];
  for (let i = 0; i < 20; i++) {
    const middle = (least + most) / 2;
    if (contrast(mixed(colour, middle, target), ground) < ratio === low) least = middle;
    else most = middle;
  }
  return mixed(colour, low ? most : least, target);
}

function contrast(colour: string, ground: string): number {
  const [one, other] = [luminance(colour), luminance(ground)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

function luminance(colour: string): number {
  const linear = (part: number) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  return parts(colour).reduce((sum, part, index) => sum + (LUMINANCE[index] as number) * linear(part), 0);
}

function brightest(colour: string): string {
  const all = parts(colour);
  return hex(all.map((part) => (part * 255) / Math.max(...all, 1)));
}

function mixed(colour: string, share: number, target: number): string {
  return hex(parts(colour).map((part) => part + (target - part) * share));
}

function parts(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

function hex(channels: number[]): string {
  return `#${channels.map((part) => even(part).toString(16).toUpperCase().padStart(2, "0")).join("")}`;
}

/** Round half to even, as Python does. */
function even(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 ? below + 1 : below;
}
