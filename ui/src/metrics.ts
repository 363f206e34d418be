// The metrics that the page requests; the server computes no others.

import { signal } from "@preact/signals";

interface Metric {
  name: string;
  factor: number;
  unit?: string;
}

/** Of every group. */
export const OF_GROUPS: Metric[] = [
  { name: "throughput_mbps", factor: 1 },
  { name: "share", factor: 100 },
  { name: "retransmit_rate", factor: 100 },
  { name: "rtt_ms.mean", factor: 1 },
  { name: "rtt_ms.p95", factor: 1 },
];

/** Of the path. */
export const OF_PATH: Metric[] = [
  { name: "utilization", factor: 100, unit: " %" },
  { name: "queue.delay_ms.mean", factor: 1, unit: " ms" },
  { name: "queue.delay_ms.p95", factor: 1, unit: " ms" },
  { name: "queue.drops", factor: 1, unit: " packets" },
  { name: "jain", factor: 1 },
];

/** Additional metrics, of the tour. */
export const additionalMetrics = signal<string[]>([]);

export function requestedMetrics(): string[] {
  const fixed = [...OF_GROUPS.map(({ name }) => `groups.*.${name}`), ...OF_PATH.map(({ name }) => name)];
  return [...fixed, ...additionalMetrics.value];
}
