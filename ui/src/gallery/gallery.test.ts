import { expect, test } from "vitest";
import type { Scenario } from "../types";
import { entriesOf, matches, titleOf } from "./gallery";
import levels from "./levels.json";
import thumbnails from "./thumbnails.json";
import titles from "./titles.zh-Hans.json";

const scenario = (name: string, variant: string, toml = ""): Scenario => ({
  ...{ name, case: variant, toml, published: false },
  title: "Bufferbloat: one flow and a queue",
});
const ALL = [
  scenario("rfc7928", ""),
  scenario("bufferbloat", "maxq 10", 'cc = "reno"'),
  scenario("bufferbloat", "maxq 200"),
];

test("an experiment is one entry with its cases, the easy ones first", () => {
  const [first, second] = entriesOf(ALL);
  expect([first?.name, first?.cases.length, first?.level]).toEqual(["bufferbloat", 2, 1]);
  expect(second?.name).toBe("rfc7928");
});

test("a title says what it is and what one sees, in the page's language", () => {
  const [entry] = entriesOf(ALL);
  if (!entry) throw new Error("no entry");
  expect(titleOf(entry, "en")).toEqual(["Bufferbloat", "one flow and a queue"]);
  expect(titleOf(entry, "zh-Hans")[0]).toBe("缓冲区膨胀");
});

test("all words of a search are found, also in cases, texts and translations", () => {
  const [entry] = entriesOf(ALL);
  if (!entry) throw new Error("no entry");
  expect(["RENO maxq", "缓冲区", "queue 200"].map((words) => matches(entry, words))).toEqual([true, true, true]);
  expect(matches(entry, "reno dctcp")).toBe(false);
});

test("every experiment with a picture has a difficulty and a translation", () => {
  const names = Object.keys(thumbnails).sort();
  expect(Object.keys(levels).sort()).toEqual(names);
  expect(Object.keys(titles).sort()).toEqual(names);
});
