// The state and the actions of a lesson: the reader predicts, moves the control, runs, and reads the result.

import { batch, computed, effect, signal } from "@preact/signals";
import { amountText, filled, stopText } from "../messages/messages";
import { figureData, POINTS, RequestError } from "../protocol";
import { linkFragment } from "../share/link";
import * as state from "../state";
import type { Controls, FigureData } from "../types";
import { short } from "../units";
import {
  type Amount,
  CONSTANTS,
  LESSONS,
  type Lesson,
  type Measure,
  type RunStep,
  SOCKET,
  type Step,
  type Stop,
} from "./lessons";
import { ONLY, stopsOf } from "./parts";
import { settingText, settingValue } from "./settings";
import { medians, socketAt, stateAt } from "./socket";

export interface Done {
  data: FigureData;
  controls: Controls;
  toml: string;
  /** The parsed text. */
  document: Record<string, unknown>;
}

/** Of all runs of the lesson; a teacher's link can set it. */
export const seed = signal(1);
/** What was predicted in each step of this lesson, and what its runs show. */
export const answers = signal<ReadonlyMap<string, Given>>(new Map());

export interface Given {
  predicted: string;
  holds: string | null;
  right: boolean;
}

/** Null: the workbench is shown; "": the list of lessons; `TEACH`: the page for teachers. */
export const lessonId = signal<string | null>(null);
/** `steps.length` is the end. */
export const stepIndex = signal(0);
export const prediction = signal<string | null>(null);
export const stopIndex = signal(0);
/** The runs of this lesson, by step and stop. */
export const runs = signal<ReadonlyMap<string, Done>>(new Map());
export const running = signal(false);
export const failure = signal<string | null>(null);
/** The stops that the figures show: the newest in front. */
export const drawn = signal<{ stop: string; before: string | null } | null>(null);
/** The chosen time of a step through time, in seconds. */
export const time = signal(0);
export const found = signal(false);
/** A link to the shown run in the playground. */
export const playgroundLink = signal("#");

export const lesson = computed<Lesson | null>(() => LESSONS.find(({ id }) => id === lessonId.value) ?? null);
export const step = computed<Step | null>(() => lesson.value?.steps[stepIndex.value] ?? null);

export { ONLY, stopsOf };
export const TEACH = "teach";
let active: AbortController | null = null;

/** Show what this page's URL names: a lesson, their list, or the workbench. */
export function openFromLink(): void {
  const named = /^#lesson(?:s|=([\w-]+))(?:&lang=[\w-]+)?(?:&seed=(\d{1,9}))?$/.exec(location.hash);
  const teach = /^#teach(?:&lang=[\w-]+)?$/.test(location.hash);
  const id = teach ? TEACH : named ? (named[1] ?? "") : null;
  if (id === lessonId.value) return;
  const isKnown = id === TEACH || LESSONS.some((each) => each.id === id);
  lessonId.value = id !== null && isKnown ? id : named ? "" : null;
  batch(() => {
    seed.value = Number(named?.[2] ?? 1);
    runs.value = new Map();
    answers.value = new Map();
    go(0);
  });
}

export function go(to: number): void {
  active?.abort();
  batch(() => {
    stepIndex.value = to;
    [prediction.value, stopIndex.value, drawn.value, failure.value] = [null, 0, null, null];
    [time.value, found.value, running.value] = [0, false, false];
  });
  if (step.value) void run();
}

export function done(stop: string, of: Step | null = step.value): Done | undefined {
  return of ? runs.value.get(`${of.id} ${stop}`) : undefined;
}

/** The stops without a run yet. */
export function missing(of: Step): Stop[] {
  return stopsOf(of).filter(({ id }) => !done(id, of));
}

/** Run the experiment at the control's stop, and show it. */
export async function run(): Promise<void> {
  const [of, stop] = [step.value, stopsOf(step.value as Step)[stopIndex.value]];
  if (!of || !stop) return;
  active?.abort();
  const own = new AbortController();
  active = own;
  batch(() => {
    running.value = true;
    failure.value = null;
  });
  try {
    const result = done(stop.id, of) ?? (await simulated(of, stop, own.signal));
    if (active === own) await show(of, stop.id, result);
  } catch (error) {
    if (active !== own) return;
    if (!(error instanceof RequestError)) throw error;
    failure.value = error.message;
  } finally {
    if (active === own) running.value = false;
  }
}

async function simulated(of: Step, stop: Stop, signal: AbortSignal): Promise<Done> {
  const all = state.offered.value?.scenarios.filter(({ name }) => name === of.experiment.name) ?? [];
  const base = all.find((each) => each.case === (of.experiment.case ?? ""));
  if (!base) throw new RequestError(`there is no built-in experiment ${of.experiment.name}`);
  const measures = Object.values(of.numbers).map(({ metric }) => metric);
  const request = {
    toml: base.toml,
    edits: [...(of.experiment.edits ?? []), ...stop.edits],
    seed: seed.value,
    panels: of.panels,
    points: POINTS,
    numbers: of.control === "time" ? [] : measures,
    samples: of.control === "time" ? measures : [],
  };
  const { state: answer, figureData: data } = await figureData(request, signal);
  if (!data || !answer.controls) throw new RequestError(answer.problem?.text ?? "no result");
  if (!data.valid) throw new RequestError(filled("lessons.invalid", () => data.invalid.join("; ")));
  const { parse } = await import("@decimalturn/toml-patch");
  return { data, controls: answer.controls, toml: answer.toml, document: parse(answer.toml) as Done["document"] };
}

async function show(of: Step, stop: string, result: Done): Promise<void> {
  const link = await linkFragment({ text: result.toml, seed: seed.value });
  batch(() => {
    runs.value = new Map(runs.value).set(`${of.id} ${stop}`, result);
    const before = drawn.value && drawn.value.stop !== stop ? drawn.value.stop : (drawn.value?.before ?? null);
    drawn.value = { stop, before };
    playgroundLink.value = link;
  });
}

/** Choose a time; the step is answered at the state that it looks for. */
export function setTime(seconds: number): void {
  const of = step.value;
  const result = done(ONLY.id);
  if (of?.control !== "time" || !result) return;
  batch(() => {
    time.value = seconds;
    found.value = prediction.value !== null && stateAt(result.data, seconds) === of.find;
  });
}

/** Whether all that the answer needs is there. */
export function isAnswered(of: Step): boolean {
  return prediction.value !== null && (of.control === "time" ? found.value : missing(of).length === 0);
}

/** Keep the first answer of a step that is complete. */
effect(() => {
  const of = step.value;
  if (!of || answers.peek().has(of.id) || !isAnswered(of)) return;
  const [predicted, holds] = [prediction.value as string, answer(of)];
  answers.value = new Map(answers.peek()).set(of.id, { predicted, holds, right: predicted === holds });
});

/** A number of the step; NaN if it is not known. */
export function numberOf(of: Step, stop: string, name: string): number {
  const measure = of.numbers[name];
  if (!measure) return Number.NaN;
  if (of.control === "time") {
    const result = done(ONLY.id, of);
    if (!result) return Number.NaN;
    return (stop === "at" ? socketAt(result.data, time.value) : medians(result.data))[name] ?? Number.NaN;
  }
  const result = done(stop, of);
  return result ? measured(result.data, measure) : Number.NaN;
}

/** A metric of a run; `groups.*` stands for its only group. */
function measured({ numbers, flows }: FigureData, { metric, factor = 1 }: Measure): number {
  const value = numbers[metric.replace("*", flows[0]?.group ?? "")];
  return value === undefined ? Number.NaN : value * factor;
}

/** What the report of a step's experiment measured, as the experiment's file says; empty if it is no report's. */
export function seen(of: Step): { what: string; value: number; unit: string }[] {
  const source = done(stopsOf(of)[0]?.id ?? "", of)?.document.source as { seen?: Seen[] } | undefined;
  const name = of.experiment.case;
  const ofCase = (source?.seen ?? []).filter((each) => !each.case || !name || isAnswer(each.case, name));
  return ofCase.map(({ what, value, unit = "", case: variant }) => ({
    what: variant ? `${what} (${variant})` : what,
    value,
    unit,
  }));
}

interface Seen {
  what: string;
  value: number;
  unit?: string;
  case?: string;
}

/** Whether a case of the file is one that the step's control reaches: cases of a file differ by more than its value. */
function isAnswer(of: string, start: string): boolean {
  return of.split(" ")[0] === start.split(" ")[0] || of.split(" ").length === start.split(" ").length;
}

/** The prediction that the runs confirm; null if it is none of them. */
export function answer(of: Step): string | null {
  const holding = of.options.filter((option) => option.holds((stop, name) => numberOf(of, stop, name)));
  return holding.length === 1 ? (holding[0]?.id ?? null) : null;
}

/**
 * The value of a placeholder; null while it is not known. A text may have
 * - `{stop.number}`: a number of a run, and `{stop.number/stop.number}`: a quotient of two;
 * - `{stop.setting}`: what the control sets there;
 * - `{path.rate}`: a value of the experiment, and `{key.flows.0.access.rate}`: the value of one of its keys;
 *   `{key.path.tc.commands loss}`: the word after `loss` in that value;
 * - `{limit.name}`: a limit of the step's predictions;
 * - `{constant.name}`: what a controller does in every experiment.
 */
export function placeholder(of: Step, name: string): string | null {
  const [first = "", second] = name.split("/");
  const [kind = "", number = ""] = first.split(".");
  if (second !== undefined) return quotient(numeric(of, first), numeric(of, second));
  if (kind === "path") return pathValue(of, number);
  if (kind === "key") return settingText(setting(of, first));
  if (kind === "limit") return of.limits?.[number] ? amountText(of.limits[number]) : null;
  if (kind === "constant") return constant(name);
  const stop = stopsOf(of).find(({ id }) => id === kind);
  if (number === "setting") return stop ? stopText(stop) : null;
  const value = numberOf(of, kind, number);
  return Number.isFinite(value) ? amountText({ value, unit: of.numbers[number]?.unit ?? "" }) : null;
}

export function constant(name: string): string | null {
  const known: Record<string, Amount> = CONSTANTS;
  const value = known[name.replace("constant.", "")];
  return value ? amountText(value) : null;
}

function numeric(of: Step, name: string): number {
  const [stop = "", number = ""] = name.split(".");
  return stop === "key" ? (settingValue(setting(of, name)) ?? Number.NaN) : numberOf(of, stop, number);
}

function quotient(value: number, other: number): string | null {
  const found = value / other;
  return Number.isFinite(found) ? amountText({ value: Number(found.toPrecision(2)), unit: "" }) : null;
}

/** The value of a key at the control's first stop: `key.flows.0.bytes`. */
function setting(of: Step, name: string): unknown {
  const [path = "", word] = name.replace("key.", "").split(" ");
  const document: unknown = done(stopsOf(of)[0]?.id ?? "", of)?.document;
  const value = path.split(".").reduce((node, key) => (node as Record<string, unknown> | undefined)?.[key], document);
  if (word === undefined || typeof value !== "string") return value;
  const words = value.split(/\s+/);
  return words[words.indexOf(word) + 1];
}

/** A value of the experiment at the control's first stop. */
function pathValue(of: Step, name: string): string | null {
  const controls = done(stopsOf(of)[0]?.id ?? "", of)?.controls;
  if (!controls) return null;
  const rate_bps = controls.bottleneck?.rate_bps ?? 0;
  const values: Record<string, string> = {
    rate: rate_bps >= 1e9 ? `${short(rate_bps / 1e9)}\u00a0Gbit/s` : `${short(rate_bps / 1e6)}\u00a0Mbit/s`,
    rtt: `${short(controls.rtt_ns / 1e6)}\u00a0ms`,
    duration: `${short(controls.duration_ns / 1e9)}\u00a0s`,
    size: `${short((controls.flows[0]?.bytes ?? 0) / 1e6)}\u00a0MB`,
    buffer: bufferText(controls.bottleneck),
  };
  return values[name] ?? null;
}

function bufferText(bottleneck: Controls["bottleneck"]): string {
  const limit = Number(bottleneck?.limit);
  if (bottleneck?.kind === "bfifo") return `${short(limit / 1e3)}\u00a0kB`;
  return amountText({ value: limit, unit: "packets" });
}

export function isRunStep(of: Step): of is RunStep {
  return of.control !== "time";
}

export { SOCKET };
