// Judges a run's numbers by a step's expectations, and returns the text for the user. Pure functions.

import { filled as filledText, text as say } from "../messages/messages";
import type { Controls } from "../types";
import { short } from "../units";
import { type Numbers, outcome } from "./expectation";
import type { ControlSpec, Expected, Step } from "./steps";

export interface Verdict {
  kind: "found" | "warmer" | "colder" | "no" | "elsewhere";
  text: string;
  /** The distance of the numbers to the answer; 0: found. */
  miss: number;
}

/** `before`: the distance of the last figure; null without one. */
export function judge(step: Step, numbers: Numbers, before: number | null): Verdict {
  const outcomes = step.expect.map((expected) => ({ expected, ...outcome(expected.test, numbers) }));
  const miss = outcomes.reduce((sum, one) => sum + one.miss, 0);
  const first = outcomes.find((one) => !one.holds);
  if (!first) return { kind: "found", text: filled(step.found, numbers), miss };
  return { kind: direction(before, miss), text: filled(hint(first.expected, first.off), numbers), miss };
}

/** A text for the user if other settings than the step's control differ from the step's experiment; otherwise null. */
export function otherChanges(step: Step, base: Controls, now: Controls): string | null {
  const [before, after] = [flat(masked(base, step.control)), flat(masked(now, step.control))];
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  const changed = new Set(keys.filter((key) => before.get(key) !== after.get(key)).map(metricName));
  if (changed.size > 0) {
    const names = [...changed].join(", ");
    const values = { control: controlName(step.control).toLowerCase(), names };
    return filledText("tour.elsewhere", (name) => values[name as keyof typeof values] ?? null);
  }
  const choice = chosen(step.control, now);
  if (choice === null || !("choices" in step.control) || step.control.choices.includes(choice)) return null;
  const values = { choices: listed(step.control.choices), choice };
  return filledText("tour.others", (name) => values[name as keyof typeof values] ?? null);
}

/** Replace names in braces by numbers with their units: `{queue.delay_ms.p95:ms}`; `%` of a fraction. */
export function filled(text: string, numbers: Numbers): string {
  return text.replace(/\{([^{}:]+):([^{}]+)\}/g, (_, name: string, unit: string) => {
    const value = numbers[name];
    if (value === undefined) return say("tour.unknown");
    const shown = unit === "%" ? value * 100 : value;
    return `${short(Number(shown.toPrecision(3)))} ${unit}`;
  });
}

function direction(before: number | null, miss: number): "warmer" | "colder" | "no" {
  if (before === null || Math.abs(before - miss) < 1e-9) return "no";
  return miss < before ? "warmer" : "colder";
}

function hint(expected: Expected, off: "low" | "high" | "unknown" | null): string {
  return (off && expected[off]) ?? expected.low ?? expected.high ?? "";
}

/** The controls without the value of the step's control. */
function masked(controls: Controls, control: ControlSpec): unknown {
  const { title: _, ...all } = structuredClone(controls);
  const flow = "flow" in control ? all.flows[control.flow] : undefined;
  if (control.kind === "loss") all.loss = null;
  if (control.kind === "window" && flow) delete flow.cc_parameters.cwnd;
  if (control.kind === "controller" && flow) Object.assign(flow, { cc: null, name: "" });
  if (all.bottleneck && (control.kind === "buffer" || control.kind === "queue")) {
    const qdisc = control.kind === "queue" ? "" : all.bottleneck.qdisc.replace(/\blimit \S+/, "");
    all.bottleneck = {
      ...all.bottleneck,
      qdisc,
      limit: null,
      kind: control.kind === "queue" ? "" : all.bottleneck.kind,
    };
  }
  return all;
}

function chosen(control: ControlSpec, now: Controls): string | null {
  if (control.kind === "queue") return now.bottleneck?.kind ?? null;
  return control.kind === "controller" ? (now.flows[control.flow]?.cc ?? null) : null;
}

/** Every value by its dotted key. */
function flat(value: unknown, key = "", into = new Map<string, unknown>()): Map<string, unknown> {
  if (typeof value !== "object" || value === null) return into.set(key, value);
  for (const [name, inner] of Object.entries(value)) flat(inner, key ? `${key}.${name}` : name, into);
  return into;
}

function metricName(key: string): string {
  const [first = "", ...rest] = key.split(".");
  if (first === "flows") return "flows";
  const last = rest.at(-1) ?? first;
  return { qdisc: "queue", kind: "queue", limit: "queue" }[last] ?? last.replace(/_(ns|bps|bytes)$/, "");
}

function listed(names: string[]): string {
  return names.length < 2
    ? names.join("")
    : `${names.slice(0, -1).join(say("count.comma"))}${say("tour.and")}${names.at(-1)}`;
}

/** A control's name as the page shows it. */
export function controlName(control: ControlSpec): string {
  return control.label === "Version" ? say("control.version") : say(`control.${control.kind}`);
}
