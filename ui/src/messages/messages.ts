// The texts of the page, one file per language in this folder; a new file is a new language.
//
// No number is written into a text: placeholders are filled in from runs.

import { computed, signal } from "@preact/signals";
import type { Amount, Stop, Unit } from "../lessons/parts";

export type Messages = Record<string, string>;

const FILES = import.meta.glob<Messages>("./*.json", { eager: true, import: "default" });
const FALLBACK = "en";
const STORAGE_KEY = "dumbbell-language";

/** Languages by their tags (`en`, `zh-Hans`). */
export const LANGUAGES: Record<string, Messages> = Object.fromEntries(
  Object.entries(FILES).map(([path, messages]) => [path.replace(/^.*\/|\.json$/g, ""), messages]),
);

export const language = signal(FALLBACK);
export const messages = computed(() => LANGUAGES[language.value] ?? {});

/** Use the language of the link, the one chosen before, or the browser's. */
export function chooseLanguage(named: string | undefined): void {
  const wanted = [named, stored(), ...navigator.languages].filter((tag) => tag !== undefined && tag !== null);
  language.value = wanted.map(closest).find((tag) => tag !== null) ?? FALLBACK;
}

/** The language of a tag: `zh-CN` and `zh` are Chinese, as is `zh-Hans`. */
function closest(tag: string): string | null {
  const known = Object.keys(LANGUAGES);
  const plain = (each: string) => each.toLowerCase().split("-")[0];
  return known.find((each) => each === tag) ?? known.find((each) => plain(each) === plain(tag)) ?? null;
}

export function remember(tag: string): void {
  language.value = tag;
  try {
    localStorage.setItem(STORAGE_KEY, tag);
  } catch {
    // Without storage the browser's language counts next time.
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

/** The text of a key; the key itself would be shown if it were missing, which a test excludes. */
export function text(key: string): string {
  return messages.value[key] ?? key;
}

/** A text whose placeholders are replaced; `value` returns the text of one, or null while it is not known. */
export function filled(key: string, value: (name: string) => string | null): string {
  return text(key).replaceAll(PLACEHOLDER, (_, name: string) => value(name) ?? "…");
}

export const PLACEHOLDER = /\{([^{}]+)\}/g;

export function amountText({ value, unit }: Amount): string {
  if (!Number.isFinite(value)) return "–";
  const digits = new Intl.NumberFormat(language.value, { maximumSignificantDigits: 3 }).format(value);
  const name = unitText(unit);
  return name ? `${digits}\u00a0${name}` : digits;
}

export function stopText({ label }: Stop): string {
  return typeof label === "string" ? label : amountText(label);
}

function unitText(unit: Unit): string {
  return unit === "packets" || unit === "flows" ? text(`unit.${unit}`) : unit;
}
