// Creates a link to the shown experiment, and shows the experiment of an opened link.

import { signal } from "@preact/signals";
import { write } from "../live";
import { text as say } from "../messages/messages";
import { offered, seed, text } from "../state";
import { BrokenLink, linkFragment, parseLink, type Shared, scenarioOf } from "./link";

/** The message on the last link. */
export const linkStatus = signal<{ text: string; bad: boolean } | null>(null);

/** Show the experiment of this page's URL; return false if the URL has none. */
export async function restore(): Promise<boolean> {
  try {
    const found = builtIn() ?? (await parseLink(location.hash));
    if (!found) return false;
    seed.value = found.seed;
    write(found.text);
    linkStatus.value = null;
    return true;
  } catch (error) {
    if (!(error instanceof BrokenLink)) throw error;
    linkStatus.value = { text: error.message, bad: true };
    return false;
  }
}

/** The built-in experiment that this page's URL names; the first case if it names none. */
function builtIn(): Shared | null {
  const named = scenarioOf(location.hash);
  if (!named) return null;
  const all = offered.value?.scenarios.filter(({ name }) => name === named.name) ?? [];
  const found = named.case ? all.find((one) => one.case === named.case) : all[0];
  if (!found) throw new BrokenLink();
  return { text: found.toml, seed: 1 };
}

export async function copyLink(): Promise<void> {
  const link = `${location.origin}${location.pathname}${await linkFragment({ text: text.value, seed: seed.value })}`;
  history.replaceState(null, "", link);
  linkStatus.value = (await copyText(link))
    ? { text: say("tools.copied"), bad: false }
    : { text: say("tools.address"), bad: false };
}

async function copyText(link: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(link);
    return true;
  } catch {
    return false; // Without TLS, pages of other hosts have no clipboard.
  }
}
