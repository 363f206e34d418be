// The lessons: experiments, controls, predictions and the numbers that their texts show. `messages` has the texts.
//
// A step repeats a built-in experiment at each stop of one control. A prediction holds or not by the numbers of these
// runs; no result is written down here.

import type { Edit } from "../types";

export type Unit = "ms" | "s" | "Mbit/s" | "%" | "packets" | "";

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

const packets = (value: number): Stop => ({
  id: `p${value}`,
  label: amount(value, "packets"),
  edits: qdisc(`pfifo limit ${value}`),
});

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
      options: [
        { id: "rate", holds: (of) => of("p200", "rate") > 1.5 * of("p10", "rate") },
        {
          id: "rtt",
          holds: (of) => of("p200", "rate") <= 1.5 * of("p10", "rate") && of("p200", "rtt") > 3 * of("p10", "rtt"),
        },
        {
          id: "neither",
          holds: (of) => of("p200", "rate") <= 1.5 * of("p10", "rate") && of("p200", "rtt") <= 3 * of("p10", "rtt"),
        },
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

const SHALLOW: Lesson = {
  id: "shallow-buffer",
  steps: [
    {
      id: "depth",
      experiment: { name: "cyclic" },
      panels: ["groups", "queue", "rtt"],
      control: "slider",
      stops: [
        { id: "shallow", label: "0.5 BDP", edits: qdisc("bfifo limit 0.5bdp") },
        { id: "report", label: "1.7 BDP", edits: qdisc("bfifo limit 1.7bdp") },
        { id: "deep", label: "8 BDP", edits: qdisc("bfifo limit 8bdp") },
      ],
      numbers: { bbr: SHARE("bbr"), cubic: SHARE("cubic"), delay: DELAY, bbrAgain: RETRANSMITTED("bbr") },
      options: [
        { id: "cubic", holds: (of) => of("deep", "cubic") > of("shallow", "cubic") + 15 },
        { id: "same", holds: (of) => Math.abs(of("deep", "cubic") - of("shallow", "cubic")) <= 15 },
        { id: "bbr", holds: (of) => of("deep", "cubic") < of("shallow", "cubic") - 15 },
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
      options: [
        { id: "shorter", holds: (of) => of("r26", "period") < 0.7 * of("r13", "period") },
        { id: "same", holds: (of) => Math.abs(of("r26", "period") / of("r13", "period") - 1) <= 0.3 },
        { id: "longer", holds: (of) => of("r26", "period") > 1.3 * of("r13", "period") },
      ],
    },
  ],
};

const loss = (percent: number): Stop => ({
  id: `l${percent}`,
  label: amount(percent, "%"),
  edits: [set("path.tc.commands", `tc qdisc add dev eth0 root handle 1: netem loss ${percent}% limit 1000000`)],
});

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
      options: [
        { id: "twice", holds: (of) => of("l10", "time") <= 2 * of("l0", "time") },
        {
          id: "ten",
          holds: (of) => of("l10", "time") > 2 * of("l0", "time") && of("l10", "time") <= 10 * of("l0", "time"),
        },
        { id: "more", holds: (of) => of("l10", "time") > 10 * of("l0", "time") },
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
      options: [
        { id: "both", holds: (of) => fall(of, "cubic") > 3 && fall(of, "bbr") > 3 },
        { id: "cubic", holds: (of) => fall(of, "cubic") > 3 && fall(of, "bbr") <= 3 },
        { id: "bbr", holds: (of) => fall(of, "cubic") <= 3 && fall(of, "bbr") > 3 },
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
      options: [
        { id: "same", holds: (of) => of("d1", "cubic") < 1.5 * of("d10", "cubic") },
        {
          id: "some",
          holds: (of) => of("d1", "cubic") >= 1.5 * of("d10", "cubic") && of("d1", "cubic") < 5 * of("d10", "cubic"),
        },
        { id: "many", holds: (of) => of("d1", "cubic") >= 5 * of("d10", "cubic") },
      ],
    },
  ],
};

/** By how much a group's rate falls with the loss. */
function fall(of: Values, group: string): number {
  return of("l0_01", group) / of("l1", group);
}

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

const STATES: Lesson = {
  id: "bbr-states",
  steps: [
    {
      id: "startup",
      ...OF_TIME,
      find: "startup",
      options: [
        { id: "below", holds: (of) => of("at", "pacingGain") < 1 },
        { id: "one", holds: (of) => of("at", "pacingGain") >= 1 && of("at", "pacingGain") <= 2 },
        { id: "above", holds: (of) => of("at", "pacingGain") > 2 },
      ],
    },
    {
      id: "drain",
      ...OF_TIME,
      find: "drain",
      options: [
        { id: "faster", holds: (of) => of("at", "pacing") > 1.1 * of("at", "bw") },
        { id: "equal", holds: (of) => Math.abs(of("at", "pacing") / of("at", "bw") - 1) <= 0.1 },
        { id: "slower", holds: (of) => of("at", "pacing") < 0.9 * of("at", "bw") },
      ],
    },
    {
      id: "probe_bw",
      ...OF_TIME,
      find: "probe_bw",
      options: [
        { id: "below", holds: (of) => of("at", "cwndGain") < 1 },
        { id: "one", holds: (of) => of("at", "cwndGain") >= 1 && of("at", "cwndGain") < 1.5 },
        { id: "above", holds: (of) => of("at", "cwndGain") >= 1.5 },
      ],
    },
    {
      id: "probe_rtt",
      ...OF_TIME,
      find: "probe_rtt",
      options: [
        { id: "same", holds: (of) => of("at", "cwnd") > 0.9 * of("usual", "cwnd") },
        {
          id: "half",
          holds: (of) => of("at", "cwnd") <= 0.9 * of("usual", "cwnd") && of("at", "cwnd") > 10,
        },
        { id: "few", holds: (of) => of("at", "cwnd") <= 10 },
      ],
    },
  ],
};

export const LESSONS: Lesson[] = [BUFFERBLOAT, SHALLOW, LOSS, CLASSES, STATES];
