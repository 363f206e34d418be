// A term with the glossary's line in a popover, which a click or Enter opens.

import type { ComponentChildren, TargetedToggleEvent } from "preact";
import { useId, useRef } from "preact/hooks";
import { text as say } from "../messages/messages";
import { TERMS } from "./terms";
import "./words.css";

const GAP = 6;

export function Term({ name, children }: { name: string; children: ComponentChildren }) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const place = (event: TargetedToggleEvent<HTMLElement>) => {
    const [box, around] = [event.currentTarget, button.current?.getBoundingClientRect()];
    if (event.newState !== "open" || !around) return;
    const left = Math.min(around.left, innerWidth - box.offsetWidth - GAP);
    const fits = around.bottom + GAP + box.offsetHeight < innerHeight;
    box.style.left = `${Math.max(left, GAP)}px`;
    box.style.top = `${fits ? around.bottom + GAP : Math.max(around.top - GAP - box.offsetHeight, GAP)}px`;
  };
  return (
    <>
      <button ref={button} type="button" class="term" popovertarget={id}>
        {children}
      </button>
      <span id={id} popover="auto" class="term-line" onToggle={place}>
        <b>{TERMS[name]}</b> {say(`term.${name}`)}
      </span>
    </>
  );
}
