// The seven steps as data: `steps.json` and `experiments/`, which tests/web/test_tour.py runs on the simulator.

import type { Edit } from "../types";
import said from "./steps.json";

export type ControlSpec =
  | { kind: "window"; label: string; flow: number }
  | { kind: "buffer" | "loss"; label: string }
  | { kind: "queue"; label: string; choices: string[] }
  | { kind: "controller"; label: string; flow: number; choices: string[] };

export interface Expected {
  /** In the grammar of `expect` (`expectation.ts`). */
  test: string;
  /** What is told while the number is too low, too high, or not known. */
  low?: string;
  high?: string;
  unknown?: string;
}

export interface Step {
  /** Its file in `experiments/`, and what the step is known by. */
  experiment: string;
  title: string;
  /** Plain sentences; what stands between asterisks is a term, told where it first occurs. */
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

export const STEPS: Step[] = (said as Omit<Step, "toml">[]).map((step) => ({
  ...step,
  toml: texts[`./experiments/${step.experiment}.toml`] as string,
}));

/** The numbers that a step judges by or tells of. */
export function metrics(step: Step): string[] {
  const texts = [step.found, ...step.expect.flatMap((one) => [one.low, one.high, one.unknown])].join(" ");
  const told = [...texts.matchAll(/\{([^{}:]+):/g)].map(([, name]) => name as string);
  const judged = step.expect.map(({ test }) => test.split(/[\s<>=]/)[0] as string);
  return [...new Set([...judged, ...told])];
}
