// The stops of the path's sliders, and each of these controls as a range of edits for a sweep.

import { text as say } from "../messages/messages";
import type { Controls, Edit, Value } from "../types";
import { rateLabel, rateText, short, timeLabel, timeText } from "../units";
import { bdpBytes, bufferBdp, withLimit } from "./buffer";
import { notches } from "./notches";

export const RATE = notches(1e5, 1e10);
export const RTT = notches(1e5, 1e9);
export const BUFFER = notches(0.05, 50);
export const DURATION = notches(1e9, 300e9);
/** The first stop is no loss. */
export const LOSS = [0, ...notches(0.0001, 0.2)];

/** A control whose values can be swept. */
export interface Sweepable {
  name: "rate" | "rtt" | "buffer" | "loss";
  stops: number[];
  value: number;
  edits(value: number): Edit[];
  format(value: number): string;
}

/** The controls of an experiment that have a number. */
export function sweepable(now: Controls): Sweepable[] {
  const { bottleneck } = now;
  const all: (Omit<Sweepable, "value"> & { value: number | null })[] = [
    {
      ...{ name: "buffer", stops: BUFFER, format: (value: number) => `${short(value)} BDP` },
      value: bottleneck && bufferBdp(bottleneck.qdisc, bdpBytes(now), now.mtu_bytes),
      edits: (value: number) => [
        { key: "path.bottleneck.qdisc", value: withLimit(bottleneck?.qdisc ?? "", `${short(value)}bdp`) },
      ],
    },
    {
      ...{ name: "rate", stops: RATE, format: rateLabel, value: bottleneck?.rate_bps ?? null },
      edits: (value: number) => [{ key: "path.bottleneck.rate", value: rateText(value) }],
    },
    {
      ...{ name: "rtt", stops: RTT, format: timeLabel, value: now.rtt_ns || null },
      edits: (value: number) => rttEdits(now, value),
    },
    {
      ...{ name: "loss", stops: LOSS, value: lossOf(now.loss) },
      format: (value: number) => (value === 0 ? say("control.none") : `${short(value * 100)} %`),
      edits: (value: number) => [{ key: "path.loss", value: value === 0 ? null : `${short(value * 100)}%` }],
    },
  ];
  return all.filter((each): each is Sweepable => each.value !== null);
}

/** Another RTT, with the same part of it on the forward path. */
export function rttEdits({ rtt_ns, delay_ns }: Controls, value: number): Edit[] {
  const forward = { key: "path.forward_delay", value: timeText(Math.round((value * delay_ns) / rtt_ns)) };
  return [{ key: "path.rtt", value: timeText(value) }, ...(delay_ns && rtt_ns ? [forward] : [])];
}

/** A loss written as a percentage; null for one of another kind. */
export function lossOf(text: Value): number | null {
  if (text === null) return 0;
  const found = /^([\d.]+)%$/.exec(String(text));
  return found ? Number(found[1]) / 100 : null;
}
