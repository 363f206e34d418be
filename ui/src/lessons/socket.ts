// What one TCP socket reports over the time of a run: the values that `ss -tin` prints, and the controller's state.

import type { FigureData } from "../types";
import { SOCKET } from "./lessons";

type Row = Record<string, number>;

/** The first flow's values in its last sample up to a time. */
export function socketAt(data: FigureData, seconds: number): Row {
  const times = column(data, "time_s");
  let row = times.length - 1;
  while (row > 0 && (times[row] as number) > seconds) row--;
  return Object.fromEntries(
    entries().map(([name, metric, factor]) => [name, (column(data, metric)[row] ?? Number.NaN) * factor]),
  );
}

/** The medians of the first flow's values. */
export function medians(data: FigureData): Row {
  const median = (metric: string) => {
    const sorted = column(data, metric)
      .filter((value) => !Number.isNaN(value))
      .sort();
    return sorted[sorted.length >> 1] ?? Number.NaN;
  };
  return Object.fromEntries(entries().map(([name, metric, factor]) => [name, median(metric) * factor]));
}

function entries(): [name: string, metric: string, factor: number][] {
  return Object.entries(SOCKET).map(([name, { metric, factor = 1 }]) => [name, metric, factor]);
}

function column(data: FigureData, name: string): Float64Array {
  const span = data.samples?.[name];
  return span ? data.column(span) : new Float64Array();
}

/** The state of the first flow's controller at a time; empty if it has none. */
export function stateAt(data: FigureData, seconds: number): string {
  const flow = data.flows[0]?.name;
  for (const layer of data.panels.flatMap(({ layers }) => layers)) {
    if (layer.kind !== "bands" || layer.row !== flow) continue;
    const [starts, ends] = [data.column(layer.s), data.column(layer.e)];
    for (let i = 0; i < starts.length; i++)
      if ((starts[i] as number) <= seconds && seconds < (ends[i] as number)) return layer.phase;
  }
  return "";
}

/** The time in the middle of the state after (or before) the one at a time; null at the end. */
export function nextState(data: FigureData, seconds: number, direction: 1 | -1): number | null {
  const flow = data.flows[0]?.name;
  const middles = data.panels
    .flatMap(({ layers }) => layers)
    .flatMap((layer) => {
      if (layer.kind !== "bands" || layer.row !== flow) return [];
      const ends = data.column(layer.e);
      return [...data.column(layer.s)].map((start, i) => (start + (ends[i] as number)) / 2);
    })
    .sort((one, other) => one - other);
  const current = stateAt(data, seconds);
  const there = middles.filter((each) => (each - seconds) * direction > 0 && stateAt(data, each) !== current);
  return (direction > 0 ? there[0] : there.at(-1)) ?? null;
}

/** These values in the form of `ss -tin`. */
export function asSs(row: Row): string {
  const digits = (name: string, places: number) => {
    const value = row[name] ?? Number.NaN;
    return Number.isFinite(value) ? String(Number(value.toFixed(places))) : "?";
  };
  const bbr = [
    `bw:${digits("bw", 1)}Mbps`,
    `mrtt:${digits("minRtt", 3)}`,
    `pacing_gain:${digits("pacingGain", 5)}`,
    `cwnd_gain:${digits("cwndGain", 5)}`,
  ];
  return [
    `bbr rtt:${digits("rtt", 3)}/${digits("rttvar", 3)} cwnd:${digits("cwnd", 0)} bbr:(${bbr.join(",")})`,
    `pacing_rate ${digits("pacing", 1)}Mbps delivery_rate ${digits("delivery", 1)}Mbps unacked:${digits("unacked", 0)}`,
  ].join("\n");
}
