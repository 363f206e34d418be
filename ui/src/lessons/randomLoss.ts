// The lesson "Why one per cent of loss breaks CUBIC and not BBR".

import {
  amount,
  type Lesson,
  most,
  ONE_CUBIC,
  RATE,
  RETRANSMITTED,
  type Stop,
  set,
  UTILIZATION,
  type Values,
} from "./parts";

const loss = (percent: number): Stop => ({
  id: `l${percent}`.replace(".", "_"),
  label: amount(percent, "%"),
  edits: percent ? [set("path.loss", `${percent}%`)] : [],
});
const edited = (...edits: ReturnType<typeof set>[]) => ({ ...ONE_CUBIC, edits: [...ONE_CUBIC.edits, ...edits] });

const LEFT = { most: 80, few: 20 };
const LOSSES = [1, 5, 20, 40];
const LONGER = { few: 2, many: 32 };

/** What is left of CUBIC's rate, in per cent. */
function left(of: Values): number {
  return (100 * of("l1", "rate")) / of("l0", "rate");
}

function slower(of: Values): number {
  return of("r10", "rate") / of("r160", "rate");
}

export const RANDOM_LOSS: Lesson = {
  id: "random-loss",
  steps: [
    {
      id: "cubic",
      experiment: ONE_CUBIC,
      panels: ["cwnd", "delivered", "retransmits"],
      control: "slider",
      stops: [0, 0.1, 1].map(loss),
      numbers: { rate: RATE("cubic"), utilization: UTILIZATION, retransmitted: RETRANSMITTED("cubic") },
      limits: { most: amount(LEFT.most, "%"), few: amount(LEFT.few, "%") },
      options: [
        { id: "most", holds: (of) => left(of) > LEFT.most },
        { id: "some", holds: (of) => left(of) <= LEFT.most && left(of) >= LEFT.few },
        { id: "few", holds: (of) => left(of) < LEFT.few },
      ],
    },
    {
      id: "controller",
      experiment: edited(set("path.loss", "1%")),
      panels: ["delivered", "cwnd", "retransmits"],
      control: "list",
      stops: ["cubic", "reno", "bbr"].map((cc) => ({
        id: cc,
        label: { cubic: "CUBIC", reno: "Reno", bbr: "BBR" }[cc] as string,
        edits: [set("flows.0.cc", cc)],
      })),
      numbers: {
        rate: { metric: "groups.*.throughput_mbps", unit: "Mbit/s" },
        retransmitted: { metric: "groups.*.retransmit_rate", unit: "%", factor: 100 },
      },
      options: most(["cubic", "reno", "bbr"], "rate"),
    },
    {
      id: "rtt",
      experiment: edited(set("path.loss", "1%")),
      panels: ["cwnd", "delivered", "rtt"],
      control: "slider",
      stops: [10, 40, 160].map((ms) => ({
        id: `r${ms}`,
        label: amount(ms, "ms"),
        edits: [set("path.rtt", `${ms}ms`), set("path.forward_delay", `${ms / 2}ms`)],
      })),
      numbers: { rate: RATE("cubic"), utilization: UTILIZATION },
      limits: { few: amount(LONGER.few, ""), many: amount(LONGER.many, "") },
      options: [
        { id: "same", holds: (of) => slower(of) <= LONGER.few },
        { id: "some", holds: (of) => slower(of) > LONGER.few && slower(of) <= LONGER.many },
        { id: "many", holds: (of) => slower(of) > LONGER.many },
      ],
    },
    {
      id: "limit",
      experiment: edited(set("flows.0.cc", "bbr")),
      panels: ["delivered", "inflight", "retransmits"],
      control: "slider",
      stops: LOSSES.map(loss),
      numbers: { rate: RATE("bbr"), retransmitted: RETRANSMITTED("bbr") },
      options: [
        ...LOSSES.slice(1).map((percent, index) => ({
          id: loss(percent).id,
          holds: (of: Values) =>
            LOSSES.slice(1).findIndex((each) => of(loss(each).id, "rate") < of("l1", "rate") / 2) === index,
        })),
        { id: "none", holds: (of) => LOSSES.every((each) => of(loss(each).id, "rate") >= of("l1", "rate") / 2) },
      ],
    },
  ],
};
