import { expect, test } from "vitest";
import { LESSONS, type Step } from "./lessons";
import { LANGUAGES, PLACEHOLDER } from "./messages";

const placeholders = (text: string) => [...text.matchAll(PLACEHOLDER)].map(([, name]) => name as string).sort();
const { en = {}, ...others } = LANGUAGES;

test.each(Object.keys(others))("%s has the keys of English, each with its placeholders", (tag) => {
  const translated = others[tag] ?? {};
  expect(Object.keys(translated)).toEqual(Object.keys(en));
  // A translation may show a number more often, but no other one.
  const names = (of: Record<string, string>) =>
    Object.fromEntries(Object.entries(of).map(([key, text]) => [key, [...new Set(placeholders(text))]]));
  expect(names(translated)).toEqual(names(en));
});

test("every lesson has all of its texts, and no text is left over", () => {
  const parts = (lesson: string, { id, options }: Step) =>
    ["title", "story", "question", "control", "answer", ...options.map((option) => `option.${option.id}`)].map(
      (part) => `${lesson}.${id}.${part}`,
    );
  const expected = LESSONS.flatMap(({ id, steps }) => [
    ...["title", "about", "end"].map((part) => `${id}.${part}`),
    ...steps.flatMap((step) => parts(id, step)),
  ]);
  const own = LESSONS.map(({ id }) => `${id}.`);
  expect(
    Object.keys(en)
      .filter((key) => own.some((prefix) => key.startsWith(prefix)))
      .sort(),
  ).toEqual(expected.sort());
});

test("placeholders name stops and numbers of their step", () => {
  for (const { id, steps } of LESSONS)
    for (const step of steps) {
      const stops = step.control === "time" ? ["at", "usual"] : step.stops.map((stop) => stop.id);
      const known = stops.flatMap((stop) => Object.keys(step.numbers).map((name) => `${stop}.${name}`));
      known.push(...["rate", "rtt", "duration", "size"].map((name) => `path.${name}`));
      for (const part of ["story", "question", "answer"])
        for (const name of placeholders(en[`${id}.${step.id}.${part}`] ?? ""))
          for (const each of name.split("/")) expect(known, `${id}.${step.id}.${part}`).toContain(each);
    }
});
