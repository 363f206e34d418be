// Values of an experiment's keys, as a text shows them and as numbers.

import { rateLabel, rateOf, short, timeLabel, timeOf } from "../units";

/** A rate, a time, a share, a buffer in BDP, or bytes in words; null for anything else. */
export function settingText(value: unknown): string | null {
  if (typeof value === "number") return bytesText(value);
  const [rate, time, percent] = [rateOf(value), timeOf(value), /^([\d.]+)\s*%$/.exec(String(value))];
  if (rate !== null) return joined(rateLabel(rate));
  if (time !== null) return joined(timeLabel(time));
  const bytes = /^([\d.]+)\s*([kMG]?i?B)$/.exec(String(value));
  if (bytes) return `${bytes[1]}\u00a0${bytes[2]}`;
  const products = /^([\d.]+)bdp$/.exec(String(value));
  if (products) return `${products[1]}\u00a0BDP`;
  return percent ? `${percent[1]}\u00a0%` : null;
}

/** A rate in bit/s or a time in ns; null for anything else. */
export function settingValue(value: unknown): number | null {
  return rateOf(value) ?? timeOf(value);
}

function bytesText(bytes: number): string {
  const units: [number, string][] = [
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
    [1e6, "MB"],
    [1e3, "kB"],
  ];
  const [size, unit] = units.find(([each]) => bytes >= each && bytes % each === 0) ?? [1, "B"];
  return `${short(bytes / size)}\u00a0${unit}`;
}

/** On one line. */
function joined(text: string): string {
  return text.replace(" ", "\u00a0");
}
