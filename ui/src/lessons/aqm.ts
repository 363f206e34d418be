// The lesson "What an AQM does".

import {
  amount,
  DELAY,
  DROPS,
  type Lesson,
  least,
  ONE_CUBIC,
  queue,
  RATE,
  RETRANSMITTED,
  set,
  UTILIZATION,
} from "./parts";

const PFIFO = queue("pfifo", "pfifo", "pfifo limit 4bdp");
const CODEL = queue("codel", "codel", "codel limit 4bdp");
const POINTS = 5;
const TIMES = 2;

export const AQM: Lesson = {
  id: "aqm",
  steps: [
    {
      id: "delay",
      experiment: ONE_CUBIC,
      panels: ["queue", "rtt", "delivered"],
      control: "list",
      stops: [PFIFO, queue("pie", "pie", "pie limit 4bdp"), CODEL],
      numbers: { delay: DELAY, rate: RATE("cubic"), drops: DROPS },
      options: least(["pfifo", "pie", "codel"], "delay"),
    },
    {
      id: "short",
      experiment: ONE_CUBIC,
      panels: ["queue", "delivered", "cwnd"],
      control: "list",
      stops: [queue("pfifo", "pfifo", "pfifo limit 0.1bdp"), CODEL],
      numbers: { utilization: UTILIZATION, delay: DELAY, drops: DROPS },
      limits: { points: amount(POINTS, "") },
      options: [
        { id: "pfifo", holds: (of) => of("pfifo", "utilization") > of("codel", "utilization") + POINTS },
        { id: "same", holds: (of) => Math.abs(of("pfifo", "utilization") - of("codel", "utilization")) <= POINTS },
        { id: "codel", holds: (of) => of("codel", "utilization") > of("pfifo", "utilization") + POINTS },
      ],
    },
    {
      id: "ecn",
      experiment: ONE_CUBIC,
      panels: ["queue", "cwnd", "retransmits"],
      control: "list",
      stops: [
        CODEL,
        {
          id: "ecn",
          label: "codel ecn",
          edits: [...queue("", "", "codel limit 4bdp ecn").edits, { key: "flows.0.ecn", value: true }],
        },
      ],
      numbers: {
        drops: DROPS,
        marks: { metric: "queue.marks", unit: "packets" },
        retransmitted: RETRANSMITTED("cubic"),
        delay: DELAY,
      },
      options: [
        { id: "none", holds: (of) => of("codel", "drops") > 0 && of("ecn", "drops") === 0 },
        { id: "fewer", holds: (of) => of("ecn", "drops") > 0 && of("ecn", "drops") < of("codel", "drops") },
        { id: "same", holds: (of) => of("ecn", "drops") >= of("codel", "drops") },
      ],
    },
    {
      id: "bbr",
      experiment: { ...ONE_CUBIC, edits: [...ONE_CUBIC.edits, set("flows.0.cc", "bbr")] },
      panels: ["queue", "rtt", "delivered"],
      control: "list",
      stops: [PFIFO, CODEL],
      numbers: { delay: DELAY, rate: RATE("bbr"), drops: DROPS },
      limits: { times: amount(TIMES, "") },
      options: [
        { id: "shorter", holds: (of) => of("pfifo", "delay") > TIMES * of("codel", "delay") },
        {
          id: "same",
          holds: (of) => Math.abs(Math.log(of("pfifo", "delay") / of("codel", "delay"))) <= Math.log(TIMES),
        },
        { id: "longer", holds: (of) => of("codel", "delay") > TIMES * of("pfifo", "delay") },
      ],
    },
  ],
};
