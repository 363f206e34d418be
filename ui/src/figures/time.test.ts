import { expect, test } from "vitest";
import type { FigureData, Panel } from "../types";
import { extentOf, marks } from "./time";

function run(times: number[], values: number[], duration_s: number): FigureData {
  const numbers = Float64Array.from([...times, ...values]);
  const line = {
    name: "a",
    colour: "#000",
    dark: "#fff",
    dash: [],
    s: [0, times.length],
    v: [times.length, values.length],
  };
  const layer = { kind: "lines", of: "flows", curve: "step", width: 1, opacity: 1, lines: [line] };
  const panels = [{ name: "throughput", layers: [layer] } as unknown as Panel];
  return {
    panels,
    duration_s,
    column: ([at, count]: [number, number]) => numbers.subarray(at, at + count),
  } as unknown as FigureData;
}

test("a run that ends early fills its axis", () => {
  expect(extentOf(run([0, 1, 2, 3, 4, 5], [9, 9, 0, 0, 0, 0], 60))).toBeCloseTo(2.08);
  expect(extentOf(run([0, 1, 2, 58], [9, 9, 9, 9], 60))).toBe(60);
  expect(extentOf(run([], [], 60))).toBe(60);
});

test("marks are round, within the range, and have the decimals that they need", () => {
  expect(marks([0, 30], 6)).toEqual({ times: [0, 5, 10, 15, 20, 25, 30], decimals: 0 });
  const { times, decimals } = marks([1.02, 1.05], 4);
  expect(times.map((time) => time.toFixed(decimals))).toEqual(["1.02", "1.03", "1.04", "1.05"]);
});
