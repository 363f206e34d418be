import { expect, test } from "vitest";
import schema from "../../../docs/schemas/experiment.json";
import { keysOf, placeOf, type Schema, schemaAt, valuesOf } from "./schema";

const ROOT = schema as unknown as Schema;
const LINES = ['title = "x"', "", "[path.bottleneck]", 'rate = "50mbit" # fast', "", "[[flows]]", 'cc = "bbr"'];

test("a line is in its table, and sets a key", () => {
  expect(placeOf(LINES, 0)).toEqual({ table: [], key: "title" });
  expect(placeOf(LINES, 3)).toEqual({ table: ["path", "bottleneck"], key: "rate" });
  expect(placeOf(LINES, 2)).toEqual({ table: ["path", "bottleneck"], key: null });
  expect(placeOf(LINES, 6)).toEqual({ table: ["flows"], key: "cc" });
});

test("every key of the schema's first levels has a meaning", () => {
  for (const path of [[], ["path"], ["path", "bottleneck"], ["flows"]])
    for (const [name, each] of keysOf(ROOT, path)) expect(each.description, [...path, name].join(".")).toBeTruthy();
  expect(keysOf(ROOT, ["flows"]).map(([name]) => name)).toEqual(expect.arrayContaining(["cc", "count", "start"]));
});

test("values are choices or examples, and unknown keys have no schema", () => {
  expect(valuesOf(schemaAt(ROOT, ["duration"]) ?? {})).toContain("10s");
  expect(schemaAt(ROOT, ["path", "nonsense"])).toBeNull();
});
