// Links of experiments: made of what is on the screen, and put on the screen when one is opened.

import { signal } from "@preact/signals";
import { write } from "../live";
import { seed, text } from "../state";
import { Broken, fragment, shared } from "./link";

/** What to say of the last link. */
export const said = signal<{ text: string; bad: boolean } | null>(null);

/** Put the experiment of this page's address on the screen; false where there is none. */
export async function restore(): Promise<boolean> {
  try {
    const found = await shared(location.hash);
    if (!found) return false;
    seed.value = found.seed;
    write(found.text);
    said.value = null;
    return true;
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    said.value = { text: error.message, bad: true };
    return false;
  }
}

export async function copyLink(): Promise<void> {
  const link = `${location.origin}${location.pathname}${await fragment({ text: text.value, seed: seed.value })}`;
  history.replaceState(null, "", link);
  said.value = (await copied(link))
    ? { text: "Copied: the link holds the experiment and its seed.", bad: false }
    : { text: "The link is in the address bar: this browser doesn't let a page copy.", bad: false };
}

async function copied(link: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(link);
    return true;
  } catch {
    return false; // Off this machine, without TLS, there is no clipboard.
  }
}
