import { expect, test } from "vitest";
import { answersOf, csvOf, parsed } from "./answers";

const GIVEN = new Map([
  ["buffer", { predicted: "bbr", holds: "cubic", right: false }],
  ["many", { predicted: "many", holds: "many", right: true }],
]);
const ONE = answersOf("fairness", 7, '=HYPERLINK("x"),y', GIVEN, new Date("2026-01-02T03:04:05Z"));

test("answers are read back from their file", () => {
  expect(parsed(JSON.stringify(ONE))).toEqual(ONE);
  for (const text of ["", "{", "null", "[]", "{}", '{"kind": "dumbbell-answers", "lesson": 1, "steps": []}'])
    expect(parsed(text)).toBeNull();
});

test("a table has a row for each answer, and no formula", () => {
  expect(csvOf([ONE]).split("\n")).toEqual([
    "name,lesson,seed,saved,step,predicted,holds,right",
    `"'=HYPERLINK(""x""),y",fairness,7,2026-01-02T03:04:05.000Z,buffer,bbr,cubic,false`,
    `"'=HYPERLINK(""x""),y",fairness,7,2026-01-02T03:04:05.000Z,many,many,many,true`,
    "",
  ]);
});
