// The step's control in the card: a second view of the same value as among the page's controls.

import { useId } from "preact/hooks";
import { Controller } from "../controls/Flows";
import { Buffer, Loss, numberBefore, Queue } from "../controls/Path";
import { Slider } from "../controls/Slider";
import { text as say } from "../messages/messages";
import { controls } from "../state";
import type { Group, Value } from "../types";
import { controlName } from "./judge";
import type { ControlSpec, Step } from "./steps";

/** In packets. */
const WINDOW = Array.from({ length: 96 }, (_, index) => 10 + 2 * index);

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
      return <Window group={now.flows[control.flow]} index={control.flow} />;
    case "controller":
      return <ControllerChoice group={now.flows[control.flow]} control={control} />;
  }
}

function Window({ group, index }: { group: Group | undefined; index: number }) {
  const packets = group?.cc_parameters.cwnd;
  return (
    <Slider
      label={say("control.window")}
      edits={`flows.${index}.cc_parameters.cwnd`}
      stops={WINDOW}
      value={typeof packets === "number" ? packets : null}
      toText={(value) => value}
      fromText={(value: Value) => (typeof value === "number" ? value : null)}
      typed={(text) => numberBefore(text, /packets?|个包/)}
      format={(value) => `${value} ${say("unit.packets")}`}
    />
  );
}

function ControllerChoice({
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
      <label for={id}>{controlName(control)}</label>
      <Controller id={id} group={group} index={control.flow} choices={control.choices} />
    </div>
  );
}
