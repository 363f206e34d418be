// Converts the buffer of a queue discipline from tc's units to bandwidth-delay products.

import type { Controls } from "../types";

/** Disciplines with a limit in bytes; the others have a limit in packets. */
const IN_BYTES = new Set(["bfifo", "red"]);

export function bdpBytes(controls: Controls): number | null {
  const rate = controls.bottleneck?.rate_bps;
  return rate ? (rate / 8) * (controls.rtt_ns / 1e9) : null;
}

/** The limit of a discipline; null if it has none, or one that can't be converted to BDPs. */
export function bufferBdp(qdisc: string, bdp: number | null, mtu: number): number | null {
  const limit = /\blimit ([\d.]+)(bdp|[kKmM]?[bB]?)(?:\s|$)/.exec(qdisc);
  if (!limit) return null;
  const [, number, unit] = limit;
  if (unit === "bdp") return Number(number);
  if (!bdp) return null;
  const units: Record<string, number> = { kb: 1024, k: 1024, mb: 1024 ** 2, m: 1024 ** 2, kB: 1e3, KB: 1e3, MB: 1e6 };
  const bytes = IN_BYTES.has(qdisc.split(" ")[0] ?? "")
    ? Number(number) * (units[unit ?? ""] ?? 1)
    : Number(number) * mtu;
  return bytes / bdp;
}

export function withLimit(qdisc: string, limit: string): string {
  return qdisc.replace(/\blimit \S+/, `limit ${limit}`);
}
