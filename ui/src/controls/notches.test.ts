import { expect, test } from "vitest";
import { nearest, notches } from "./notches";

test("notches are round and ascend from the minimum to the maximum", () => {
  const values = notches(1e5, 1e10);
  expect([values[0], values.at(-1)]).toEqual([1e5, 1e10]);
  expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
  for (const value of values) expect(Number(value.toPrecision(2))).toBe(value);
});

test("neighbours are at most an eighth apart", () => {
  const values = notches(0.05, 50);
  for (let i = 1; i < values.length; i++) expect((values[i] as number) / (values[i - 1] as number)).toBeLessThan(1.17);
});

test("a value between notches has the index of the nearest, and zero the first", () => {
  const values = notches(1, 100);
  expect(values[nearest(values, 13.1)]).toBe(13);
  expect(nearest(values, 0)).toBe(0);
  expect(nearest([0, ...values], 0)).toBe(0);
  expect(values[nearest(values, 1e9)]).toBe(100);
});
