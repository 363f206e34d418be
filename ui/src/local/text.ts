// The experiment's text: edits of the page's controls. An edit changes one value and keeps every other character. Without
// a server, also what the text says, and its mistakes.

import { parse as parseToml, patch } from "@decimalturn/toml-patch";
import type { Case, Edit, Problem, Start } from "../types";
import { type Mistake, simulator } from "./simulator";

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

/** The problem of an edit that failed. */
export function problemOfEdit(error: unknown): Problem {
  if (error instanceof TextError) return error.problem;
  const parsed = error as Error & { line?: number };
  return { text: parsed.message, key: "", right: "", line: parsed.line ?? null };
}

export function problemOf([mistake]: Mistake[]): Problem {
  const { problem = "", value, key = "", right = "", line } = mistake ?? {};
  const shown = value == null || typeof value === "object" ? "" : `: ${value}`;
  return { text: problem + shown, key, right, line: line || null };
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
