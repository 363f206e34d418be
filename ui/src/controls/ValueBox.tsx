// The value of a control as text with its unit: what is typed here need not be one of the slider's stops.

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { filled } from "../messages/messages";

interface Props {
  label: string;
  /** The value as the user reads it. */
  text: string;
  /** A value that may be typed, for the message after one that can't be read. */
  example: string;
  disabled?: boolean;
  /** Take what was typed; false: it can't be read. */
  onType(text: string): boolean;
}

export function ValueBox({ label, text, example, disabled, onType }: Props) {
  const id = useId();
  const wrong = useSignal(false);
  return (
    <>
      <input
        type="text"
        class="value"
        aria-label={filled("control.value", () => label)}
        aria-invalid={wrong.value}
        aria-describedby={wrong.value ? id : undefined}
        value={text}
        disabled={disabled}
        autocomplete="off"
        spellcheck={false}
        onChange={(event) => {
          wrong.value = !onType(event.currentTarget.value);
          if (!wrong.value) event.currentTarget.value = text;
        }}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          wrong.value = false;
          event.currentTarget.value = text;
        }}
      />
      {wrong.value && (
        <span id={id} role="alert" class="wrong">
          {filled("control.wrong", () => example)}
        </span>
      )}
    </>
  );
}

/** What a person types for a rate or a time, as tc writes it: `50 Mbit/s` is `50mbit`. */
export function tcText(typed: string): string {
  return typed
    .toLowerCase()
    .replace(/\s|\/s$/g, "")
    .replace("µ", "u")
    .replace(/bps$/, "bit");
}
