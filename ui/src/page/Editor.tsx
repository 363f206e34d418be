// The editor of the experiment's TOML, in sync with the controls; an error is shown at its line.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, Transaction } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { write } from "../live";
import { filled, text as say } from "../messages/messages";
import { problem, text } from "../state";
import type { Problem } from "../types";
import { fixOf, foldSource, help, loadSchema, markChanged } from "./help";

export function Editor() {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);

  useEffect(() => {
    view.current = new EditorView({ parent: box.current as HTMLDivElement, state: newState(text.peek()) });
    foldSource(view.current);
    void loadSchema();
    return () => view.current?.destroy();
  }, []);

  useSignalEffect(() => {
    const [expected, editor] = [text.value, view.current];
    if (editor && editor.state.doc.toString() !== expected) update(editor, expected);
  });
  useSignalEffect(() => {
    const [error, editor] = [problem.value, view.current];
    if (editor) editor.dispatch(setDiagnostics(editor.state, error ? [diagnostic(editor.state, error)] : []));
  });

  return (
    <section class="text" id="text" aria-label={say("text.about")}>
      <h2>{say("text.title")}</h2>
      <div ref={box} class="editor" />
      <ErrorLine />
    </section>
  );
}

function ErrorLine() {
  const error = problem.value;
  return (
    <div role="alert" class={error ? "trouble" : "unseen"}>
      {error && (
        <>
          <strong>
            {[error.line && filled("text.line", () => String(error.line)), error.key].filter(Boolean).join(", ")}
          </strong>{" "}
          {error.text}
          {error.right && <div>{error.right}</div>}
          <Fix error={error} />
        </>
      )}
    </div>
  );
}

/** The fix of the problem as a button, for those who do not point at the mark. */
function Fix({ error }: { error: Problem }) {
  const [fix] = fixOf(error, (word) => filled("text.fix", () => word));
  const editor = fix && EditorView.findFromDOM(document.querySelector("#text .cm-editor") as HTMLElement);
  if (!fix || !editor) return null;
  const { from, to } = diagnostic(editor.state, error);
  return (
    <button type="button" onClick={() => fix.apply(editor, from, to)}>
      {fix.name}
    </button>
  );
}

const COLOURS = HighlightStyle.define([
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.string, tags.number, tags.bool, tags.atom], color: "var(--string)" },
  { tag: [tags.propertyName, tags.keyword, tags.bracket], color: "var(--key)" },
]);

function newState(doc: string): EditorState {
  return EditorState.create({
    doc,
    extensions: [
      lineNumbers(),
      history(),
      drawSelection(),
      lintGutter(),
      help(),
      StreamLanguage.define(toml),
      syntaxHighlighting(COLOURS),
      keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": say("text.label") }),
      EditorView.updateListener.of((update) => {
        const typed = update.transactions.some(
          (transaction) => transaction.docChanged && !transaction.annotation(Transaction.remote),
        );
        if (typed) write(update.state.doc.toString(), "typing");
      }),
    ],
  });
}

/** A larger change is another experiment. */
const CHANGE_MAX = 120;

/** Take another text: mark the lines that a control changed, and fold the source of another experiment. */
function update(editor: EditorView, expected: string): void {
  const transaction = difference(editor.state, expected);
  const { from, to, insert } = transaction.changes;
  const isSmall = to - from <= CHANGE_MAX && insert.length <= CHANGE_MAX;
  const effects = isSmall && insert ? [markChanged.of({ from, to: from + insert.length })] : [];
  editor.dispatch({ ...transaction, effects });
  if (!isSmall) foldSource(editor);
}

/** The changed range only, so that the cursor keeps its position. */
function difference(state: EditorState, expected: string) {
  const now = state.doc.toString();
  let from = 0;
  while (from < now.length && from < expected.length && now[from] === expected[from]) from++;
  let [to, until] = [now.length, expected.length];
  while (to > from && until > from && now[to - 1] === expected[until - 1]) {
    to--;
    until--;
  }
  const changes = { from, to, insert: expected.slice(from, until) };
  return { changes, annotations: [Transaction.remote.of(true), Transaction.addToHistory.of(false)] };
}

function diagnostic(state: EditorState, error: Problem): Diagnostic {
  const line = state.doc.line(Math.min(Math.max(error.line ?? 1, 1), state.doc.lines));
  return {
    from: line.from,
    to: line.to,
    severity: "error",
    message: [error.text, error.right].filter(Boolean).join("\n"),
    actions: fixOf(error, (word) => filled("text.fix", () => word)),
  };
}
