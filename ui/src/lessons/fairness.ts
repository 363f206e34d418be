// The lesson "Is BBR fair?".

import { amount, buffer, DELAY, type Lesson, qdisc, RETRANSMITTED, SHARE, set, type Values } from "./parts";

const POINTS = 15;
const COUNTS = [1, 4, 16];
const MORE = { few: 1.5, many: 3 };
const DUMBBELL = { name: "dumbbell" };

/** BBR's share over that of one of all flows, with the most CUBIC flows. */
function surplus(of: Values): number {
  const count = COUNTS.at(-1) as number;
  return (of(`n${count}`, "bbr") / 100) * (count + 1);
}

export const FAIRNESS: Lesson = {
  id: "fairness",
  steps: [
    {
      id: "buffer",
      experiment: DUMBBELL,
      panels: ["delivered", "queue", "cwnd"],
      control: "slider",
      stops: [0.5, 2, 16].map((bdp) => buffer("pfifo", bdp)),
      numbers: { bbr: SHARE("bbr"), cubic: SHARE("cubic"), delay: DELAY },
      limits: { points: amount(POINTS, "") },
      options: [
        { id: "bbr", holds: (of) => of("b16", "bbr") > 50 + POINTS },
        { id: "even", holds: (of) => Math.abs(of("b16", "bbr") - 50) <= POINTS },
        { id: "cubic", holds: (of) => of("b16", "bbr") < 50 - POINTS },
      ],
    },
    {
      id: "many",
      experiment: DUMBBELL,
      panels: ["groups", "queue", "retransmits"],
      control: "slider",
      stops: COUNTS.map((count) => ({
        id: `n${count}`,
        label: amount(count, "flows"),
        edits: [set("flows.1.count", count)],
      })),
      numbers: { bbr: SHARE("bbr"), cubic: SHARE("cubic"), bbrAgain: RETRANSMITTED("bbr") },
      limits: { few: amount(MORE.few, ""), many: amount(MORE.many, "") },
      options: [
        { id: "fair", holds: (of) => surplus(of) <= MORE.few },
        { id: "some", holds: (of) => surplus(of) > MORE.few && surplus(of) <= MORE.many },
        { id: "many", holds: (of) => surplus(of) > MORE.many },
      ],
    },
    {
      id: "rtt",
      experiment: {
        name: "dumbbell",
        edits: [
          set("flows.0.name", "short"),
          set("flows.1.cc", "bbr"),
          set("flows.1.name", "long"),
          ...qdisc("pfifo limit 2bdp"),
        ],
      },
      panels: ["delivered", "rtt", "queue"],
      control: "slider",
      stops: [0, 10, 30].map((ms) => ({
        id: `d${ms}`,
        label: amount(ms, "ms"),
        edits: ms ? [set("flows.1.access.delay", `${ms}ms`)] : [],
      })),
      numbers: { short: SHARE("short"), long: SHARE("long"), delay: DELAY },
      limits: { points: amount(POINTS, "") },
      options: [
        { id: "short", holds: (of) => of("d30", "short") > 50 + POINTS },
        { id: "even", holds: (of) => Math.abs(of("d30", "short") - 50) <= POINTS },
        { id: "long", holds: (of) => of("d30", "long") > 50 + POINTS },
      ],
    },
    {
      id: "version",
      experiment: DUMBBELL,
      panels: ["delivered", "queue", "states"],
      control: "list",
      stops: [
        { id: "bbr", label: "BBR", edits: [] },
        { id: "bbr3", label: "BBRv3", edits: [set("flows.0.cc", "bbr3")] },
      ],
      numbers: { cubic: SHARE("cubic"), cubicAgain: RETRANSMITTED("cubic"), delay: DELAY },
      limits: { points: amount(POINTS, "") },
      options: [
        { id: "more", holds: (of) => of("bbr3", "cubic") > of("bbr", "cubic") + POINTS },
        { id: "same", holds: (of) => Math.abs(of("bbr3", "cubic") - of("bbr", "cubic")) <= POINTS },
        { id: "less", holds: (of) => of("bbr3", "cubic") < of("bbr", "cubic") - POINTS },
      ],
    },
  ],
};
