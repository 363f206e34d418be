// What lessons are made of: steps, stops of a control, numbers, predictions; and helpers that write them.

import type { Edit } from "../types";

export type Unit = "ms" | "s" | "Mbit/s" | "%" | "packets" | "flows" | "BDP" | "";

export interface Amount {
  value: number;
  unit: Unit;
}

export interface Stop {
  id: string;
  /** A name that is the same in every language, or an amount. */
  label: string | Amount;
  edits: Edit[];
}

/** A number of a run; messages show it as `{stop.number}`. */
export interface Measure {
  metric: string;
  unit: Unit;
  factor?: number;
}

/** The number of a stop; NaN if it is not known. */
export type Values = (stop: string, number: string) => number;

export interface Option {
  id: string;
  holds(of: Values): boolean;
}

interface Common {
  id: string;
  experiment: { name: string; case?: string; edits?: Edit[] };
  panels: string[];
  numbers: Record<string, Measure>;
  /** The limits of the predictions; messages show one as `{limit.name}`. */
  limits?: Record<string, Amount>;
  options: Option[];
}

/** The reader changes the experiment. */
export interface RunStep extends Common {
  control: "slider" | "list";
  stops: Stop[];
}

/** The reader moves through the time of one run, and finds a state of the first flow's controller. */
export interface TimeStep extends Common {
  control: "time";
  find: string;
}

export type Step = RunStep | TimeStep;

/** The run of a step through time. */
export const ONLY: Stop = { id: "run", label: "", edits: [] };

/** The settings that a step's control has. */
export function stopsOf(of: Step): Stop[] {
  return of.control === "time" ? [ONLY] : of.stops;
}

export interface Lesson {
  id: string;
  steps: Step[];
}

export const set = (key: string, value: string | number): Edit => ({ key, value });
export const qdisc = (text: string) => [set("path.bottleneck.qdisc", text)];
export const amount = (value: number, unit: Unit): Amount => ({ value, unit });

export const RTT_95 = (group: string): Measure => ({ metric: `groups.${group}.rtt_ms.p95`, unit: "ms" });
export const RATE = (group: string): Measure => ({ metric: `groups.${group}.throughput_mbps`, unit: "Mbit/s" });
export const SHARE = (group: string): Measure => ({ metric: `groups.${group}.share`, unit: "%", factor: 100 });
export const TIME = (group: string): Measure => ({ metric: `groups.${group}.fct_s`, unit: "s" });
export const RETRANSMITTED = (group: string): Measure => ({
  metric: `groups.${group}.retransmit_rate`,
  unit: "%",
  factor: 100,
});
export const DELAY: Measure = { metric: "queue.delay_ms.mean", unit: "ms" };

/** The option whose stop has the least number. */
export function least(stops: string[], number: string): Option[] {
  return stops.map((id) => ({
    id,
    holds: (of) => stops.every((other) => other === id || of(id, number) < of(other, number)),
  }));
}

/** The option whose stop has the largest number. */
export function most(stops: string[], number: string): Option[] {
  return stops.map((id) => ({
    id,
    holds: (of) => stops.every((other) => other === id || of(id, number) > of(other, number)),
  }));
}

export const UTILIZATION: Measure = { metric: "utilization", unit: "%", factor: 100 };
export const DROPS: Measure = { metric: "queue.drops", unit: "packets" };

/** A stop with a queue of so many bandwidth-delay products. */
export const buffer = (kind: string, bdp: number): Stop => ({
  id: `b${bdp}`.replace(".", "_"),
  label: amount(bdp, "BDP"),
  edits: qdisc(`${kind} limit ${bdp}bdp`),
});

/** A stop with a queue discipline as tc writes it. */
export const queue = (id: string, label: string, text: string): Stop => ({ id, label, edits: qdisc(text) });

/** The built-in dumbbell with only its CUBIC flow. */
export const ONE_CUBIC = {
  name: "dumbbell",
  edits: [{ do: "remove" as const, key: "flows.0" }, set("duration", "15s")],
};
