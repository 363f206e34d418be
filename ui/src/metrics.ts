// The metrics that the page requests; the server computes no others.

import { signal } from "@preact/signals";

interface Metric {
  name: string;
  title: string;
  factor: number;
  unit?: string;
}

/** Of every group. */
export const OF_GROUPS: Metric[] = [
  { name: "throughput_mbps", title: "Mbit/s", factor: 1 },
  { name: "share", title: "share, %", factor: 100 },
  { name: "retransmit_rate", title: "retransmitted, %", factor: 100 },
  { name: "rtt_ms.mean", title: "RTT, ms", factor: 1 },
  { name: "rtt_ms.p95", title: "RTT p95, ms", factor: 1 },
];

/** Of the path. */
export const OF_PATH: Metric[] = [
  { name: "utilization", title: "utilization", factor: 100, unit: " %" },
  { name: "queue.delay_ms.mean", title: "queueing delay, mean", factor: 1, unit: " ms" },
  { name: "queue.delay_ms.p95", title: "queueing delay, p95", factor: 1, unit: " ms" },
  { name: "queue.drops", title: "dropped", factor: 1, unit: " packets" },
  { name: "jain", title: "fairness (Jain's index)", factor: 1 },
];

/** Additional metrics, of the tour. */
export const additionalMetrics = signal<string[]>([]);

export function requestedMetrics(): string[] {
  const fixed = [...OF_GROUPS.map(({ name }) => `groups.*.${name}`), ...OF_PATH.map(({ name }) => name)];
  return [...fixed, ...additionalMetrics.value];
}
