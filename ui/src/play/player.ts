// The player: advances the page's time at the selected speed, as far as packets are loaded. Components read its signals
// and call its actions. No other module of this folder writes `clock`.

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { clock, controls, figureData, problem, seed, text } from "../state";
import type { FigureData } from "../types";
import type { PacketIndex } from "./index";
import { Windows } from "./windows";

/** The time of the player, in seconds of the experiment; null before its first use. */
export const at = signal<number | null>(null);
export const playing = signal(false);
/** The time under the pointer over a figure, which the stage then shows; null without one. */
const peeked = signal<number | null>(null);
/** The time that the stage shows. */
export const displayed = computed(() => peeked.value ?? at.value);
/** Whether it waits for packets. */
export const buffering = signal(false);
export const problemText = signal<string | null>(null);
/** The window of packets at its time. */
export const known = signal<PacketIndex | null>(null);
const chosenSpeed = signal<number | null>(null);

export const SLOWEST = 1 / 1000;
/** The duration of a round trip on the screen at the default speed. */
const ROUND_TRIP_S = 2;
const EDGE_S = 1e-6;
const SETTLED_MS = 300;
const FRAME_MAX_S = 0.1;
const ROUND_TRIPS_BEFORE = 2.5;
const PEAK_PART = 0.95;
/** An estimate of a packet's size, in bits, and of the rows for it and its ACKs. */
const PACKET_BITS = 12_000;
const ROWS_A_PACKET = 2;
const UNKNOWN_RATE_BPS = 1e8;

export const speed = computed(() => chosenSpeed.value ?? defaultSpeed((controls.value?.rtt_ns ?? 0) / 1e9));

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
/** Whether playback is disabled because the system requests reduced motion. The user can enable it. */
export const still = signal(reduced.matches);
reduced.addEventListener("change", () => {
  still.value = reduced.matches;
  if (reduced.matches) pause();
});

let windows: Windows | null = null;
/** Set while the text changes. */
let unsettled: ReturnType<typeof setTimeout> | undefined;
let lastFrame = 0;

export function play(): void {
  const end = figureData.value?.duration_s ?? 0;
  if (still.value || playing.value || !end) return;
  if (at.value === null || at.value >= end) seek(0);
  playing.value = true;
  lastFrame = performance.now();
  requestAnimationFrame(frame);
}

export function pause(): void {
  playing.value = false;
}

export function toggle(): void {
  if (playing.value) pause();
  else play();
}

export function setSpeed(to: number): void {
  chosenSpeed.value = Math.min(Math.max(to, SLOWEST), 1);
}

/** Show the packets of this time. */
export function seek(seconds: number): void {
  const end = figureData.value?.duration_s;
  if (end === undefined) return;
  peeked.value = null;
  move(Math.min(Math.max(seconds, 0), end));
}

/** Show the time under the pointer over a figure; a playing run waits there. It goes on when the pointer leaves. */
export function pointed(seconds: number | null): void {
  if (seconds === null && peeked.value === null) return;
  const end = figureData.value?.duration_s ?? 0;
  const time = seconds === null ? null : Math.min(Math.max(seconds, 0), end);
  batch(() => {
    peeked.value = time;
    const now = time ?? at.value;
    clock.value = now;
    if (now === null) return;
    known.value = windows?.get(now) ?? null;
    buffering.value = known.value === null;
    requestTime(now);
  });
}

/** Seek to the next or the previous event: a packet is sent, queued, dequeued, received or dropped. */
export function step(forwards: boolean): void {
  pause();
  const now = at.value ?? 0;
  const window = known.value;
  seek(window ? stepTime(window, now, forwards) : now);
}

/** The time of that event; without one the window's edge, from where the next step continues. */
function stepTime(window: PacketIndex, now: number, forwards: boolean): number {
  const event = window.event(now, forwards);
  if (event) return event.time;
  const { from_s, complete_s } = window.packets;
  return forwards ? Math.max(complete_s, now) : Math.max(from_s - EDGE_S, 0);
}

function frame(now: number): void {
  if (!playing.value || at.value === null) return;
  const elapsed = Math.min(Math.max((now - lastFrame) / 1000, 0), FRAME_MAX_S);
  lastFrame = now;
  if (peeked.value !== null) {
    requestAnimationFrame(frame);
    return;
  }
  const next = at.value + elapsed * speed.value;
  const end = figureData.value?.duration_s ?? 0;
  if (windows?.get(Math.min(next, end))) move(Math.min(next, end));
  else wait(next);
  if (next >= end) pause();
  else requestAnimationFrame(frame);
}

function move(time: number): void {
  batch(() => {
    at.value = time;
    show(time);
  });
}

/** Show the packets of a time, if they are loaded, and request them otherwise. */
function show(time: number): void {
  const window = windows?.get(time) ?? null;
  batch(() => {
    clock.value = time;
    known.value = window;
    buffering.value = window === null;
  });
  requestTime(time);
}

function wait(time: number): void {
  buffering.value = true;
  requestTime(time);
}

function requestTime(time: number): void {
  if (unsettled !== undefined) return;
  windows ??= new Windows(source(), windowLoaded);
  windows.request(time, playing.value);
}

function source() {
  const rate_bps = controls.value?.bottleneck?.rate_bps ?? UNKNOWN_RATE_BPS;
  return {
    toml: text.value,
    seed: seed.value,
    duration_s: figureData.value?.duration_s ?? 0,
    packets_per_s: (rate_bps / PACKET_BITS) * ROWS_A_PACKET,
  };
}

function windowLoaded(error: string | null): void {
  problemText.value = error;
  if (error !== null) pause();
  else if (displayed.value !== null && !known.value) show(displayed.value);
}

/** Discard the packets of the old text. Those of the new one are requested after a time without changes. */
function discardWindows(): void {
  windows?.close();
  windows = null;
  batch(() => {
    known.value = null;
    buffering.value = at.value !== null && problem.value === null;
    problemText.value = null;
  });
  clearTimeout(unsettled);
  unsettled = setTimeout(() => {
    unsettled = undefined;
    if (displayed.value !== null && problem.value === null) show(displayed.value);
  }, SETTLED_MS);
}

effect(() => {
  [text.value, seed.value];
  untracked(discardWindows);
});

// The picture moves from the first figure on.
let begun = false;
effect(() => {
  const first = figureData.value;
  if (begun || !first) return;
  begun = true;
  untracked(() => begin(first));
});

/** Start where the queue is fullest for the first time, less some round trips: it fills, and perhaps drops. */
function begin(of: FigureData): void {
  const rtt_s = (controls.value?.rtt_ns ?? 0) / 1e9;
  seek(Math.max(firstPeak(of) - ROUND_TRIPS_BEFORE * rtt_s, 0));
  play();
}

function firstPeak(of: FigureData): number {
  const lines = of.panels
    .find(({ name }) => name === "queue")
    ?.layers.flatMap((each) => (each.kind === "lines" ? each.lines : []));
  const [line] = lines ?? [];
  if (!line) return 0;
  const [times, backlog] = [of.column(line.s), of.column(line.v)];
  const most = backlog.reduce((largest, value) => Math.max(largest, value), 0);
  const index = backlog.findIndex((value) => value >= PEAK_PART * most);
  return most > 0 ? (times[index] ?? 0) : 0;
}

function defaultSpeed(rtt_s: number): number {
  return Math.min(Math.max(rtt_s / ROUND_TRIP_S, SLOWEST), 1);
}
