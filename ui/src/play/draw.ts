// Draws the stage on a canvas: links, queues, and packets as strokes of their length on the link. `locate` computes their
// locations.
//
// Colour is never the only distinction: each flow has a row in every lane, ACKs are short and on the reverse path,
// retransmissions are hollow, packets marked by a queue have a dot, and dropped packets fall as crosses.

import { rateLabel, timeLabel } from "../units";
import type { Geometry, Lane } from "./geometry";
import type { PacketIndex } from "./index";
import { dropLocation, ends, locate, type PacketLocation, Zone } from "./position";

export interface Palette {
  text: string;
  line: string;
  box: string;
  paper: string;
  limit: string;
  /** Texts of the picture. */
  words: { reverse: string; scale: string };
  /** The colour of a flow, and whether its lines are shown in the figures. */
  flow(name: string): { colour: string; shown: boolean };
}

export interface Moment {
  time: number;
  /** Seconds of the experiment in a second on the screen. */
  speed: number;
}

const FADE_S = 0.9;
const FALL_PX = 24;
const LENGTHS: [number, number] = [1.5, 9];
const HIDDEN_ALPHA = 0.15;
const FONT = "12px system-ui, sans-serif";
const NODE_PX = 8;
const LABEL_ABOVE = 6;
/** Minimum width of retransmitted and marked packets. */
const SPECIAL_PX = 5;
/** Packets at a smaller distance are drawn as one stroke. */
const SAME_PX = 0.5;
/** Fractions of a row's height: of an ACK, of one packet; and the number of packets that fill it. */
const SMALL = 0.4;
const ONE = 0.6;
const MANY = 12;

export function drawStage(
  canvas: CanvasRenderingContext2D,
  of: PacketIndex | null,
  geometry: Geometry,
  palette: Palette,
  now: Moment,
) {
  canvas.clearRect(0, 0, geometry.width, geometry.height);
  canvas.font = FONT;
  canvas.textBaseline = "alphabetic";
  for (const lane of geometry.lanes) drawLane(canvas, lane, geometry, palette);
  if (!of) return;
  drawDelays(canvas, of, geometry, palette);
  drawNames(canvas, geometry, palette);
  const waiting = new Map<Lane, number[]>();
  const strokes = new Strokes(canvas, of, geometry, palette);
  for (const row of of.candidates(now.time)) {
    const location = locate(of.packets, row, now.time, geometry);
    if (location.zone === Zone.Queue) push(waiting, location.lane, row);
    else if (location.zone > Zone.Unsent && location.zone < Zone.Arrived) strokes.addMoving(row, location);
  }
  for (const [lane, rows] of waiting) drawQueue(strokes, of, lane, rows, now.time);
  strokes.paint();
  drawDrops(canvas, of, geometry, palette, now);
}

/** Draw packets in a queue in the order of their arrival; while one is transmitted, those behind it move up. */
function drawQueue(strokes: Strokes, of: PacketIndex, lane: Lane, rows: number[], time: number): void {
  if (!lane.box) return;
  const { entry, exit, capacity } = lane.box;
  const { queued, dequeued, queue } = of.packets;
  rows.sort((one, other) => (queued[one] as number) - (queued[other] as number) || one - other);
  const [last, next] = of.around(queue[rows[0] as number] as number, time);
  const leaving = rows.findIndex((row) => dequeued[row] === next);
  const from = Math.max(last, queued[rows[Math.max(leaving, 0)] as number] as number);
  const served = leaving < 0 || next <= from ? 0 : Math.min((time - from) / (next - from), 1);
  const pitch = (entry - exit) / capacity;
  rows.forEach((row, rank) => {
    const slots = leaving >= 0 && rank >= leaving ? rank + 1 - served : rank + 1;
    strokes.addQueued(row, lane, exit + pitch * slots, Math.abs(pitch));
  });
}

/** Packets of one flow at the same location: one stroke, whose height grows with their number. */
interface Stroke {
  lane: Lane;
  x: number;
  width: number;
  small: boolean;
  packets: number;
}

interface Drawn {
  strokes: Stroke[];
  /** Retransmitted: hollow. */
  hollow: Stroke[];
  /** Marked by a queue: with a dot. */
  dotted: Stroke[];
}

/** Strokes grouped by flow, because changing the colour for each of thousands of packets is slow. */
class Strokes {
  private readonly flows = new Map<number, Drawn>();
  private readonly data: number;

  constructor(
    private readonly canvas: CanvasRenderingContext2D,
    private readonly of: PacketIndex,
    private readonly geometry: Geometry,
    private readonly palette: Palette,
  ) {
    this.data = of.packets.names.kind.indexOf("data");
  }

  addMoving(row: number, location: PacketLocation): void {
    this.add(
      row,
      location.lane,
      location.x,
      this.length(row, location),
      location.zone === Zone.Link || location.zone === Zone.After,
    );
  }

  /** Add a queued packet; `pitch` is the distance of packets in pixels. */
  addQueued(row: number, lane: Lane, x: number, pitch: number): void {
    this.add(row, lane, x, Math.max(pitch >= 3 ? pitch - 1 : pitch, 0.6), false);
  }

  paint(): void {
    for (const [flow, drawn] of this.flows) {
      const { colour, shown } = this.palette.flow(this.of.packets.names.flow[flow] as string);
      this.canvas.globalAlpha = shown ? 1 : HIDDEN_ALPHA;
      this.canvas.fillStyle = colour;
      for (const stroke of drawn.strokes) this.canvas.fillRect(...this.rectangle(flow, stroke));
      this.canvas.fillStyle = this.palette.paper;
      this.canvas.strokeStyle = colour;
      this.canvas.lineWidth = 1.5;
      for (const stroke of drawn.hollow) {
        this.canvas.fillRect(...this.rectangle(flow, stroke));
        this.canvas.strokeRect(...this.rectangle(flow, stroke));
      }
      for (const stroke of drawn.dotted) this.dot(this.rectangle(flow, stroke));
    }
    this.canvas.globalAlpha = 1;
  }

  private add(row: number, lane: Lane, x: number, width: number, isBehind: boolean): void {
    const { packets } = this.of;
    const flow = packets.flow[row] as number;
    const drawn = this.flows.get(flow) ?? { strokes: [], hollow: [], dotted: [] };
    this.flows.set(flow, drawn);
    const stroke = { lane, x, width, small: packets.kind[row] !== this.data, packets: 1 };
    const special = { ...stroke, width: Math.max(width, SPECIAL_PX) };
    const last = drawn.strokes.at(-1);
    if (packets.retransmit[row]) drawn.hollow.push(special);
    // Rows are in the order of sending: packets of a burst are adjacent.
    else if (last?.lane === lane && Math.abs(last.x - x) < SAME_PX) last.packets++;
    else drawn.strokes.push(stroke);
    if (packets.marked[row] && isBehind) drawn.dotted.push(special);
  }

  private rectangle(flow: number, { lane, x, width, small, packets }: Stroke): [number, number, number, number] {
    const { rows, rowOf } = this.geometry;
    const [top, height] = rowSpan(lane, rowOf(this.of.packets.names.flow[flow] as string), rows.length);
    const fraction = small ? SMALL : Math.min(ONE + (1 - ONE) * (Math.log2(packets) / Math.log2(MANY)), 1);
    return [lane.reverse ? x : x - width, top + (height * (1 - fraction)) / 2, width, height * fraction];
  }

  private dot([left, top, width, height]: [number, number, number, number]): void {
    this.canvas.beginPath();
    this.canvas.arc(left + width / 2, top + height / 2, 2, 0, 7);
    this.canvas.fill();
    this.canvas.stroke();
  }

  /** The packet's length on this section at the link's rate, clamped to visible lengths. */
  private length(row: number, { lane, zone }: PacketLocation): number {
    const { delays_s, size } = this.of.packets;
    const rate = (lane.queue ?? this.of.packets.queues[0])?.rate_bps;
    const [from, to] = ends(lane, zone);
    const through = lane.reverse ? delays_s.back : (delays_s.before ?? 0) + (delays_s.after ?? 0);
    const delay_s = zone === Zone.Before ? delays_s.before : zone === Zone.After ? delays_s.after : through;
    if (!rate || !delay_s) return LENGTHS[1] / 3;
    const length = ((((size[row] as number) * 8) / rate) * Math.abs(to - from)) / delay_s;
    return Math.min(Math.max(length, LENGTHS[0]), LENGTHS[1]);
  }
}

function drawLane(canvas: CanvasRenderingContext2D, lane: Lane, { left, right }: Geometry, palette: Palette): void {
  const { top, height, box, reverse, queue } = lane;
  canvas.fillStyle = palette.box;
  canvas.fillRect(left, top, right - left, height);
  canvas.fillStyle = palette.text;
  canvas.textAlign = "left";
  const label = top - LABEL_ABOVE;
  if (reverse) canvas.fillText(`◂ ${palette.words.reverse}`, left, label);
  if (!box) return;
  const [from, to] = [Math.min(box.entry, box.exit), Math.max(box.entry, box.exit)];
  canvas.fillStyle = palette.paper;
  canvas.fillRect(from, top, to - from, height);
  canvas.strokeStyle = palette.line;
  canvas.lineWidth = 1;
  canvas.strokeRect(from, top - 0.5, to - from, height + 1);
  drawLink(canvas, lane, palette);
  canvas.textAlign = "left";
  canvas.fillStyle = palette.text;
  const limit = queue?.written && (box.toScale ? queue.written : `${queue.written}, ${palette.words.scale}`);
  const rate = queue?.rate_bps ? rateLabel(queue.rate_bps) : "";
  if (!reverse) canvas.fillText(rate, box.exit + 5, label);
  const caption = [queue?.name, limit].filter(Boolean).join(", ");
  if (!reverse) canvas.fillText(truncated(canvas, caption, to - from), from, label);
  if (!box.toScale) return;
  canvas.strokeStyle = palette.limit;
  canvas.lineWidth = 2;
  canvas.setLineDash([4, 3]);
  canvas.beginPath();
  canvas.moveTo(box.entry, top - 3);
  canvas.lineTo(box.entry, top + height + 3);
  canvas.stroke();
  canvas.setLineDash([]);
}

/** Write the delay of each section of the path above it. */
function drawDelays(canvas: CanvasRenderingContext2D, of: PacketIndex, { lanes }: Geometry, palette: Palette): void {
  const { before, after, back } = of.packets.delays_s;
  const write = (seconds: number | null, from: number, to: number, top: number) => {
    if (!seconds) return;
    const label = timeLabel(Number((seconds * 1e9).toPrecision(3)));
    if (canvas.measureText(label).width < Math.abs(to - from))
      canvas.fillText(label, (from + to) / 2, top - LABEL_ABOVE);
  };
  canvas.textAlign = "center";
  canvas.fillStyle = palette.text;
  for (const { from, to, top, box, reverse } of lanes) {
    if (reverse && back) {
      canvas.textAlign = "right";
      canvas.fillText(timeLabel(Number((back * 1e9).toPrecision(3))), from, top - LABEL_ABOVE);
      canvas.textAlign = "center";
    } else if (box) {
      write(before, from, box.entry, top);
      write(after, box.far, to, top);
    }
  }
}

/** Draw the link as a funnel from the queue to the path. */
function drawLink(canvas: CanvasRenderingContext2D, { top, height, box }: Lane, palette: Palette): void {
  if (!box) return;
  const narrow = height * 0.25;
  canvas.beginPath();
  canvas.moveTo(box.exit, top);
  canvas.lineTo(box.far, top + narrow);
  canvas.lineTo(box.far, top + height - narrow);
  canvas.lineTo(box.exit, top + height);
  canvas.closePath();
  canvas.fillStyle = palette.line;
  canvas.fill();
}

/** Draw the sender and the receiver of each row in the flow's colour. */
function drawNames(canvas: CanvasRenderingContext2D, geometry: Geometry, palette: Palette): void {
  const { rows, lanes, left, right } = geometry;
  const [lane] = lanes;
  if (!lane) return;
  canvas.textAlign = "right";
  rows.forEach((name, row) => {
    const [top, height] = rowSpan(lane, row, rows.length);
    const [middle, radius] = [top + height / 2, Math.min(height / 2, NODE_PX)];
    canvas.fillStyle = palette.flow(name).colour;
    for (const x of [left - radius, right + radius]) {
      canvas.beginPath();
      canvas.arc(x, middle, radius, 0, 7);
      canvas.fill();
    }
    canvas.fillStyle = palette.text;
    canvas.fillText(truncated(canvas, name, left - 2 * radius - 6), left - 2 * radius - 4, middle + 4);
  });
}

function drawDrops(
  canvas: CanvasRenderingContext2D,
  of: PacketIndex,
  geometry: Geometry,
  palette: Palette,
  now: Moment,
): void {
  const { packets } = of;
  canvas.lineWidth = 2;
  for (const row of of.dropped(now.time - FADE_S * now.speed, now.time)) {
    const progress = (now.time - (packets.dropped[row] as number)) / (FADE_S * now.speed);
    const lane = geometry.laneOf(packets, row);
    const x = dropLocation(packets, row, lane) + ((row % 5) - 2) * 2 * progress;
    const y = lane.top + lane.height + 4 + FALL_PX * progress ** 2;
    canvas.globalAlpha = 1 - progress ** 2;
    canvas.strokeStyle = palette.flow(packets.names.flow[packets.flow[row] as number] as string).colour;
    canvas.beginPath();
    canvas.moveTo(x - 3.5, y - 3.5);
    canvas.lineTo(x + 3.5, y + 3.5);
    canvas.moveTo(x + 3.5, y - 3.5);
    canvas.lineTo(x - 3.5, y + 3.5);
    canvas.stroke();
  }
  canvas.globalAlpha = 1;
}

function push(waiting: Map<Lane, number[]>, lane: Lane, row: number): void {
  const rows = waiting.get(lane);
  if (rows) rows.push(row);
  else waiting.set(lane, [row]);
}

/** The top and the height of a lane's row. */
function rowSpan(lane: Lane, row: number, rows: number): [number, number] {
  const height = lane.height / rows;
  return [lane.top + row * height + 1, Math.max(height - 2, 2)];
}

function truncated(canvas: CanvasRenderingContext2D, text: string, width: number): string {
  if (canvas.measureText(text).width <= width) return text;
  let end = text.length - 1;
  while (end > 1 && canvas.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return `${text.slice(0, end)}…`;
}
