// The player: the page's clock goes on with the time of the screen, as fast as the user wants, as far as packets are
// known. Views read its signals and call its actions; it is the only one here that writes `clock`.

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { clock, controls, figureData, problem, seed, text } from "../state";
import type { Indexed } from "./index";
import { Windows } from "./windows";

/** Where the player is, in seconds of the experiment; null before anybody used it. */
export const at = signal<number | null>(null);
export const playing = signal(false);
/** Is the stage on the page? Figures have the room until the user asks for packets. */
export const shown = signal(false);
/** Is it waiting for packets? */
export const buffering = signal(false);
export const problemText = signal<string | null>(null);
/** The packets of its time. */
export const known = signal<Indexed | null>(null);
const chosen = signal<number | null>(null);

export const SLOWEST = 1 / 1000;
/** A round trip takes so long on the screen where no one chose a speed. */
const TRIP_S = 2;
const EDGE_S = 1e-6;
const SETTLED_MS = 300;
const FRAME_MAX_S = 0.1;
/** The smallest packets that pass a link at its rate, about, in bits; with its ACKs. */
const PACKET_BITS = 12_000;
const ROWS_A_PACKET = 2;
const UNKNOWN_RATE_BPS = 1e8;

export const speed = computed(() => chosen.value ?? usual((controls.value?.rtt_ns ?? 0) / 1e9));

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
/** Does the user want less motion? Then nothing plays until they say so. */
export const still = signal(reduced.matches);
reduced.addEventListener("change", () => {
  still.value = reduced.matches;
  if (reduced.matches) pause();
});

let windows: Windows | null = null;
/** Is the text still being changed? */
let unsettled: ReturnType<typeof setTimeout> | undefined;
let before = 0;

export function play(): void {
  const end = figureData.value?.duration_s ?? 0;
  if (still.value || playing.value || !end) return;
  if (at.value === null || at.value >= end) seek(0);
  playing.value = true;
  before = performance.now();
  requestAnimationFrame(frame);
}

export function pause(): void {
  playing.value = false;
}

export function toggle(): void {
  if (playing.value) pause();
  else play();
}

export function slower(to: number): void {
  chosen.value = Math.min(Math.max(to, SLOWEST), 1);
}

/** The user wants to see this time. */
export function seek(seconds: number): void {
  const end = figureData.value?.duration_s;
  if (end === undefined) return;
  shown.value = true;
  move(Math.min(Math.max(seconds, 0), end));
}

/** Take the stage off the page. */
export function hide(): void {
  pause();
  shown.value = false;
}

/** The pointer is over a figure: its cursor follows where nothing plays, and goes back when it leaves. */
export function pointed(seconds: number | null): void {
  if (!playing.value) clock.value = seconds ?? at.value;
}

/** To the next event, or the last: a packet is sent, comes, leaves, arrives or dies. */
export function step(forwards: boolean): void {
  pause();
  const now = at.value ?? 0;
  const window = known.value;
  seek(window ? stepped(window, now, forwards) : now);
}

/** Beyond the window's edge the next press goes on. */
function stepped(window: Indexed, now: number, forwards: boolean): number {
  const event = window.event(now, forwards);
  if (event) return event.time;
  const { from_s, complete_s } = window.packets;
  return forwards ? Math.max(complete_s, now) : Math.max(from_s - EDGE_S, 0);
}

function frame(now: number): void {
  if (!playing.value || at.value === null) return;
  const passed = Math.min(Math.max((now - before) / 1000, 0), FRAME_MAX_S);
  before = now;
  const next = at.value + passed * speed.value;
  const end = figureData.value?.duration_s ?? 0;
  if (windows?.get(Math.min(next, end))) move(Math.min(next, end));
  else wait(next);
  if (next >= end) pause();
  else requestAnimationFrame(frame);
}

function move(time: number): void {
  const here = windows?.get(time) ?? null;
  batch(() => {
    at.value = time;
    clock.value = time;
    known.value = here;
    buffering.value = here === null;
  });
  requestTime(time);
}

function wait(time: number): void {
  buffering.value = true;
  requestTime(time);
}

function requestTime(time: number): void {
  if (unsettled !== undefined) return;
  windows ??= new Windows(source(), came);
  windows.want(time, playing.value);
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

function came(wrong: string | null): void {
  problemText.value = wrong;
  if (wrong !== null) pause();
  else if (at.value !== null && !known.value) seek(at.value);
}

/** Packets of another text are of no use. The new one's are asked for once no one turns anything any more. */
function changed(): void {
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
    if (at.value !== null && problem.value === null) seek(at.value);
  }, SETTLED_MS);
}

effect(() => {
  [text.value, seed.value];
  untracked(changed);
});

function usual(rtt_s: number): number {
  return Math.min(Math.max(rtt_s / TRIP_S, SLOWEST), 1);
}
