// The experiment as TOML beside the controls: the same thing, always; what is wrong stands where it is.

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
import { problem, text } from "../state";
import type { Problem } from "../types";

export function Editor() {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);

  useEffect(() => {
    view.current = new EditorView({ parent: box.current as HTMLDivElement, state: fresh(text.peek()) });
    return () => view.current?.destroy();
  }, []);

  useSignalEffect(() => {
    const [wanted, mine] = [text.value, view.current];
    if (mine && mine.state.doc.toString() !== wanted) mine.dispatch(difference(mine.state, wanted));
  });
  useSignalEffect(() => {
    const [slip, mine] = [problem.value, view.current];
    if (mine) mine.dispatch(setDiagnostics(mine.state, slip ? [diagnostic(mine.state, slip)] : []));
  });

  return (
    <section class="text" id="text" aria-label="The experiment as text">
      <h2>Experiment</h2>
      <div ref={box} class="editor" />
      <ErrorLine />
    </section>
  );
}

function ErrorLine() {
  const slip = problem.value;
  return (
    <div role="alert" class={slip ? "trouble" : "unseen"}>
      {slip && (
        <>
          <strong>{[slip.line && `line ${slip.line}`, slip.key].filter(Boolean).join(", ")}</strong> {slip.text}
          {slip.right && <div>{slip.right}</div>}
        </>
      )}
    </div>
  );
}

const COLOURS = HighlightStyle.define([
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.string, tags.number, tags.bool, tags.atom], color: "var(--string)" },
  { tag: [tags.propertyName, tags.keyword, tags.bracket], color: "var(--key)" },
]);

function fresh(doc: string): EditorState {
  return EditorState.create({
    doc,
    extensions: [
      lineNumbers(),
      history(),
      drawSelection(),
      lintGutter(),
      StreamLanguage.define(toml),
      syntaxHighlighting(COLOURS),
      keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": "Experiment as TOML" }),
      EditorView.updateListener.of((update) => {
        const typed = update.transactions.some((one) => one.docChanged && !one.annotation(Transaction.remote));
        if (typed) write(update.state.doc.toString(), "typing");
      }),
    ],
  });
}

/** Only what differs, so that the cursor stays where it is. */
function difference(state: EditorState, wanted: string) {
  const now = state.doc.toString();
  let from = 0;
  while (from < now.length && from < wanted.length && now[from] === wanted[from]) from++;
  let [to, until] = [now.length, wanted.length];
  while (to > from && until > from && now[to - 1] === wanted[until - 1]) {
    to--;
    until--;
  }
  const changes = { from, to, insert: wanted.slice(from, until) };
  return { changes, annotations: [Transaction.remote.of(true), Transaction.addToHistory.of(false)] };
}

function diagnostic(state: EditorState, slip: Problem): Diagnostic {
  const line = state.doc.line(Math.min(Math.max(slip.line ?? 1, 1), state.doc.lines));
  return {
    from: line.from,
    to: line.to,
    severity: "error",
    message: [slip.text, slip.right].filter(Boolean).join("\n"),
  };
}
