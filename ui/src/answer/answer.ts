// The sentence that answers: who gets the link, and what it costs; what to try next, and the lesson that explains it.
// Pure functions of a run's numbers and of the controls' values. `messages` has the texts.

import { bdpBytes, bufferBdp, withLimit } from "../controls/buffer";
import type { Controls, Edit, Group } from "../types";

export type Numbers = Readonly<Record<string, number>>;

/** A text's key and the values of its placeholders. */
export interface Phrase {
  key: string;
  values: Record<string, Value>;
}

export type Value = { text: string } | { number: number; unit: "%" | "ms" | "s" | "Mbit/s" | "BDP" | "packets" | "" };

/** A suggestion: what it does, its edits, and the lesson that explains what it shows. */
export interface Next {
  phrase: Phrase;
  edits: Edit[];
  lesson: string;
}

export interface Answer {
  phrases: Phrase[];
  next: Next | null;
}

/** From here on a share differs from an equal one. */
const UNEVEN = 0.1;
const FULL = 0.9;
/** A queueing delay is long from this part of the RTT, and from this time on. */
const LONG_PART = 0.4;
const LONG_MS = 4;
const RANDOM_LOSS = 0.0005;
const DEEP_BDP = 8;
const MIDDLE_BDP = 2;
const SHALLOW_BDP = 0.5;
/** Controllers that lower their rate for a loss. */
const LOSS_BASED = new Set(["cubic", "reno", "bic", "highspeed", "htcp", "scalable", "yeah", "illinois", "westwood"]);
/** Disciplines with a queue for each flow. */
const FLOW_QUEUES = new Set(["fq", "fq_codel", "fq_pie", "cake", "sfq", "drr"]);
const DROP_TAIL = new Set(["pfifo", "bfifo", "tbf"]);

/** The answer of a valid run; null without groups. */
export function answerOf(numbers: Numbers, controls: Controls): Answer | null {
  if (!controls.flows.length) return null;
  const facts = factsOf(numbers, controls);
  return { phrases: [whoGets(facts), ...costs(facts)], next: nextOf(facts) };
}

/** The group with the largest share beyond an equal one of its flows. */
export function leader(numbers: Numbers, controls: Controls): Group | undefined {
  return factsOf(numbers, controls).ranked[0]?.group;
}

/** A controller or group as people write it. */
export function displayName(name: string): string {
  return NAMES[name] ?? name;
}

const NAMES: Record<string, string> = {
  ...{ bbr: "BBR", bbr2: "BBRv2", bbr3: "BBRv3", cubic: "CUBIC", reno: "Reno", dctcp: "DCTCP", hpcc: "HPCC" },
  ...{ vegas: "Vegas", westwood: "Westwood", prague: "Prague", copa: "Copa", udp: "UDP" },
};

interface Ranked {
  group: Group;
  share: number;
  /** The share minus that of an equal division among all flows. */
  surplus: number;
}

interface Facts {
  controls: Controls;
  ranked: Ranked[];
  utilization: number;
  delay_ms: number;
  rtt_ms: number;
  loss: number;
  /** Null if the buffer is not a limit of the queue. */
  buffer_bdp: number | null;
  isDropTail: boolean;
  isLong: boolean;
}

function factsOf(numbers: Numbers, controls: Controls): Facts {
  const { flows, bottleneck, rtt_ns, loss, mtu_bytes } = controls;
  const all = flows.reduce((sum, { count }) => sum + count, 0);
  const ranked = flows
    .map((group) => {
      const share = numbers[`groups.${group.name}.share`] ?? (flows.length === 1 ? 1 : Number.NaN);
      return { group, share, surplus: share - group.count / all };
    })
    .sort((one, other) => (other.surplus || 0) - (one.surplus || 0));
  const delay_ms = numbers["queue.delay_ms.mean"] ?? Number.NaN;
  const rtt_ms = rtt_ns / 1e6;
  return {
    ...{ controls, ranked, delay_ms, rtt_ms },
    utilization: numbers.utilization ?? Number.NaN,
    loss: /^[\d.]+%$/.test(loss ?? "") ? Number.parseFloat(loss ?? "") / 100 : 0,
    buffer_bdp: bottleneck && bufferBdp(bottleneck.qdisc, bdpBytes(controls), mtu_bytes),
    isDropTail: DROP_TAIL.has(bottleneck?.kind ?? ""),
    isLong: delay_ms >= LONG_MS && delay_ms >= LONG_PART * rtt_ms,
  };
}

function whoGets({ ranked, utilization, isLong, delay_ms }: Facts): Phrase {
  const [first, last] = [ranked[0] as Ranked, ranked.at(-1) as Ranked];
  const who = name(first);
  const delay: Value = { number: delay_ms, unit: "ms" };
  if (ranked.length === 1) {
    if (Number.isNaN(utilization)) return { key: "answer.alone", values: { who } };
    const key = utilization >= FULL ? "answer.fills" : "answer.uses";
    return { key, values: { who, utilization: percent(utilization) } };
  }
  if (!Number.isFinite(first.share)) return { key: "answer.several", values: { count: plain(ranked.length) } };
  const values = { who, share: percent(first.share), other: name(last), rest: percent(last.share), delay };
  if (!isUneven(ranked)) return { key: "answer.even", values };
  return { key: isLong && ranked.length === 2 ? "answer.waits" : "answer.takes", values };
}

/** Whether some group has more, or less, than an equal share of its flows. */
function isUneven(ranked: readonly Ranked[]): boolean {
  return ranked.some(({ surplus }) => Math.abs(surplus) > UNEVEN);
}

function costs({ ranked, utilization, delay_ms, rtt_ms, isLong }: Facts): Phrase[] {
  const told = isLong && ranked.length === 2 && isUneven(ranked);
  const found: Phrase[] = [];
  if (utilization < FULL && ranked.length > 1)
    found.push({ key: "answer.idle", values: { idle: percent(1 - utilization) } });
  if (!Number.isFinite(delay_ms)) return found;
  const values: Phrase["values"] = { delay: { number: delay_ms, unit: "ms" }, rtt: { number: rtt_ms, unit: "ms" } };
  if (told) found.push({ key: "answer.added", values });
  else found.push({ key: isLong ? "answer.long" : "answer.short", values });
  return found;
}

function nextOf(facts: Facts): Next | null {
  const { ranked, utilization, loss, isLong, isDropTail, buffer_bdp, controls } = facts;
  if (!controls.bottleneck || controls.bottleneck.traced) return null;
  const starved = ranked.findLast(({ group }) => LOSS_BASED.has(group.cc ?? ""));
  if (loss >= RANDOM_LOSS && starved && (utilization < FULL || starved.surplus < -UNEVEN))
    return {
      phrase: { key: "next.bbr", values: { who: name(starved) } },
      edits: [{ key: `flows.${controls.flows.indexOf(starved.group)}.cc`, value: "bbr" }],
      lesson: "random-loss",
    };
  if (isLong && isDropTail) return queueTo("fq_codel", "next.fq_codel", "aqm");
  const uneven = isUneven(ranked);
  const isFair = FLOW_QUEUES.has(controls.bottleneck.kind);
  // What an AQM drops does not depend on its limit; a queue per flow divides the link.
  if (uneven && !isDropTail && !isFair) return queueTo("fq_codel", "next.fq_codel", "aqm");
  if (ranked.length > 1 && uneven && isDropTail && buffer_bdp !== null)
    return buffer_bdp < MIDDLE_BDP
      ? bufferTo(facts, DEEP_BDP, "next.deeper", "fairness")
      : bufferTo(facts, SHALLOW_BDP, "next.shallower", "fairness");
  if (!isDropTail) return queueTo(`pfifo limit ${DEEP_BDP}bdp`, "next.pfifo", "aqm");
  if (ranked.length === 1) return company(facts);
  return buffer_bdp === null ? null : bufferTo(facts, DEEP_BDP, "next.deeper", "aqm");
}

function queueTo(qdisc: string, key: string, lesson: string): Next {
  return { phrase: { key, values: {} }, edits: [{ key: "path.bottleneck.qdisc", value: qdisc }], lesson };
}

function bufferTo({ controls, buffer_bdp }: Facts, bdp: number, key: string, lesson: string): Next | null {
  if (buffer_bdp === bdp) return null;
  const value = withLimit(controls.bottleneck?.qdisc ?? "", `${bdp}bdp`);
  const values: Phrase["values"] = { buffer: { number: bdp, unit: "BDP" } };
  return { phrase: { key, values }, edits: [{ key: "path.bottleneck.qdisc", value }], lesson };
}

/** A second group for one that is alone. */
function company({ ranked }: Facts): Next {
  const cc = ranked[0]?.group.cc === "bbr" ? "cubic" : "bbr";
  return {
    phrase: { key: "next.add", values: { who: { text: displayName(cc) } } },
    edits: [{ do: "add", key: "flows", value: { cc } }],
    lesson: "fairness",
  };
}

function name({ group }: Ranked): Value {
  return { text: displayName(group.name) };
}

function percent(share: number): Value {
  return { number: share * 100, unit: "%" };
}

function plain(number: number): Value {
  return { number, unit: "" };
}
