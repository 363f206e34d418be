// The lessons: experiments, controls, predictions and the numbers that their texts show. `messages` has the texts.
//
// A step repeats a built-in experiment at each stop of one control. A prediction holds or not by the numbers of these
// runs; no result is written down here.

import { AQM } from "./aqm";
import { FAIRNESS } from "./fairness";
import {
  amount,
  buffer,
  DELAY,
  type Lesson,
  least,
  type Measure,
  most,
  ONE_CUBIC,
  qdisc,
  queue,
  RATE,
  RETRANSMITTED,
  RTT_95,
  SHARE,
  type Stop,
  set,
  TIME,
  UTILIZATION,
  type Values,
} from "./parts";
import { RANDOM_LOSS } from "./randomLoss";

export type { Amount, Lesson, Measure, Option, RunStep, Step, Stop, TimeStep, Unit, Values } from "./parts";

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

/** Buffers in BDP; utilization in per cent. */
const ENOUGH = [0.1, 0.5, 1, 4];
const FULL = 95;
const SOONER = 3;

const BUFFERBLOAT: Lesson = {
  id: "bufferbloat",
  steps: [
    {
      id: "size",
      experiment: { name: "bufferbloat", case: "maxq 10" },
      panels: ["rtt", "queue", "delivered"],
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
      panels: ["rtt", "queue", "delivered"],
      control: "list",
      stops: [
        { id: "pfifo", label: "pfifo", edits: [] },
        { id: "red", label: "RED", edits: qdisc("red limit 1000000 avpkt 1000") },
        { id: "codel", label: "CoDel", edits: qdisc("codel limit 1000") },
      ],
      numbers: { rtt: RTT_95("reno"), delay: DELAY, rate: RATE("reno") },
      options: least(["pfifo", "red", "codel"], "rtt"),
    },
    {
      id: "enough",
      experiment: ONE_CUBIC,
      panels: ["queue", "delivered", "cwnd"],
      control: "slider",
      stops: ENOUGH.map((bdp) => buffer("pfifo", bdp)),
      numbers: { utilization: UTILIZATION, delay: DELAY, rate: RATE("cubic") },
      limits: { full: amount(FULL, "%") },
      options: ENOUGH.map((bdp, index) => ({
        id: buffer("pfifo", bdp).id,
        holds: (of) => ENOUGH.findIndex((each) => of(buffer("pfifo", each).id, "utilization") >= FULL) === index,
      })),
    },
    {
      id: "short",
      experiment: {
        name: "dumbbell",
        edits: [
          set("flows.0.cc", "reno"),
          set("flows.0.bytes", "200kB"),
          set("flows.0.start", "8s"),
          set("duration", "15s"),
        ],
      },
      panels: ["queue", "delivered", "rtt"],
      control: "list",
      stops: [queue("pfifo", "pfifo", "pfifo limit 8bdp"), queue("fq", "fq_codel", "fq_codel limit 1000")],
      numbers: { time: TIME("reno"), delay: DELAY, rate: RATE("cubic") },
      limits: { times: amount(SOONER, "") },
      options: [
        { id: "sooner", holds: (of) => of("pfifo", "time") > SOONER * of("fq", "time") },
        { id: "same", holds: (of) => Math.abs(Math.log(of("pfifo", "time") / of("fq", "time"))) <= Math.log(SOONER) },
        { id: "later", holds: (of) => of("fq", "time") > SOONER * of("pfifo", "time") },
      ],
    },
  ],
};

const products = (value: number) => ({ label: amount(value, "BDP"), edits: qdisc(`bfifo limit ${value}bdp`) });
const POINTS = 15;
const CHANGE = 0.3;

const PRICE = { few: 2, many: 10 };

/** By which factor a deep buffer lowers what BBR retransmits. */
function cheaper(of: Values): number {
  return of("shallow", "bbrAgain") / of("deep", "bbrAgain");
}

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
    {
      id: "price",
      experiment: { name: "cyclic" },
      panels: ["retransmits", "queue", "groups"],
      control: "slider",
      stops: [
        { id: "shallow", ...products(0.5) },
        { id: "report", ...products(1.7) },
        { id: "deep", ...products(8) },
      ],
      numbers: { bbrAgain: RETRANSMITTED("bbr"), cubicAgain: RETRANSMITTED("cubic"), delay: DELAY },
      limits: { few: amount(PRICE.few, ""), many: amount(PRICE.many, "") },
      options: [
        { id: "few", holds: (of) => cheaper(of) < PRICE.few },
        { id: "some", holds: (of) => cheaper(of) >= PRICE.few && cheaper(of) <= PRICE.many },
        { id: "many", holds: (of) => cheaper(of) > PRICE.many },
      ],
    },
    {
      id: "queues",
      experiment: { name: "cyclic" },
      panels: ["groups", "queue", "rtt"],
      control: "list",
      stops: [
        { id: "bfifo", label: "bfifo", edits: [] },
        queue("codel", "codel", "codel limit 1000"),
        queue("fq", "fq_codel", "fq_codel limit 1000"),
      ],
      numbers: { cubic: SHARE("cubic"), bbr: SHARE("bbr"), delay: DELAY },
      options: most(["bfifo", "codel", "fq"], "cubic"),
    },
  ],
};

const loss = (percent: number): Stop => ({
  id: `l${percent}`,
  label: amount(percent, "%"),
  edits: netem(`loss ${percent}%`),
});

/** The device that loses packets, as the report's command. */
function netem(what: string) {
  return [set("path.tc.commands", `tc qdisc add dev eth0 root handle 1: netem ${what} limit 1000000`)];
}

const FARTHER = { few: 1.5, many: 3 };
const TOGETHER = 1.5;
const DOWNLOAD_BYTES = 61_000_000;

/** How many times as long the download takes on the longest path. */
function farther(of: Values): number {
  return of("d2", "time") / of("d0", "time");
}

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
      panels: ["delivered", "cwnd", "retransmits"],
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
      panels: ["delivered", "cwnd", "retransmits"],
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
    {
      id: "delay",
      experiment: { name: "lossy-download", case: "cubic at 1% loss", edits: [set("duration", "90s")] },
      panels: ["delivered", "cwnd", "rtt"],
      control: "slider",
      stops: [0, 1, 2].map((ms) => ({
        id: `d${ms}`,
        label: amount(ms, "ms"),
        edits: netem(`loss 1% delay ${ms}ms`),
      })),
      numbers: { time: TIME("cubic"), rate: RATE("cubic"), retransmitted: RETRANSMITTED("cubic") },
      limits: { few: amount(FARTHER.few, ""), many: amount(FARTHER.many, "") },
      options: [
        { id: "same", holds: (of) => farther(of) <= FARTHER.few },
        { id: "some", holds: (of) => farther(of) > FARTHER.few && farther(of) <= FARTHER.many },
        { id: "many", holds: (of) => farther(of) > FARTHER.many },
      ],
    },
    {
      id: "parallel",
      experiment: { name: "lossy-download", case: "cubic at 5% loss", edits: [set("duration", "90s")] },
      panels: ["delivered", "cwnd", "retransmits"],
      control: "slider",
      stops: [1, 4].map((count) => ({
        id: `n${count}`,
        label: amount(count, "flows"),
        edits: [set("flows.0.count", count), set("flows.0.bytes", DOWNLOAD_BYTES / count)],
      })),
      numbers: { time: TIME("cubic"), retransmitted: RETRANSMITTED("cubic") },
      limits: { times: amount(TOGETHER, "") },
      options: [
        { id: "sooner", holds: (of) => of("n1", "time") > TOGETHER * of("n4", "time") },
        { id: "same", holds: (of) => Math.abs(Math.log(of("n1", "time") / of("n4", "time"))) <= Math.log(TOGETHER) },
        { id: "later", holds: (of) => of("n4", "time") > TOGETHER * of("n1", "time") },
      ],
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

const BUFFERED = 3;
const SINGLE = 2;

/** Whether a group's rate grows by more than this factor with the largest socket buffer. */
function buffered(of: Values, group: string): boolean {
  return of("m16", group) > BUFFERED * of("m1", group);
}

const CLASSES: Lesson = {
  id: "two-classes",
  steps: [
    {
      id: "loss",
      experiment: { name: "two-classes", case: "as reported", edits: [set("duration", "10s")] },
      panels: ["delivered", "cwnd", "retransmits"],
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
      panels: ["delivered", "cwnd", "rtt"],
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
    {
      id: "sockets",
      experiment: {
        name: "two-classes",
        case: "as reported",
        edits: [set("duration", "5s"), set("tcp.rmem_max", 25165824)],
      },
      panels: ["delivered", "inflight", "retransmits"],
      control: "slider",
      stops: [1, 4, 16].map((mib) => ({
        id: `m${mib}`,
        label: `${mib} MiB`,
        edits: [set("tcp.wmem_max", mib * 2 ** 20)],
      })),
      numbers: { bbr: RATE("bbr"), cubic: RATE("cubic"), bbrAgain: RETRANSMITTED("bbr") },
      limits: { times: amount(BUFFERED, "") },
      options: [
        { id: "both", holds: (of) => buffered(of, "bbr") && buffered(of, "cubic") },
        { id: "bbr", holds: (of) => buffered(of, "bbr") && !buffered(of, "cubic") },
        { id: "none", holds: (of) => !buffered(of, "bbr") },
      ],
    },
    {
      id: "offloads",
      experiment: { name: "two-classes", case: "as reported", edits: [set("duration", "5s")] },
      panels: ["delivered", "cwnd", "retransmits"],
      control: "list",
      stops: [true, false].map((on) => ({
        id: on ? "on" : "off",
        label: on ? "tso on" : "tso off",
        edits: [{ key: "path.offloads", value: on }],
      })),
      numbers: { cubic: RATE("cubic"), bbr: RATE("bbr") },
      limits: { times: amount(SINGLE, "") },
      options: [
        { id: "faster", holds: (of) => of("off", "cubic") > SINGLE * of("on", "cubic") },
        { id: "same", holds: (of) => Math.abs(Math.log(of("on", "cubic") / of("off", "cubic"))) <= Math.log(SINGLE) },
        { id: "slower", holds: (of) => of("on", "cubic") > SINGLE * of("off", "cubic") },
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

export const LESSONS: Lesson[] = [BUFFERBLOAT, AQM, RANDOM_LOSS, FAIRNESS, SHALLOW, LOSS, CLASSES, STATES];
