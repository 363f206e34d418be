import { expect, test } from "vitest";
import { settingText, settingValue } from "./settings";

test.each([
  ["5gbit", "5\u00a0Gbit/s"],
  ["10ms", "10\u00a0ms"],
  ["450us", "450\u00a0µs"],
  ["0.5%", "0.5\u00a0%"],
  [49_152, "48\u00a0KiB"],
  [4_194_304, "4\u00a0MiB"],
  [225_000, "225\u00a0kB"],
  ["pfifo", null],
  [undefined, null],
])("%s is shown as %s", (value, shown) => {
  expect(settingText(value)).toBe(shown);
});

test("rates and times have values", () => {
  expect([settingValue("100mbit"), settingValue("1ms"), settingValue("1%")]).toEqual([1e8, 1e6, null]);
});
