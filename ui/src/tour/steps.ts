// The seven steps as data: `steps.json` and `experiments/`, which tests/web/test_tour.py runs on the simulator.

import { language } from "../messages/messages";
import type { Edit } from "../types";
import definitions from "./steps.json";
import chinese from "./steps.zh-Hans.json";

export type ControlSpec =
  | { kind: "window"; label: string; flow: number }
  | { kind: "buffer" | "loss"; label: string }
  | { kind: "queue"; label: string; choices: string[] }
  | { kind: "controller"; label: string; flow: number; choices: string[] };

export interface Expected {
  /** In the grammar of `expect` (`expectation.ts`). */
  test: string;
  /** The texts for a number that is too low, too high, or unknown. */
  low?: string;
  high?: string;
  unknown?: string;
}

export interface Step {
  /** Its file in `experiments/`, and its identifier. */
  experiment: string;
  title: string;
  /** Plain sentences; terms are between asterisks where they are first explained. */
  story: string[];
  look: string;
  question: string;
  control: ControlSpec;
  panels: string[];
  /** All must hold. */
  expect: Expected[];
  answer: Edit;
  found: string;
  means: string;
  read: string[];
  toml: string;
}

const texts = import.meta.glob<string>("./experiments/*.toml", { query: "?raw", import: "default", eager: true });

export const STEPS: Step[] = (definitions as Omit<Step, "toml">[]).map((step) => ({
  ...step,
  toml: texts[`./experiments/${step.experiment}.toml`] as string,
}));

/** The metrics of a step's expectations and texts. */
export function metrics(step: Step): string[] {
  const texts = [step.found, ...step.expect.flatMap(({ low, high, unknown }) => [low, high, unknown])].join(" ");
  const shown = [...texts.matchAll(/\{([^{}:]+):/g)].map(([, name]) => name as string);
  const judged = step.expect.map(({ test }) => test.split(/[\s<>=]/)[0] as string);
  return [...new Set([...judged, ...shown])];
}

/** The texts of a step in another language; its experiment and its expectations stay. */
interface Translated extends Pick<Step, "title" | "story" | "look" | "question" | "found" | "means"> {
  hints: Omit<Expected, "test">[];
}

const TRANSLATED: Record<string, Record<string, Translated>> = { "zh-Hans": chinese };

/** A step in the page's language. */
export function inLanguage(step: Step, tag = language.value): Step {
  const found = TRANSLATED[tag]?.[step.experiment];
  if (!found) return step;
  const { hints, ...texts } = found;
  const expect = step.expect.map((each, index) => ({ ...each, ...hints[index] }));
  return { ...step, ...texts, expect };
}
