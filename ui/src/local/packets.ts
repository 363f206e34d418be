// The packets of a time window without a server, in the form of the server's answer (`python/dumbbell/web/live_figures.py`).

import type { Header, Packets, Time, WindowRequest } from "../play/packets";
import type { Start } from "../types";
import { descriptionOf, MOST_BYTES, problemFrom } from "./figures";
import { type Column, numbers, type QueueDescription, simulator, type Table } from "./simulator";
import { experimentOf, filesOf } from "./text";

const NS = 1e9;
const MOST_ROWS = 200_000;
const TIMES: Time[] = ["sent", "queued", "dequeued", "departed", "received", "dropped"];
const NAMES = ["flow", "kind", "direction", "queue", "dropped_at"] as const;
const COUNTS = { sequence: "sequence_bytes", size: "size_bytes", retransmit: "retransmit", marked: "marked" } as const;

type Limits = Record<string, [packets: number, text: string]>;
type Columns = Record<(typeof NAMES)[number] | keyof typeof COUNTS | Time, Float64Array>;

/** Record the packets of a window; a string is an error message. */
export async function packetsOf(start: Start, { toml, seed, from_s, to_s }: WindowRequest): Promise<Packets | string> {
  try {
    const duration_ns = Number((await experimentOf(toml)).experiment.duration);
    const { queues, bottleneck } = await descriptionOf(start, toml, seed);
    const duration_s = duration_ns / NS;
    const [from, to] = [Math.min(from_s, duration_s), Math.min(to_s, duration_s)];
    const { packets } = await simulator();
    const files = await filesOf(toml, start);
    const found = await packets(toml, { seed, files, mostBytes: MOST_BYTES, from, to, mostRows: MOST_ROWS });
    return described(found, { from, to }, queues, bottleneck);
  } catch (error) {
    return (await problemFrom(error)).text;
  }
}

function described(
  { packets: table, leftOut: left_out, limits }: { packets: Table; leftOut: number; limits: Limits },
  { from, to }: { from: number; to: number },
  planned: QueueDescription[],
  bottleneck: string | null,
): Packets {
  const names = Object.fromEntries(NAMES.map((name) => [name, table.columns[name]?.names ?? []]));
  const columns = columnsOf(table);
  const last = columns.sent.at(-1) ?? 0;
  const seen = queuesSeen(columns, names.queue ?? []);
  const header: Header = {
    from_s: from,
    to_s: to,
    complete_s: left_out ? Math.max(from, last) : to,
    left_out,
    rows: table.rows,
    names: names as Header["names"],
    queues: (names.queue ?? [])
      .filter((name) => seen.has(name) || planned.some((queue) => queue.name === name && queue.under_test))
      .map((name) => queueFacts(name, limits[name], planned)),
    bottleneck: !seen.size || seen.has(bottleneck ?? "") ? bottleneck : null,
    delays_s: delays(columns, names.direction ?? []),
  };
  return { ...header, ...columns };
}

function columnsOf({ columns }: Table): Columns {
  const of = (name: string) => numbers(columns[name] as Column);
  return Object.fromEntries([
    ...NAMES.map((name) => [name, of(name)]),
    ...Object.entries(COUNTS).map(([name, column]) => [name, of(column)]),
    ...TIMES.map((name) => [name, of(`${name}_ns`).map((ns) => ns / NS)]),
  ]);
}

function queuesSeen({ queue }: Columns, names: string[]): Set<string> {
  const codes = new Set(queue);
  return new Set(names.filter((_, code) => codes.has(code)));
}

function queueFacts(name: string, limit: Limits[string] | undefined, planned: QueueDescription[]) {
  const entry = planned.find((queue) => queue.name === name);
  if (!entry) return { name, limit: null, written: "", rate_bps: null };
  return { name, limit: limit?.[0] ?? null, written: limit?.[1] ?? "", rate_bps: entry.rates[0]?.[1] ?? null };
}

function delays(columns: Columns, directions: string[]): Header["delays_s"] {
  const least = (direction: string, earlier: Time, later: Time) => {
    const code = directions.indexOf(direction);
    let found = Number.POSITIVE_INFINITY;
    columns.direction.forEach((each, row) => {
      const delay = (columns[later][row] as number) - (columns[earlier][row] as number);
      if (each === code && delay < found) found = delay;
    });
    return Number.isFinite(found) ? found : null;
  };
  return {
    before: least("forward", "sent", "queued"),
    after: least("forward", "departed", "received"),
    back: least("backward", "sent", "received"),
  };
}
