// A slider that stops at round values; other values can be set in the text.

import { useId } from "preact/hooks";
import { applyEdit } from "../live";
import { shown } from "../state";
import type { Value } from "../types";
import { nearest } from "./notches";

interface Props {
  label: string;
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
}

export function Slider({ label, edits, value, stops, toText, fromText, format, hint }: Props) {
  const id = useId();
  const now = shown<Value | undefined>(edits, undefined);
  const current = now === undefined ? value : fromText(now);
  const text = current === null ? "as in the text" : format(current);
  return (
    <div class="control">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="range"
        min={0}
        max={stops.length - 1}
        step={1}
        value={current === null ? 0 : nearest(stops, current)}
        disabled={value === null}
        aria-valuetext={text}
        title={hint}
        onInput={(event) =>
          applyEdit({ key: edits, value: toText(stops[event.currentTarget.valueAsNumber] as number) })
        }
      />
      <output for={id}>{text}</output>
    </div>
  );
}
