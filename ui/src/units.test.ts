import { expect, test } from "vitest";
import { rateLabel, rateOf, rateText, short, timeLabel, timeOf, timeText, twoDigits } from "./units";

test("quantities are formatted in tc's units", () => {
  expect([5e7, 1e9, 64_000, 12_500_000].map(rateText)).toEqual(["50mbit", "1gbit", "64kbit", "12.5mbit"]);
  expect([0, 500, 4e7, 1.5e9, 61_000].map(timeText)).toEqual(["0s", "500ns", "40ms", "1.5s", "61us"]);
});

test("quantities are formatted for the user", () => {
  expect(rateLabel(5e7)).toBe("50 Mbit/s");
  expect(rateLabel(64_000)).toBe("64 kbit/s");
  expect(timeLabel(61_000)).toBe("61 µs");
  expect(short(0.123456)).toBe("0.1235");
});

test("formatted quantities are parsed", () => {
  expect([5e7, 1e9, 64_000].map((rate) => rateOf(rateText(rate)))).toEqual([5e7, 1e9, 64_000]);
  expect([0, 500, 4e7, 1.5e9].map((time) => timeOf(timeText(time)))).toEqual([0, 500, 4e7, 1.5e9]);
  expect([rateOf("much"), timeOf("later")]).toEqual([null, null]);
});

test("numbers of tiles have two digits, and whole ones below a thousand all of theirs", () => {
  expect([0, 0.123, 1.26, 9.96, 31.4, 636.2, 12345, Number.NaN].map(twoDigits)).toEqual([
    "0",
    "0.12",
    "1.3",
    "10",
    "31",
    "636",
    "12000",
    "–",
  ]);
});
