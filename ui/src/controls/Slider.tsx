// A control: a slider that stops at round values; exact ones are written into the text.

import { useId } from "preact/hooks";
import { applyEdit } from "../live";
import { shown } from "../state";
import type { Value } from "../types";
import { nearest } from "./notches";

interface Props {
  label: string;
  /** The key of the text that it turns. */
  edits: string;
  /** Its value as a number; null where the text says something that is no number. */
  value: number | null;
  /** What it stops at, from left to right. */
  stops: number[];
  /** A number as the text says it; null takes the key away. */
  written(value: number): Value;
  /** The text's value, or a turned one, as a number again. */
  parsed(text: Value): number | null;
  said(value: number): string;
  hint?: string;
}

export function Slider({ label, edits, value, stops, written, parsed, said, hint }: Props) {
  const id = useId();
  const now = shown<Value | undefined>(edits, undefined);
  const current = now === undefined ? value : parsed(now);
  const text = current === null ? "as the text says" : said(current);
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
          applyEdit({ key: edits, value: written(stops[event.currentTarget.valueAsNumber] as number) })
        }
      />
      <output for={id}>{text}</output>
    </div>
  );
}
