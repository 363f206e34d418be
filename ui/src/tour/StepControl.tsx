// The step's control, at hand in the card: another view of the text, as its sister among the controls is.

import { useId } from "preact/hooks";
import { Controller } from "../controls/Flows";
import { Buffer, Loss, Queue } from "../controls/Path";
import { Slider } from "../controls/Slider";
import { controls } from "../state";
import type { Group, Value } from "../types";
import type { ControlSpec, Step } from "./steps";

/** In packets. */
const WINDOW = Array.from({ length: 96 }, (_, at) => 10 + 2 * at);

export function StepControl({ step }: { step: Step }) {
  const now = controls.value;
  if (!now) return null;
  const { control } = step;
  switch (control.kind) {
    case "buffer":
      return now.bottleneck && <Buffer now={now} bottleneck={now.bottleneck} />;
    case "queue":
      return now.bottleneck && <Queue now={now} bottleneck={now.bottleneck} choices={control.choices} />;
    case "loss":
      return <Loss loss={now.loss} />;
    case "window":
      return <Window group={now.flows[control.flow]} place={control.flow} />;
    case "controller":
      return <Which group={now.flows[control.flow]} control={control} />;
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

function Which({
  group,
  control,
}: {
  group: Group | undefined;
  control: Extract<ControlSpec, { kind: "controller" }>;
}) {
  const id = useId();
  if (!group) return null;
  return (
    <div class="control">
      <label for={id}>{control.label}</label>
      <Controller id={id} group={group} place={control.flow} choices={control.choices} />
    </div>
  );
}
