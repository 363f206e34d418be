// A slider that stops at round values, and its value as text: any value can be typed there.

import { useId } from "preact/hooks";
import { applyEdit } from "../live";
import { text as say } from "../messages/messages";
import { shown } from "../state";
import type { Edit, Value } from "../types";
import { Term } from "../words/Term";
import { nearest } from "./notches";
import { tcText, ValueBox } from "./ValueBox";

interface Props {
  label: string;
  /** The glossary's term for it (`words/terms.ts`). */
  term?: string;
  /** The key of the text that it changes. */
  edits: string;
  /** Its value as a number; null if the text has no number for the key. */
  value: number | null;
  /** Its values, from left to right. */
  stops: number[];
  /** Format a value for the text; null removes the key. */
  toText(value: number): Value;
  /** Parse a value of the text or of a pending edit. */
  fromText(text: Value): number | null;
  /** Format a value for the user. */
  format(value: number): string;
  hint?: string;
  /** Read what the user typed; null if it is no value. Without it, `fromText` reads it in tc's units. */
  typed?(text: string): number | null;
  /** The value in the box, if it differs from `format`, and more about it below. */
  inBox?(value: number): string;
  /** What else changes with it. */
  also?(value: number): Edit[];
}

export function Slider(props: Props) {
  const { label, term, edits, value, stops, fromText, format, hint, typed, inBox } = props;
  const id = useId();
  const now = shown<Value | undefined>(edits, undefined);
  const current = now === undefined ? value : fromText(now);
  const text = current === null ? say("control.text") : format(current);
  return (
    <div class="control">
      {term ? (
        <span class="name">
          <Term name={term}>{label}</Term>
        </span>
      ) : (
        <label class="name" for={id}>
          {label}
        </label>
      )}
      <input
        id={id}
        type="range"
        min={0}
        max={stops.length - 1}
        step={1}
        value={current === null ? 0 : nearest(stops, current)}
        disabled={value === null}
        {...(term ? { "aria-label": label } : {})}
        aria-valuetext={text}
        title={hint}
        onInput={(event) => change(props, stops[event.currentTarget.valueAsNumber] as number)}
      />
      <ValueBox
        label={label}
        text={current === null ? "" : (inBox ?? format)(current)}
        example={(inBox ?? format)(stops[stops.length >> 1] as number)}
        disabled={value === null}
        onType={(typedText) => {
          const next = typed ? typed(typedText) : fromText(tcText(typedText));
          if (next === null || !Number.isFinite(next)) return false;
          change(props, next);
          return true;
        }}
      />
      {(inBox || current === null) && <output for={id}>{text}</output>}
    </div>
  );
}

function change({ edits, toText, also }: Props, value: number): void {
  for (const edit of [{ key: edits, value: toText(value) }, ...(also?.(value) ?? [])]) applyEdit(edit);
}
