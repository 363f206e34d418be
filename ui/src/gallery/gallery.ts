// The built-in experiments as the gallery shows them: one entry per experiment, with its cases.

import type { Scenario } from "../types";
import levels from "./levels.json";
import chinese from "./titles.zh-Hans.json";

export interface Entry {
  name: string;
  published: boolean;
  /** From 1, for a first visit, to 3, for experts. */
  level: number;
  cases: Scenario[];
}

/** Translations of the titles, which are English in the experiments' files. */
const TITLES: Record<string, Record<string, string>> = { "zh-Hans": chinese };
const LAST_LEVEL = 3;

export function entriesOf(scenarios: readonly Scenario[]): Entry[] {
  const entries = new Map<string, Entry>();
  for (const scenario of scenarios) {
    const { name, published } = scenario;
    const entry = entries.get(name) ?? {
      ...{ name, published, cases: [] },
      level: (levels as Record<string, number>)[name] ?? LAST_LEVEL,
    };
    entry.cases.push(scenario);
    entries.set(name, entry);
  }
  return [...entries.values()].sort((one, other) => one.level - other.level);
}

/** A short title, and what one sees. */
export function titleOf({ name, cases }: Entry, language: string): [string, string] {
  const title = TITLES[language]?.[name] ?? cases[0]?.title ?? name;
  const [, short = title, sees = ""] = /^(.+?)[:：;；]\s*(.+)$/.exec(title) ?? [];
  return [short, sees];
}

/** Whether every word is in the names, titles, cases or text of an entry. */
export function matches(entry: Entry, words: string): boolean {
  const all = [
    entry.name,
    ...Object.keys(TITLES).map((tag) => TITLES[tag]?.[entry.name] ?? ""),
    ...entry.cases.flatMap(({ title, case: name, toml }) => [title, name, toml]),
  ];
  const text = all.join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
