import { expect, test } from "vitest";
import type { FigureData, Panel } from "../types";
import { markOf } from "./mark";

const numbers = Float64Array.of(0, 1, 2, 3, 4, 5, 9, 7, 8, 2, 5, 1);
const data = { duration_s: 5, column: ([at, count]: number[]) => numbers.subarray(at, (at ?? 0) + (count ?? 0)) };
const line = { name: "a", colour: "", dark: "", dash: [], s: [0, 6], v: [6, 6] };
const panel = { layers: [{ kind: "lines", of: "flows", lines: [line] }] } as unknown as Panel;

test.each([
  ["queue", [2, 8]],
  ["throughput", [3, 2]],
  ["cwnd", [3, 2]],
])("the mark of %s leaves out the start and the last sample", (name, at) => {
  expect(markOf(name, panel, data as unknown as FigureData)).toEqual(at);
});

test("a panel without lines has no mark", () => {
  expect(markOf("states", { layers: [] } as unknown as Panel, data as unknown as FigureData)).toBeNull();
});
