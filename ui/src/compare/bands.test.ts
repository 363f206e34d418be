import { expect, test } from "vitest";
import type { FigureData } from "../types";
import { bandsOf } from "./bands";

function run(values: number[], name = "a"): FigureData {
  const times = values.map((_, i) => (i + 0.5) / values.length);
  const numbers = Float64Array.from([...times, ...values]);
  const line = {
    name,
    colour: "#000",
    dark: "#fff",
    dash: [],
    s: [0, values.length],
    v: [values.length, values.length],
  };
  const layers = [{ kind: "lines", of: "flows", curve: "linear", width: 1, opacity: 1, lines: [line] }];
  const column = ([at, count]: [number, number]) => numbers.subarray(at, at + count);
  return { panels: [{ name: "rtt", layers }], column } as unknown as FigureData;
}

const level = (value: number) => Array.from({ length: 120 }, () => value);

test("a band goes from the least to the largest run", () => {
  const [band] = bandsOf([run(level(3)), run(level(5)), run(level(4))], "rtt", 1);
  expect([new Set(band?.low), new Set(band?.high)]).toEqual([new Set([3]), new Set([5])]);
});

test("parts without a sample lie between their neighbours, and ends without one are unknown", () => {
  const [band] = bandsOf([run([2, 4]), run([2, 4])], "rtt", 1);
  expect(band?.low[30]).toBeCloseTo(3, 1);
  expect(band?.low[0]).toBeNaN();
});

test("one run, and lines that not all runs have, give no band", () => {
  expect(bandsOf([run(level(1))], "rtt", 1)).toEqual([]);
  expect(bandsOf([run(level(1)), run(level(1), "b")], "rtt", 1)).toEqual([]);
});
