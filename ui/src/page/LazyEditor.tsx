// The editor, most of the page's code, is loaded when the first figures are there.

import { effect, signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { text as say } from "../messages/messages";
import { figureData, problem } from "../state";

const loaded = signal<{ Editor: ComponentType } | null>(null);
let requested = false;

/** Whether the editor is there. */
export function hasEditor(): boolean {
  return loaded.value !== null;
}

effect(() => {
  if (requested || location.hash === "#picture" || !(figureData.value || problem.value)) return;
  requested = true;
  // After the frame with the figures.
  requestAnimationFrame(() => setTimeout(load));
});

async function load(): Promise<void> {
  const { Editor } = await import("./Editor");
  loaded.value = { Editor };
}

export function LazyEditor() {
  if (loaded.value) return <loaded.value.Editor />;
  return (
    <section class="text" id="text" aria-label={say("text.about")}>
      <h2>{say("text.title")}</h2>
      <div class="editor" style={{ minHeight: "20rem" }} />
    </section>
  );
}
