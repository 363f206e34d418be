// What the editor adds to a text: completion and hover help from the schema, the fold of the source, the mark of changed
// lines, and the fix of a misspelt word.

import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { codeFolding, foldEffect, foldGutter, foldKeymap, foldService } from "@codemirror/language";
import type { Action } from "@codemirror/lint";
import { type EditorState, type Extension, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, hoverTooltip, keymap } from "@codemirror/view";
import { offered } from "../state";
import type { Problem } from "../types";
import { keysOf, placeOf, type Schema, schemaAt, valuesOf } from "./schema";

let loaded: Schema | null = null;

/** Load the schema; without it there is neither completion nor help. */
export async function loadSchema(): Promise<void> {
  loaded ??= (await import("../../../docs/schemas/experiment.json")).default as unknown as Schema;
}

/** All of it. */
export function help(): Extension {
  return [
    autocompletion({ override: [complete], icons: false }),
    hoverTooltip(hover),
    foldService.of((state, from) => sourceAt(state, state.doc.lineAt(from).number)),
    codeFolding(),
    foldGutter(),
    keymap.of(foldKeymap),
    changedLines,
  ];
}

function complete(context: CompletionContext): CompletionResult | null {
  if (!loaded) return null;
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const lines = context.state.doc.toString().split("\n");
  const { table, key } = placeOf(lines, line.number - 1);
  const quoted = /=\s*"([^"]*)$/.exec(before);
  if (quoted && key) {
    const from = context.pos - (quoted[1] ?? "").length;
    return { from, options: values([...table, key]).map((label) => ({ label, type: "text" })) };
  }
  const word = /^\s*([\w-]*)$/.exec(before);
  if (!word || (!word[1] && !context.explicit)) return null;
  const options: Completion[] = keysOf(loaded, table).map(([label, schema]) => ({
    label,
    apply: `${label} = `,
    info: schema.description ?? "",
  }));
  return { from: context.pos - (word[1] ?? "").length, options };
}

/** Values of a key: of the schema, and what the simulator has. */
function values(path: string[]): string[] {
  const key = path.at(-1);
  if (key === "cc") return offered.peek()?.controllers ?? [];
  if (key === "qdisc")
    return Object.values(offered.peek()?.disciplines ?? {}).map((text) => text.replace("{limit}", "1bdp"));
  return valuesOf((loaded && schemaAt(loaded, path)) ?? {});
}

function hover(view: EditorView, position: number) {
  if (!loaded) return null;
  const line = view.state.doc.lineAt(position);
  const { table, key } = placeOf(view.state.doc.toString().split("\n"), line.number - 1);
  const path = key === null ? table : [...table, ...key.split(".")];
  const found = path.length ? schemaAt(loaded, path) : null;
  const end = line.text.search(/=|$/);
  if (!found?.description || position > line.from + end) return null;
  const text = [found.description, examplesText(valuesOf(found))].filter(Boolean).join("\n");
  return {
    pos: line.from,
    end: line.from + end,
    create: () => {
      const dom = document.createElement("div");
      dom.className = "key-help";
      dom.textContent = text;
      return { dom };
    },
  };
}

function examplesText(all: string[]): string {
  return all.slice(0, 8).join(", ");
}

/** The range of the table `[source]` that begins on a line: after its header, up to its last line; null for others. */
function sourceAt(state: EditorState, number: number): { from: number; to: number } | null {
  const first = state.doc.line(number);
  if (!/^\s*\[source\]/.test(first.text)) return null;
  let last = number;
  for (let next = number + 1; next <= state.doc.lines && !isOther(state.doc.line(next).text); next++)
    if (state.doc.line(next).text.trim()) last = next;
  return last > number ? { from: first.to, to: state.doc.line(last).to } : null;
}

/** Whether a line begins a table that is not of the source. */
function isOther(line: string): boolean {
  return /^\s*\[/.test(line) && !/^\s*\[\[?source\./.test(line);
}

/** Fold the source of an experiment: readers come for what runs. */
export function foldSource(view: EditorView): void {
  for (let number = 1; number <= view.state.doc.lines; number++) {
    const range = sourceAt(view.state, number);
    if (range) view.dispatch({ effects: foldEffect.of(range) });
  }
}

/** Mark the lines of a range that a control changed; null: none. */
export const markChanged = StateEffect.define<{ from: number; to: number } | null>();
const CHANGED = Decoration.line({ class: "cm-changed" });

const changedLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marked, transaction) {
    let next = transaction.docChanged ? Decoration.none : marked;
    for (const effect of transaction.effects) {
      if (!effect.is(markChanged)) continue;
      next = effect.value ? linesOf(transaction.state, effect.value) : Decoration.none;
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function linesOf(state: EditorState, { from, to }: { from: number; to: number }): DecorationSet {
  const [first, last] = [state.doc.lineAt(from).number, state.doc.lineAt(Math.min(to, state.doc.length)).number];
  const lines = Array.from({ length: last - first + 1 }, (_, index) => state.doc.line(first + index).from);
  return Decoration.set(lines.map((start) => CHANGED.range(start)));
}

/** The replacement of a misspelt word, if the problem proposes one. */
export function fixOf({ text, right, key }: Problem, label: (word: string) => string): Action[] {
  const meant = /did you mean '?([\w.+-]+)'?\?/.exec(right)?.[1]?.split(".").at(-1);
  const words = [/'([^']+)'/.exec(text)?.[1], /: (\S+)(?: .*)?$/.exec(text)?.[1], key.split(".").at(-1)];
  const wrong = words.filter((word) => word && word !== meant);
  if (!meant) return [];
  return [
    {
      name: label(meant),
      apply(view, from, to) {
        const line = view.state.sliceDoc(from, to);
        const word = wrong.find((each) => each && line.includes(each));
        if (!word) return;
        const at = from + line.indexOf(word);
        view.dispatch({ changes: { from: at, to: at + word.length, insert: meant } });
      },
    },
  ];
}
