// The layout of the stage: senders, links, queues and receivers, for a width and a path. Pure functions.
//
//   sender ────────▶ | queue ▮▮▮▮ |▶ link ────────▶ receiver      a lane for each queue under test
//          ◀──────────────── ACKs ────────────────               one for the reverse path

import { isReverse, type Packets, type QueueFacts } from "./packets";

/** A queue: its entry, its exit, and the end of the link behind it. */
export interface Box {
  entry: number;
  exit: number;
  far: number;
  /** Packets that fit between entry and exit. */
  capacity: number;
  /** Whether the entry is at the queue's limit. */
  toScale: boolean;
}

export interface Lane {
  queue: QueueFacts | null;
  reverse: boolean;
  /** The positions of the sender and of the receiver, from the left. */
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
  /** The names of a lane's rows: flows, or groups if there are many flows. */
  rows: string[];
  /** The row of a flow; the last row for flows without one. */
  rowOf(flow: string): number;
  laneOf(of: Packets, row: number): Lane;
}

export interface StageInputs {
  width: number;
  flows: { name: string; group: string }[];
  /** The largest backlog of each queue, in packets. */
  peaks: ReadonlyMap<string, number>;
}

/** Below this width rows are low and near. */
const NARROW = 480;
const ROWS_MAX = 8;
/** Packets of further queues are drawn in the first lane; the description counts them. */
const LANES_MAX = 4;
const NAMES_SHARE = 0.13;
const NAMES: [number, number] = [62, 120];
const END = 20;
const BOX_SHARE = 0.4;
const BOX: [number, number] = [90, 420];
const LINK = 26;
const STUB = 22;
const HEAD = 22;
const FALL = 26;
const FOOT = 10;
/** A limit that exceeds the largest backlog by this factor is not drawn to scale: the packets would be too small. */
const SCALE_MAX = 3;

export function geometryOf(of: Packets | null, { width, flows, peaks }: StageInputs): Geometry {
  const { rows, rowOf } = rowsOf(flows);
  const small = width < NARROW;
  const height = clamp(rows.length * (small ? 13 : 20), small ? [30, 72] : [42, 96]);
  const [head, fall] = small ? [18, 15] : [HEAD, FALL];
  const left = clamp(width * NAMES_SHARE, NAMES);
  const right = width - END;
  let top = head;
  const forward = queuesOf(of, false).map((queue) => {
    const box = boxOf(queue, left, right, of, peaks.get(queue?.name ?? "") ?? 0);
    const lane: Lane = { queue, reverse: false, from: left, to: right, top, height, box };
    top += height + fall + head;
    return lane;
  });
  const reverse = queuesOf(of, true).map((queue) => {
    const laneHeight = Math.max(height * 0.55, 20);
    const box = queue && mirrored(boxOf(queue, left, right, null, peaks.get(queue.name) ?? 0), left, right);
    const lane: Lane = { queue, reverse: true, from: right, to: left, top, height: laneHeight, box };
    top += laneHeight + (queue ? fall + head : 0);
    return lane;
  });
  const lanes = [...forward, ...reverse];
  const laneOf = laneFinder(forward, reverse);
  return { width, height: top + (small ? 2 : FOOT), left, right, lanes, rows, rowOf, laneOf };
}

function rowsOf(flows: StageInputs["flows"]): Pick<Geometry, "rows" | "rowOf"> {
  const groups = [...new Set(flows.map((flow) => flow.group))];
  const many = flows.length > ROWS_MAX;
  const names = many ? groups : flows.map((flow) => flow.name);
  const rows = names.length > ROWS_MAX ? [...names.slice(0, ROWS_MAX - 1), "others"] : names;
  const indices = new Map(flows.map(({ name, group }) => [name, rows.indexOf(many ? group : name)]));
  const last = Math.max(rows.length - 1, 0);
  const rowOf = (flow: string) => {
    const index = indices.get(flow) ?? -1;
    return index < 0 ? last : index;
  };
  return { rows: rows.length ? rows : [""], rowOf };
}

/** The queues of packets of this direction; null for a lane without a queue. */
function queuesOf(of: Packets | null, reverse: boolean): (QueueFacts | null)[] {
  if (!of) return reverse ? [null] : [{ name: "queue", limit: null, written: "", rate_bps: null }];
  const seen = new Set<number>();
  for (let row = 0; row < of.rows; row++) {
    const queue = of.queue[row] as number;
    if (!Number.isNaN(queue) && isReverse(of, row) === reverse) seen.add(queue);
  }
  const found = of.queues.filter((queue, index) => seen.has(index) || (!reverse && queue.name === of.bottleneck));
  if (found.length <= LANES_MAX) return found.length ? found : [null];
  const main = found.filter((queue) => queue.name === of.bottleneck);
  return [...main, ...found.filter((queue) => queue.name !== of.bottleneck)].slice(0, LANES_MAX);
}

function boxOf(queue: QueueFacts | null, left: number, right: number, of: Packets | null, peak: number): Box | null {
  if (!queue) return null;
  const size = clamp((right - left) * BOX_SHARE, BOX);
  const remaining = right - left - size - LINK;
  const [before, after] = [of?.delays_s.before ?? 0, of?.delays_s.after ?? 0];
  const fraction = before + after > 0 ? before / (before + after) : 0.5;
  const entry = left + clamp(remaining * fraction, [STUB, remaining - STUB]);
  const backlog = Math.max(peak, 1);
  const toScale = queue.limit !== null && (queue.limit <= SCALE_MAX * backlog || queue.limit <= 20);
  const capacity = toScale ? (queue.limit as number) : Math.ceil(backlog * 1.25) + 5;
  return { entry, exit: entry + size, far: entry + size + LINK, capacity, toScale };
}

function mirrored(box: Box | null, left: number, right: number): Box | null {
  if (!box) return null;
  const mirror = (x: number) => left + right - x;
  return { ...box, entry: mirror(box.entry), exit: mirror(box.exit), far: mirror(box.far) };
}

function laneFinder(forward: Lane[], reverse: Lane[]) {
  return (of: Packets, row: number): Lane => {
    const lanes = isReverse(of, row) ? reverse : forward;
    const name = of.names.queue[of.queue[row] as number];
    return lanes.find((lane) => lane.queue?.name === name) ?? (lanes[0] as Lane);
  };
}

function clamp(value: number, [minimum, maximum]: [number, number]): number {
  return Math.min(Math.max(value, minimum), Math.max(minimum, maximum));
}
