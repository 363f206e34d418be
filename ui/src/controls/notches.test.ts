import { expect, test } from "vitest";
import { nearest, notches } from "./notches";

test("notches are round and rise from the least to the most", () => {
  const found = notches(1e5, 1e10);
  expect([found[0], found.at(-1)]).toEqual([1e5, 1e10]);
  expect(found).toEqual([...new Set(found)].sort((a, b) => a - b));
  for (const value of found) expect(Number(value.toPrecision(2))).toBe(value);
});

test("neighbours are at most an eighth apart", () => {
  const found = notches(0.05, 50);
  for (let i = 1; i < found.length; i++) expect((found[i] as number) / (found[i - 1] as number)).toBeLessThan(1.17);
});

test("a value that is no notch has the nearest one's place, and nothing the first", () => {
  const found = notches(1, 100);
  expect(found[nearest(found, 13.1)]).toBe(13);
  expect(nearest(found, 0)).toBe(0);
  expect(nearest([0, ...found], 0)).toBe(0);
  expect(found[nearest(found, 1e9)]).toBe(100);
});
