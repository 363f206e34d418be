import { expect, test } from "vitest";
import glossary from "../../../docs/glossary.md?raw";
import { LANGUAGES } from "../messages/messages";
import { partsOf, TERMS } from "./terms";

/** The glossary's rows: term and meaning, without links and code marks. */
const ROWS = new Map(
  [...glossary.matchAll(/^\| ([^|]+) \| ([^|]+) \|/gm)].map(([, term, meaning]) => [
    (term as string).trim(),
    (meaning as string)
      .replace(/\[([^\]]+)\]\([^)]+\)/g, "$1")
      .replaceAll("`", "")
      .trim(),
  ]),
);

test("the English line of a term is the glossary's", () => {
  const lines = Object.entries(TERMS).map(([id, term]) => [id, ROWS.get(term)]);
  expect(Object.fromEntries(lines)).toEqual(
    Object.fromEntries(Object.keys(TERMS).map((id) => [id, LANGUAGES.en?.[`term.${id}`]])),
  );
});

test("no line of a language is left over", () => {
  for (const messages of Object.values(LANGUAGES))
    expect(
      Object.keys(messages)
        .filter((key) => key.startsWith("term."))
        .sort(),
    ).toEqual(
      Object.keys(TERMS)
        .map((id) => `term.${id}`)
        .sort(),
    );
});

test("terms are found in a text, the longest word and the first place of each", () => {
  const terms = (text: string, language: string) =>
    partsOf(text, language).flatMap(({ term, text: word }) => (term ? [[term, word]] : []));
  expect(terms("fq_codel and CoDel keep the RTT of a buffer near the round-trip time", "en")).toEqual([
    ["codel", "fq_codel"],
    ["rtt", "RTT"],
    ["buffer", "buffer"],
  ]);
  expect(terms("缓冲区超过带宽时延积（BDP），RTT 就会变长", "zh-Hans")).toEqual([
    ["buffer", "缓冲区"],
    ["bdp", "带宽时延积"],
    ["rtt", "RTT"],
  ]);
  expect(terms("prebuffered windows", "en")).toEqual([]);
  for (const language of ["en", "zh-Hans"])
    expect(
      partsOf("a buffer, 缓冲区", language)
        .map(({ text }) => text)
        .join(""),
    ).toBe("a buffer, 缓冲区");
});
