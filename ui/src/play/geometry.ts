// The stage: where senders, wires, queues, the link and receivers are, for a width and a path. Pure.
//
//   sender ──wire──▶ | queue ▮▮▮▮ |▶ link ──wire──▶ receiver      a lane for each queue under test
//          ◀──────────────── ACKs ────────────────               one for the reverse path

import { isBack, type Packets, type QueueFacts } from "./packets";

/** Where packets wait: the end where they come in, the exit, and the far end of the link behind it. */
export interface Box {
  entry: number;
  exit: number;
  far: number;
  /** Packets that fit between entry and exit. */
  room: number;
  /** Is the limit where the entry is? */
  toScale: boolean;
}

export interface Lane {
  queue: QueueFacts | null;
  back: boolean;
  /** Where packets are sent from and where they go, from the left. */
  from: number;
  to: number;
  top: number;
  height: number;
  box: Box | null;
}

export interface Geometry {
  width: number;
  height: number;
  left: number;
  right: number;
  lanes: Lane[];
  /** What the rows of a lane are called: flows; or groups, where there are many flows. */
  rows: string[];
  /** Which row is a flow's; the last is everybody's for whom there is none. */
  rowOf(flow: string): number;
  laneOf(of: Packets, row: number): Lane;
}

export interface Ground {
  width: number;
  flows: { name: string; group: string }[];
  /** The largest backlog that was seen of each queue, in packets. */
  peaks: ReadonlyMap<string, number>;
}

const ROWS_MAX = 8;
/** Packets of further queues pass through the first lane, and are counted in words. */
const LANES_MAX = 4;
const NAMES_SHARE = 0.13;
const NAMES: [number, number] = [44, 110];
const END = 16;
const BOX_SHARE = 0.4;
const BOX: [number, number] = [90, 420];
const LINK = 26;
const STUB = 22;
const HEAD = 22;
const FALL = 26;
const FOOT = 10;
/** A limit so many times beyond what ever waited would leave nothing to see. */
const SCALE_MAX = 3;

export function geometryOf(of: Packets | null, { width, flows, peaks }: Ground): Geometry {
  const { rows, rowOf } = rowsOf(flows);
  const height = clamp(rows.length * 11, [34, 72]);
  const left = clamp(width * NAMES_SHARE, NAMES);
  const right = width - END;
  let top = HEAD;
  const there = queuesOf(of, false).map((queue) => {
    const box = boxOf(queue, left, right, of, peaks.get(queue?.name ?? "") ?? 0);
    const lane: Lane = { queue, back: false, from: left, to: right, top, height, box };
    top += height + FALL + HEAD;
    return lane;
  });
  const back = queuesOf(of, true).map((queue) => {
    const tall = Math.max(height * 0.7, 24);
    const box = queue && mirrored(boxOf(queue, left, right, null, peaks.get(queue.name) ?? 0), left, right);
    const lane: Lane = { queue, back: true, from: right, to: left, top, height: tall, box };
    top += tall + (queue ? FALL + HEAD : 0);
    return lane;
  });
  const lanes = [...there, ...back];
  const laneOf = laneFinder(there, back);
  return { width, height: top + FOOT, left, right, lanes, rows, rowOf, laneOf };
}

function rowsOf(flows: Ground["flows"]): Pick<Geometry, "rows" | "rowOf"> {
  const groups = [...new Set(flows.map((flow) => flow.group))];
  const many = flows.length > ROWS_MAX;
  const names = many ? groups : flows.map((flow) => flow.name);
  const rows = names.length > ROWS_MAX ? [...names.slice(0, ROWS_MAX - 1), "others"] : names;
  const places = new Map(flows.map(({ name, group }) => [name, rows.indexOf(many ? group : name)]));
  const last = Math.max(rows.length - 1, 0);
  const rowOf = (flow: string) => {
    const place = places.get(flow) ?? -1;
    return place < 0 ? last : place;
  };
  return { rows: rows.length ? rows : [""], rowOf };
}

/** The queues that packets of this direction wait in; null: in none. */
function queuesOf(of: Packets | null, back: boolean): (QueueFacts | null)[] {
  if (!of) return back ? [null] : [{ name: "queue", limit: null, written: "", rate_bps: null }];
  const seen = new Set<number>();
  for (let row = 0; row < of.rows; row++) {
    const queue = of.queue[row] as number;
    if (!Number.isNaN(queue) && isBack(of, row) === back) seen.add(queue);
  }
  const found = of.queues.filter((queue, place) => seen.has(place) || (!back && queue.name === of.bottleneck));
  if (found.length <= LANES_MAX) return found.length ? found : [null];
  const main = found.filter((queue) => queue.name === of.bottleneck);
  return [...main, ...found.filter((queue) => queue.name !== of.bottleneck)].slice(0, LANES_MAX);
}

function boxOf(queue: QueueFacts | null, left: number, right: number, of: Packets | null, peak: number): Box | null {
  if (!queue) return null;
  const size = clamp((right - left) * BOX_SHARE, BOX);
  const wires = right - left - size - LINK;
  const [before, after] = [of?.delays_s.before ?? 0, of?.delays_s.after ?? 0];
  const part = before + after > 0 ? before / (before + after) : 0.5;
  const entry = left + clamp(wires * part, [STUB, wires - STUB]);
  const seen = Math.max(peak, 1);
  const toScale = queue.limit !== null && (queue.limit <= SCALE_MAX * seen || queue.limit <= 20);
  const room = toScale ? (queue.limit as number) : Math.ceil(seen * 1.25) + 5;
  return { entry, exit: entry + size, far: entry + size + LINK, room, toScale };
}

function mirrored(box: Box | null, left: number, right: number): Box | null {
  if (!box) return null;
  const mirror = (x: number) => left + right - x;
  return { ...box, entry: mirror(box.entry), exit: mirror(box.exit), far: mirror(box.far) };
}

function laneFinder(there: Lane[], back: Lane[]) {
  return (of: Packets, row: number): Lane => {
    const lanes = isBack(of, row) ? back : there;
    const name = of.names.queue[of.queue[row] as number];
    return lanes.find((lane) => lane.queue?.name === name) ?? (lanes[0] as Lane);
  };
}

function clamp(value: number, [least, most]: [number, number]): number {
  return Math.min(Math.max(value, least), Math.max(least, most));
}
