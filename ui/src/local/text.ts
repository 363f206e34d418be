// The experiment's text in a page without a server: edits, controls, errors. `python/dumbbell/web/experiment_text.py`
// does the same for `dumbbell ui`; tests compare both.

import { parse as parseToml, patch } from "@decimalturn/toml-patch";
import type { Controls, Edit, Group, Problem, Start } from "../types";
import { type Case, type Mistake, simulator } from "./simulator";

/** The text has a mistake, or the run failed. */
export class TextError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.text);
  }
}

type Node = Record<string, unknown>;

/** The text after these edits; its other characters, with comments, stay. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return edits.reduce(applyEdit, text);
}

function applyEdit(text: string, edit: Edit): string {
  const document = parseToml(text) as Node;
  const path = edit.key.split(".");
  const last = path.pop() as string;
  const node = path.reduce(child, document as unknown);
  if (typeof node !== "object" || node === null) throw noSuchKey(edit);
  const table = node as Node;
  if (edit.do === "add") {
    table[last] ??= [];
    (table[last] as unknown[]).push(edit.value);
  } else if (edit.do !== "remove" && edit.value != null) table[last] = edit.value;
  else if (Array.isArray(node)) node.splice(Number(last), 1);
  else delete table[last];
  return patch(text, document);
}

function child(node: unknown, step: string): unknown {
  if (typeof node !== "object" || node === null) return undefined;
  const table = node as Node;
  if (!Array.isArray(node)) table[step] ??= {};
  return table[step];
}

function noSuchKey({ key }: Edit): TextError {
  return new TextError({ text: "the text has no such key", key, right: "", line: null });
}

/** The only experiment of a text. */
export async function experimentOf(text: string): Promise<Case> {
  const found = await (await simulator()).parse(text);
  if ("errors" in found) throw new TextError(problemOf(found.errors));
  const [first] = found.cases;
  if (first && found.cases.length === 1) return first;
  const right = "the workbench runs one at a time: remove [[cases]], or use dumbbell run";
  throw new TextError({ text: "several experiments in one text", key: "cases", right, line: null });
}

export function problemOf([mistake]: Mistake[]): Problem {
  const { problem = "", value, key = "", right = "", line } = mistake ?? {};
  const shown = value == null || typeof value === "object" ? "" : `: ${value}`;
  return { text: problem + shown, key, right, line: line || null };
}

interface Flows extends Omit<Group, "start_ns" | "stop_ns" | "rate_bps"> {
  start: number;
  stop: number | null;
  rate: number | null;
}

interface Experiment {
  title: string;
  duration: number;
  path: {
    rtt: number;
    mtu: number;
    loss: string | null;
    bottleneck: { rate: number | null; rate_trace: string | null; qdisc: string } | null;
  };
  flows: Flows[];
}

/** The values of the controls. */
export function controlsOf({ experiment, groups }: Case): Controls {
  const { title, duration, path, flows } = experiment as unknown as Experiment;
  const { bottleneck } = path;
  return {
    title,
    duration_ns: duration,
    rtt_ns: path.rtt,
    mtu_bytes: path.mtu,
    loss: path.loss,
    bottleneck: bottleneck && {
      rate_bps: bottleneck.rate,
      traced: bottleneck.rate_trace !== null,
      qdisc: bottleneck.qdisc,
      kind: bottleneck.qdisc.split(" ")[0] as string,
      limit: optionOf(bottleneck.qdisc, "limit"),
    },
    flows: flows.map(({ kind, cc, cc_parameters, count, start, stop, bytes, rate }, index) => ({
      ...{ name: groups[index] ?? kind, kind, cc, cc_parameters, count, bytes },
      ...{ start_ns: start, stop_ns: stop, rate_bps: rate },
    })),
  };
}

/** An option's value in a discipline's text, in which single spaces stand between words. */
function optionOf(qdisc: string, name: string): string | null {
  const words = qdisc.split(" ");
  const at = words.indexOf(name);
  return at < 0 ? null : (words[at + 1] ?? null);
}

const fetched = new Map<string, Promise<string>>();

/** The files of built-in experiments (traces, scripts) that the text names. */
export async function filesOf(text: string, { files = [] }: Pick<Start, "files">): Promise<Record<string, string>> {
  const named = files.filter((name) => text.includes(`"${name}"`) || text.includes(`'${name}'`));
  return Object.fromEntries(await Promise.all(named.map(async (name) => [name, await fileText(name)])));
}

function fileText(name: string): Promise<string> {
  const known = fetched.get(name) ?? fetch(`files/${name}`).then((response) => response.text());
  fetched.set(name, known);
  return known;
}
