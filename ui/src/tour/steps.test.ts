import { expect, test } from "vitest";
import { metrics, STEPS } from "./steps";

test("a step asks for the numbers that it judges by, and for those that its texts tell", () => {
  const asked = Object.fromEntries(STEPS.map((step) => [step.experiment, metrics(step)]));
  expect(asked.turns).toEqual(["groups.cubic.share", "cycle.period_s"]);
  expect(asked.bbr3).toEqual(["groups.cubic.share", "groups.BBR.retransmit_rate"]);
  for (const names of Object.values(asked)) expect(names.filter((name) => !/^[\w.]+$/.test(name))).toEqual([]);
});
