// The lessons: experiments, controls, predictions and the numbers that their texts show. `messages` has the texts.
//
// A step repeats a built-in experiment at each stop of one control. A prediction holds or not by the numbers of these
// runs; no result is written down here.

import type { Edit } from "../types";

export type Unit = "ms" | "s" | "Mbit/s" | "%" | "packets" | "BDP" | "";

export interface Amount {
  value: number;
  unit: Unit;
}

export interface Stop {
  id: string;
  /** A name that is the same in every language, or an amount. */
  label: string | Amount;
  edits: Edit[];
}

/** A number of a run; messages show it as `{stop.number}`. */
export interface Measure {
  metric: string;
  unit: Unit;
  factor?: number;
}

/** The number of a stop; NaN if it is not known. */
export type Values = (stop: string, number: string) => number;

export interface Option {
  id: string;
  holds(of: Values): boolean;
}

interface Common {
  id: string;
  experiment: { name: string; case?: string; edits?: Edit[] };
  panels: string[];
  numbers: Record<string, Measure>;
  /** The limits of the predictions; messages show one as `{limit.name}`. */
  limits?: Record<string, Amount>;
  options: Option[];
}

/** The reader changes the experiment. */
export interface RunStep extends Common {
  control: "slider" | "list";
  stops: Stop[];
}

/** The reader moves through the time of one run, and finds a state of the first flow's controller. */
export interface TimeStep extends Common {
  control: "time";
  find: string;
}

export type Step = RunStep | TimeStep;

export interface Lesson {
  id: string;
  steps: Step[];
}

const set = (key: string, value: string | number): Edit => ({ key, value });
const qdisc = (text: string) => [set("path.bottleneck.qdisc", text)];
const amount = (value: number, unit: Unit): Amount => ({ value, unit });

const RTT_95 = (group: string): Measure => ({ metric: `groups.${group}.rtt_ms.p95`, unit: "ms" });
const RATE = (group: string): Measure => ({ metric: `groups.${group}.throughput_mbps`, unit: "Mbit/s" });
const SHARE = (group: string): Measure => ({ metric: `groups.${group}.share`, unit: "%", factor: 100 });
const TIME = (group: string): Measure => ({ metric: `groups.${group}.fct_s`, unit: "s" });
const RETRANSMITTED = (group: string): Measure => ({
  metric: `groups.${group}.retransmit_rate`,
  unit: "%",
  factor: 100,
});
const DELAY: Measure = { metric: "queue.delay_ms.mean", unit: "ms" };

/** The option whose stop has the least number. */
function least(stops: string[], number: string): Option[] {
  return stops.map((id) => ({
    id,
    holds: (of) => stops.every((other) => other === id || of(id, number) < of(other, number)),
  }));
}

/** What BBR and TCP do in every experiment; messages show one as `{constant.name}`. A test compares crates/net. */
export const CONSTANTS = {
  minRtt: amount(10, "s"),
  probeRtt: amount(200, "ms"),
  probeUp: amount(1.25, ""),
  probeDown: amount(0.75, ""),
  margin: amount(1, "%"),
  leastTimer: amount(200, "ms"),
};

const packets = (value: number): Stop => ({
  id: `p${value}`,
  label: amount(value, "packets"),
  edits: qdisc(`pfifo limit ${value}`),
});

const GROWTH = { rate: 1.5, rtt: 3 };

/** Whether the largest queue gives more than so many times the smallest one's number. */
function grows(of: Values, number: keyof typeof GROWTH): boolean {
  return of("p200", number) > GROWTH[number] * of("p10", number);
}

const BUFFERBLOAT: Lesson = {
  id: "bufferbloat",
  steps: [
    {
      id: "size",
      experiment: { name: "bufferbloat", case: "maxq 10" },
      panels: ["rtt", "queue", "throughput"],
      control: "slider",
      stops: [10, 100, 200].map(packets),
      numbers: { rate: RATE("reno"), rtt: RTT_95("reno"), delay: DELAY },
      limits: { rate: amount(GROWTH.rate, ""), rtt: amount(GROWTH.rtt, "") },
      options: [
        { id: "rate", holds: (of) => grows(of, "rate") },
        { id: "rtt", holds: (of) => !grows(of, "rate") && grows(of, "rtt") },
        { id: "neither", holds: (of) => !grows(of, "rate") && !grows(of, "rtt") },
      ],
    },
    {
      id: "cure",
      experiment: { name: "bufferbloat-cured", case: "drop-tail" },
      panels: ["rtt", "queue", "throughput"],
      control: "list",
      stops: [
        { id: "pfifo", label: "pfifo", edits: [] },
        { id: "red", label: "RED", edits: qdisc("red limit 1000000 avpkt 1000") },
        { id: "codel", label: "CoDel", edits: qdisc("codel limit 1000") },
      ],
      numbers: { rtt: RTT_95("reno"), delay: DELAY, rate: RATE("reno") },
      options: least(["pfifo", "red", "codel"], "rtt"),
    },
  ],
};

const products = (value: number) => ({ label: amount(value, "BDP"), edits: qdisc(`bfifo limit ${value}bdp`) });
const POINTS = 15;
const CHANGE = 0.3;

const SHALLOW: Lesson = {
  id: "shallow-buffer",
  steps: [
    {
      id: "depth",
      experiment: { name: "cyclic" },
      panels: ["groups", "queue", "rtt"],
      control: "slider",
      stops: [
        { id: "shallow", ...products(0.5) },
        { id: "report", ...products(1.7) },
        { id: "deep", ...products(8) },
      ],
      numbers: { bbr: SHARE("bbr"), cubic: SHARE("cubic"), delay: DELAY, bbrAgain: RETRANSMITTED("bbr") },
      limits: { points: amount(POINTS, "") },
      options: [
        { id: "cubic", holds: (of) => of("deep", "cubic") > of("shallow", "cubic") + POINTS },
        { id: "same", holds: (of) => Math.abs(of("deep", "cubic") - of("shallow", "cubic")) <= POINTS },
        { id: "bbr", holds: (of) => of("deep", "cubic") < of("shallow", "cubic") - POINTS },
      ],
    },
    {
      id: "period",
      experiment: { name: "cyclic" },
      panels: ["groups", "states", "rtt"],
      control: "slider",
      stops: [13, 20, 26].map((value) => ({
        id: `r${value}`,
        label: amount(value, "ms"),
        edits: [set("path.rtt", `${value}ms`)],
      })),
      numbers: { period: { metric: "cycle.period_s", unit: "s" }, bbr: SHARE("bbr"), cubic: SHARE("cubic") },
      limits: { change: amount(CHANGE * 100, "%") },
      options: [
        { id: "shorter", holds: (of) => of("r26", "period") < (1 - CHANGE) * of("r13", "period") },
        { id: "same", holds: (of) => Math.abs(of("r26", "period") / of("r13", "period") - 1) <= CHANGE },
        { id: "longer", holds: (of) => of("r26", "period") > (1 + CHANGE) * of("r13", "period") },
      ],
    },
  ],
};

const loss = (percent: number): Stop => ({
  id: `l${percent}`,
  label: amount(percent, "%"),
  edits: [set("path.tc.commands", `tc qdisc add dev eth0 root handle 1: netem loss ${percent}% limit 1000000`)],
});

const TIMES = { few: 2, many: 10 };

/** How many times as long the download takes at the highest loss. */
function longer(of: Values): number {
  return of("l10", "time") / of("l0", "time");
}

const LOSS: Lesson = {
  id: "loss",
  steps: [
    {
      id: "cubic",
      experiment: { name: "lossy-download", case: "cubic at 0% loss", edits: [set("duration", "90s")] },
      panels: ["throughput", "cwnd", "retransmits"],
      control: "slider",
      stops: [0, 1, 5, 10].map(loss),
      numbers: { time: TIME("cubic"), rate: RATE("cubic"), retransmitted: RETRANSMITTED("cubic") },
      limits: { few: amount(TIMES.few, ""), many: amount(TIMES.many, "") },
      options: [
        { id: "twice", holds: (of) => longer(of) <= TIMES.few },
        { id: "ten", holds: (of) => longer(of) > TIMES.few && longer(of) <= TIMES.many },
        { id: "more", holds: (of) => longer(of) > TIMES.many },
      ],
    },
    {
      id: "controller",
      experiment: { name: "lossy-download", case: "cubic at 10% loss", edits: [set("duration", "90s")] },
      panels: ["throughput", "cwnd", "retransmits"],
      control: "list",
      stops: ["cubic", "reno", "bbr"].map((cc) => ({
        id: cc,
        label: { cubic: "CUBIC", reno: "Reno", bbr: "BBR" }[cc] as string,
        edits: [set("flows.0.cc", cc)],
      })),
      numbers: {
        time: { metric: "groups.*.fct_s", unit: "s" },
        rate: { metric: "groups.*.throughput_mbps", unit: "Mbit/s" },
        retransmitted: { metric: "groups.*.retransmit_rate", unit: "%", factor: 100 },
      },
      options: least(["cubic", "reno", "bbr"], "time"),
    },
  ],
};

const FALL = 3;

/** Whether a group's rate falls by more than this factor with the loss. */
function falls(of: Values, group: string): boolean {
  return of("l0_01", group) > FALL * of("l1", group);
}

const FASTER = { some: 1.5, many: 5 };

/** How many times as fast CUBIC is on the shortest path. */
function faster(of: Values): number {
  return of("d1", "cubic") / of("d10", "cubic");
}

const CLASSES: Lesson = {
  id: "two-classes",
  steps: [
    {
      id: "loss",
      experiment: { name: "two-classes", case: "as reported", edits: [set("duration", "10s")] },
      panels: ["throughput", "cwnd", "retransmits"],
      control: "slider",
      stops: [0.01, 0.1, 1].map((percent) => ({
        id: `l${percent}`.replace(".", "_"),
        label: amount(percent, "%"),
        edits: [set("flows.0.access.loss", `${percent}%`), set("flows.1.access.loss", `${percent}%`)],
      })),
      numbers: { bbr: RATE("bbr"), cubic: RATE("cubic"), bbrAgain: RETRANSMITTED("bbr") },
      limits: { times: amount(FALL, "") },
      options: [
        { id: "both", holds: (of) => falls(of, "cubic") && falls(of, "bbr") },
        { id: "cubic", holds: (of) => falls(of, "cubic") && !falls(of, "bbr") },
        { id: "bbr", holds: (of) => !falls(of, "cubic") && falls(of, "bbr") },
      ],
    },
    {
      id: "delay",
      experiment: { name: "two-classes", case: "as reported", edits: [set("duration", "10s")] },
      panels: ["throughput", "cwnd", "rtt"],
      control: "slider",
      stops: [10, 5, 1].map((ms) => ({
        id: `d${ms}`,
        label: amount(ms, "ms"),
        edits: [set("flows.0.access.delay", `${ms}ms`), set("flows.1.access.delay", `${ms}ms`)],
      })),
      numbers: { cubic: RATE("cubic"), bbr: RATE("bbr") },
      limits: { some: amount(FASTER.some, ""), many: amount(FASTER.many, "") },
      options: [
        { id: "same", holds: (of) => faster(of) < FASTER.some },
        { id: "some", holds: (of) => faster(of) >= FASTER.some && faster(of) < FASTER.many },
        { id: "many", holds: (of) => faster(of) >= FASTER.many },
      ],
    },
  ],
};

/** What a step through time reads at the chosen time (`at`) and as the median of the run (`usual`). */
export const SOCKET: Record<string, Measure> = {
  cwnd: { metric: "cwnd_packets", unit: "packets" },
  unacked: { metric: "unacked_packets", unit: "packets" },
  rtt: { metric: "rtt_ns", unit: "ms", factor: 1e-6 },
  rttvar: { metric: "rttvar_ns", unit: "ms", factor: 1e-6 },
  minRtt: { metric: "bbr_min_rtt_ns", unit: "ms", factor: 1e-6 },
  bw: { metric: "bbr_bw_bps", unit: "Mbit/s", factor: 1e-6 },
  pacingGain: { metric: "bbr_pacing_gain", unit: "" },
  cwndGain: { metric: "bbr_cwnd_gain", unit: "" },
  pacing: { metric: "pacing_rate_bps", unit: "Mbit/s", factor: 1e-6 },
  delivery: { metric: "delivery_rate_bps", unit: "Mbit/s", factor: 1e-6 },
};

const ALONE = { name: "dumbbell", edits: [{ do: "remove" as const, key: "flows.1" }, set("duration", "15s")] };
const OF_TIME = { experiment: ALONE, panels: ["states", "inflight", "rtt"], control: "time" as const, numbers: SOCKET };

const GAIN = { low: 1, middle: 1.5, high: 2 };
const CLOSE = 0.1;
const FEW = 10;

function shrinks(of: Values): boolean {
  return of("at", "cwnd") < (1 - CLOSE) * of("usual", "cwnd");
}

const STATES: Lesson = {
  id: "bbr-states",
  steps: [
    {
      id: "startup",
      ...OF_TIME,
      find: "startup",
      limits: { low: amount(GAIN.low, ""), high: amount(GAIN.high, "") },
      options: [
        { id: "below", holds: (of) => of("at", "pacingGain") < GAIN.low },
        { id: "one", holds: (of) => of("at", "pacingGain") >= GAIN.low && of("at", "pacingGain") <= GAIN.high },
        { id: "above", holds: (of) => of("at", "pacingGain") > GAIN.high },
      ],
    },
    {
      id: "drain",
      ...OF_TIME,
      find: "drain",
      limits: { close: amount(CLOSE * 100, "%") },
      options: [
        { id: "faster", holds: (of) => of("at", "pacing") > (1 + CLOSE) * of("at", "bw") },
        { id: "equal", holds: (of) => Math.abs(of("at", "pacing") / of("at", "bw") - 1) <= CLOSE },
        { id: "slower", holds: (of) => of("at", "pacing") < (1 - CLOSE) * of("at", "bw") },
      ],
    },
    {
      id: "probe_bw",
      ...OF_TIME,
      find: "probe_bw",
      limits: { low: amount(GAIN.low, ""), middle: amount(GAIN.middle, "") },
      options: [
        { id: "below", holds: (of) => of("at", "cwndGain") < GAIN.low },
        { id: "one", holds: (of) => of("at", "cwndGain") >= GAIN.low && of("at", "cwndGain") < GAIN.middle },
        { id: "above", holds: (of) => of("at", "cwndGain") >= GAIN.middle },
      ],
    },
    {
      id: "probe_rtt",
      ...OF_TIME,
      find: "probe_rtt",
      limits: { close: amount(CLOSE * 100, "%"), few: amount(FEW, "packets") },
      options: [
        { id: "same", holds: (of) => !shrinks(of) && of("at", "cwnd") > FEW },
        { id: "half", holds: (of) => shrinks(of) && of("at", "cwnd") > FEW },
        { id: "few", holds: (of) => of("at", "cwnd") <= FEW },
      ],
    },
  ],
};

export const LESSONS: Lesson[] = [BUFFERBLOAT, SHALLOW, LOSS, CLASSES, STATES];
