import { expect, test } from "vitest";
import { outcome } from "./expectation";
import cases from "./expectations.json";

test.each(cases as [string, number | null, boolean][])("'%s' of %s is %s, as in Python", (text, value, holds) => {
  expect(outcome(text, value === null ? {} : { x: value }).holds).toBe(holds);
});

test("an expectation that doesn't hold is too low, too high or unknown, with its distance", () => {
  expect(outcome("queue.delay_ms.p95 < 30", { "queue.delay_ms.p95": 45 })).toEqual({
    holds: false,
    off: "high",
    miss: 0.5,
  });
  expect(outcome("a in 2..4", { a: 1 })).toEqual({ holds: false, off: "low", miss: 0.5 });
  expect(outcome("a in 2..4", { a: 6 })).toEqual({ holds: false, off: "high", miss: 0.5 });
  expect(outcome("a in 2..4", {})).toEqual({ holds: false, off: "unknown", miss: 1 });
});

test.each(["", "x", "x < ", "x < many", "x in 5..2", "x in 5", "x ~ 5", "x y < 5", "x from 5s < 3"])(
  "'%s' is no expectation",
  (text) => {
    expect(() => outcome(text, {})).toThrow("no expectation");
  },
);
