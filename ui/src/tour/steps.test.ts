import { expect, test } from "vitest";
import { metrics, STEPS } from "./steps";

test("a step requests the metrics of its expectations and of its texts", () => {
  const requested = Object.fromEntries(STEPS.map((step) => [step.experiment, metrics(step)]));
  expect(requested.turns).toEqual(["groups.cubic.share", "cycle.period_s"]);
  expect(requested.bbr3).toEqual(["groups.cubic.share", "groups.BBR.retransmit_rate"]);
  for (const names of Object.values(requested)) expect(names.filter((name) => !/^[\w.]+$/.test(name))).toEqual([]);
});
