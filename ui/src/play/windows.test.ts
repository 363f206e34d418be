import { expect, test } from "vitest";
import type { WindowRequest } from "./packets";
import { packetsOf } from "./samplePackets";
import { type FetchWindow, Windows } from "./windows";

const SOURCE = { toml: "…", seed: 1, duration_s: 3.3, packets_per_s: 20_000 };

/** Windows with a server that records its requests and returns a fraction of each window. */
function recordingServer(fraction = 1): {
  windows: Windows;
  requests: WindowRequest[];
  idle(): Promise<void>;
  errors: (string | null)[];
} {
  const [requests, errors]: [WindowRequest[], (string | null)[]] = [[], []];
  const fetchWindow: FetchWindow = async (body) => {
    requests.push(body);
    const complete_s = body.from_s + (body.to_s - body.from_s) * fraction;
    return { ...packetsOf([]), ...body, complete_s, left_out: fraction < 1 ? 9 : 0 };
  };
  const windows = new Windows(SOURCE, (error) => errors.push(error), fetchWindow);
  return { windows, requests, idle: () => new Promise((done) => setTimeout(done, 5)), errors };
}

test("a time's window is requested once, and with ahead the following one", async () => {
  const { windows, requests, idle } = recordingServer();
  windows.request(1.5, false);
  await idle();
  windows.request(1.6, false);
  await idle();
  expect(requests.map(({ from_s, to_s }) => [from_s, to_s])).toEqual([[1, 2]]);
  windows.request(1.6, true);
  await idle();
  expect(requests.length).toBe(2);
  expect(windows.get(2.5)?.packets.to_s).toBe(3);
  expect(windows.get(0.5)).toBeNull();
});

test("the last window includes the run's end, and none after it is requested", async () => {
  const { windows, requests, idle } = recordingServer();
  windows.request(3.3, true);
  await idle();
  expect(requests.map(({ from_s, to_s }) => [from_s, to_s])).toEqual([[3, 3.3]]);
  expect(windows.get(3.3)?.packets.from_s).toBe(3);
});

test("after an incomplete window the next continues, and later ones are shorter", async () => {
  const { windows, requests, idle } = recordingServer(0.4);
  windows.request(0.1, false);
  await idle();
  windows.request(0.45, false);
  await idle();
  expect(requests.map(({ from_s, to_s }) => [from_s, to_s])).toEqual([
    [0, 1],
    [0.4, 0.5],
    [0.44, 0.5],
  ]);
});

test("of several requests during an active one only the newest is sent", async () => {
  const { windows, requests, idle } = recordingServer();
  for (const time of [0.1, 1.1, 2.1]) windows.request(time, false);
  await idle();
  expect(requests.map(({ from_s }) => from_s)).toEqual([0, 2]);
});

test("an error is reported, and nothing after close", async () => {
  const errors: (string | null)[] = [];
  const windows = new Windows(
    SOURCE,
    (error) => errors.push(error),
    async () => "no such key",
  );
  windows.request(0, true);
  await new Promise((done) => setTimeout(done, 5));
  expect(errors).toEqual(["no such key"]);
  windows.close();
  windows.request(1, true);
  await new Promise((done) => setTimeout(done, 5));
  expect(errors).toEqual(["no such key"]);
});
