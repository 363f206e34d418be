// The experiment of each lesson's first step at its first stop, for the study that records it on Linux.

import { applyEdits } from "../local/text";
import type { Scenario } from "../types";
import { LESSONS } from "./lessons";
import { stopsOf } from "./parts";

export interface Recipe {
  lesson: string;
  step: string;
  stop: string;
  panels: string[];
  toml: string;
}

export function recipes(scenarios: readonly Scenario[]): Recipe[] {
  return LESSONS.flatMap(({ id, steps }) => {
    const [step] = steps;
    if (!step) return [];
    const [stop] = stopsOf(step);
    const { name, case: chosen = "", edits = [] } = step.experiment;
    const base = scenarios.find((each) => each.name === name && each.case === chosen);
    if (!base || !stop) throw new Error(`${id}: no built-in experiment ${name} ${chosen}`);
    const toml = applyEdits(base.toml, [...edits, ...stop.edits]);
    return [{ lesson: id, step: step.id, stop: stop.id, panels: step.panels, toml }];
  });
}
