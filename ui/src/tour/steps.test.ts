import { expect, test } from "vitest";
import { inLanguage, metrics, STEPS } from "./steps";

test("a step requests the metrics of its expectations and of its texts", () => {
  const requested = Object.fromEntries(STEPS.map((step) => [step.experiment, metrics(step)]));
  expect(requested.turns).toEqual(["groups.cubic.share", "cycle.period_s"]);
  expect(requested.bbr3).toEqual(["groups.cubic.share", "groups.BBR.retransmit_rate"]);
  for (const names of Object.values(requested)) expect(names.filter((name) => !/^[\w.]+$/.test(name))).toEqual([]);
});

test("a translated step has the texts and numbers of the English one", () => {
  for (const step of STEPS) {
    const other = inLanguage(step, "zh-Hans");
    expect(other.title).not.toBe(step.title);
    expect(other.story.length).toBe(step.story.length);
    expect(metrics(other)).toEqual(metrics(step));
    const hints = ({ expect: all }: typeof step) =>
      all.map(({ low, high, unknown }) => [low, high, unknown].map(Boolean));
    expect(hints(other)).toEqual(hints(step));
    expect(other.expect.map((each) => each.test)).toEqual(step.expect.map((each) => each.test));
  }
});
