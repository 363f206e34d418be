// The step's knob, at hand in the card: another view of the text, as its sister among the knobs is.

import { useId } from "preact/hooks";
import { Controller } from "../knobs/Flows";
import { Buffer, Loss, Queue } from "../knobs/Path";
import { Slider } from "../knobs/Slider";
import { knobs } from "../state";
import type { Group, Value } from "../types";
import type { Step, StepKnob } from "./steps";

/** In packets. */
const WINDOW = Array.from({ length: 96 }, (_, at) => 10 + 2 * at);

export function Knob({ step }: { step: Step }) {
  const now = knobs.value;
  if (!now) return null;
  const { knob } = step;
  switch (knob.kind) {
    case "buffer":
      return now.bottleneck && <Buffer now={now} bottleneck={now.bottleneck} />;
    case "queue":
      return now.bottleneck && <Queue now={now} bottleneck={now.bottleneck} choices={knob.choices} />;
    case "loss":
      return <Loss loss={now.loss} />;
    case "window":
      return <Window group={now.flows[knob.flow]} place={knob.flow} />;
    case "controller":
      return <Which group={now.flows[knob.flow]} knob={knob} />;
  }
}

function Window({ group, place }: { group: Group | undefined; place: number }) {
  const packets = group?.cc_parameters.cwnd;
  return (
    <Slider
      label="Window"
      edits={`flows.${place}.cc_parameters.cwnd`}
      stops={WINDOW}
      value={typeof packets === "number" ? packets : null}
      written={(value) => value}
      parsed={(said: Value) => (typeof said === "number" ? said : null)}
      said={(value) => `${value} packets`}
    />
  );
}

function Which({ group, knob }: { group: Group | undefined; knob: Extract<StepKnob, { kind: "controller" }> }) {
  const id = useId();
  if (!group) return null;
  return (
    <div class="knob">
      <label for={id}>{knob.label}</label>
      <Controller id={id} group={group} place={knob.flow} choices={knob.choices} />
    </div>
  );
}
