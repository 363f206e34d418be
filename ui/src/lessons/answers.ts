// A student's answers as a file, and a teacher's table of such files. Pure functions.

import type { Given } from "./lesson";

export interface Answers {
  kind: "dumbbell-answers";
  lesson: string;
  seed: number;
  name: string;
  saved: string;
  steps: ({ step: string } & Given)[];
}

const KIND = "dumbbell-answers";

export function answersOf(
  lesson: string,
  seed: number,
  name: string,
  given: ReadonlyMap<string, Given>,
  now: Date,
): Answers {
  const steps = [...given].map(([step, each]) => ({ step, ...each }));
  return { kind: KIND, lesson, seed, name, saved: now.toISOString(), steps };
}

/** The answers of a file's text; null if it has none. */
export function parsed(text: string): Answers | null {
  try {
    const found: Partial<Answers> | null = JSON.parse(text);
    const isComplete = found?.kind === KIND && typeof found.lesson === "string" && Array.isArray(found.steps);
    return isComplete ? (found as Answers) : null;
  } catch {
    return null;
  }
}

/** A row for each answer, as CSV. */
export function csvOf(all: readonly Answers[]): string {
  const head = ["name", "lesson", "seed", "saved", "step", "predicted", "holds", "right"];
  const rows = all.flatMap(({ name, lesson, seed, saved, steps }) =>
    steps.map(({ step, predicted, holds, right }) => [name, lesson, seed, saved, step, predicted, holds ?? "", right]),
  );
  return [head, ...rows].map((row) => `${row.map((each) => cell(String(each))).join(",")}\n`).join("");
}

/** A cell that a spreadsheet takes as text, also one that begins like a formula. */
function cell(text: string): string {
  const plain = /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
