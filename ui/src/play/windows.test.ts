import { expect, test } from "vitest";
import { made } from "./made";
import type { WindowRequest } from "./packets";
import { type FetchWindow, Windows } from "./windows";

const SOURCE = { toml: "…", seed: 1, duration_s: 3.3, packets_per_s: 20_000 };

/** Windows whose server notes what it is asked, and may know only a part of each window. */
function served(part = 1): {
  windows: Windows;
  asked: WindowRequest[];
  quiet(): Promise<void>;
  wrongs: (string | null)[];
} {
  const [asked, wrongs]: [WindowRequest[], (string | null)[]] = [[], []];
  const ask: FetchWindow = async (one) => {
    asked.push(one);
    const complete_s = one.from_s + (one.to_s - one.from_s) * part;
    return { ...made([]), ...one, complete_s, left_out: part < 1 ? 9 : 0 };
  };
  const windows = new Windows(SOURCE, (wrong) => wrongs.push(wrong), ask);
  return { windows, asked, quiet: () => new Promise((done) => setTimeout(done, 5)), wrongs };
}

test("a time's window is asked for once, and with ahead the one behind it", async () => {
  const { windows, asked, quiet } = served();
  windows.want(1.5, false);
  await quiet();
  windows.want(1.6, false);
  await quiet();
  expect(asked.map(({ from_s, to_s }) => [from_s, to_s])).toEqual([[1, 2]]);
  windows.want(1.6, true);
  await quiet();
  expect(asked.length).toBe(2);
  expect(windows.get(2.5)?.packets.to_s).toBe(3);
  expect(windows.get(0.5)).toBeNull();
});

test("the run's end belongs to its last window, and nothing is asked beyond it", async () => {
  const { windows, asked, quiet } = served();
  windows.want(3.3, true);
  await quiet();
  expect(asked.map(({ from_s, to_s }) => [from_s, to_s])).toEqual([[3, 3.3]]);
  expect(windows.get(3.3)?.packets.from_s).toBe(3);
});

test("where a window was cut the next goes on, and later ones are shorter", async () => {
  const { windows, asked, quiet } = served(0.4);
  windows.want(0.1, false);
  await quiet();
  windows.want(0.45, false);
  await quiet();
  expect(asked.map(({ from_s, to_s }) => [from_s, to_s])).toEqual([
    [0, 1],
    [0.4, 0.5],
    [0.44, 0.5],
  ]);
});

test("several wishes while one is under way: only the newest is fulfilled", async () => {
  const { windows, asked, quiet } = served();
  for (const time of [0.1, 1.1, 2.1]) windows.want(time, false);
  await quiet();
  expect(asked.map(({ from_s }) => from_s)).toEqual([0, 2]);
});

test("what is wrong is told, and nothing after the end", async () => {
  const wrongs: (string | null)[] = [];
  const windows = new Windows(
    SOURCE,
    (wrong) => wrongs.push(wrong),
    async () => "no such key",
  );
  windows.want(0, true);
  await new Promise((done) => setTimeout(done, 5));
  expect(wrongs).toEqual(["no such key"]);
  windows.close();
  windows.want(1, true);
  await new Promise((done) => setTimeout(done, 5));
  expect(wrongs).toEqual(["no such key"]);
});
