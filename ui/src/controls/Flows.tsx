// The groups of flows: controller and number, which are the senders of the picture; buttons that add and remove a group.
// `Starts`: when each group starts.

import { applyEdit } from "../live";
import { filled, text as say } from "../messages/messages";
import { controls, dark, figureData, offered, shown } from "../state";
import type { Group } from "../types";
import { timeLabel, timeOf, timeText } from "../units";
import { Term } from "../words/Term";
import { Choice } from "./Choice";
import { tcText, ValueBox } from "./ValueBox";

const GROUPS_MAX = 12;

export function Senders() {
  const now = controls.value;
  if (!now) return null;
  return (
    <fieldset class="senders">
      <legend>
        <Term name="flow">{say("control.senders")}</Term>
      </legend>
      {now.flows.map((group, index) => (
        <Sender key={`${index} ${group.kind}`} group={group} index={index} only={now.flows.length === 1} />
      ))}
      <button
        type="button"
        class="add"
        disabled={now.flows.length >= GROUPS_MAX}
        onClick={() => applyEdit({ do: "add", key: "flows", value: { cc: unusedController(now.flows) } })}
      >
        {say("control.add")}
      </button>
    </fieldset>
  );
}

/** The first controller that no group has yet. */
function unusedController(flows: Group[]): string {
  const known = offered.value?.controllers ?? ["cubic"];
  return ["cubic", "bbr", "reno", ...known].find((cc) => !flows.some((group) => group.cc === cc)) ?? "cubic";
}

interface Props {
  group: Group;
  index: number;
  only: boolean;
}

function Sender({ group, index, only }: Props) {
  const key = `flows.${index}`;
  const { name } = group;
  return (
    <fieldset class="group" aria-label={filled("control.group", () => name)} style={{ "--flow": colourOf(name) }}>
      {group.kind === "udp" ? <span>UDP: {name}</span> : <Controller group={group} index={index} />}
      <label class="count">
        ×
        <input
          type="number"
          min={1}
          max={1000}
          value={shown(`${key}.count`, group.count)}
          aria-label={filled("control.count", () => name)}
          onInput={(event) => {
            const count = event.currentTarget.valueAsNumber;
            if (Number.isInteger(count) && count > 0) applyEdit({ key: `${key}.count`, value: count });
          }}
        />
      </label>
      <button
        type="button"
        class="remove"
        disabled={only}
        aria-label={filled("control.remove", () => name)}
        onClick={() => applyEdit({ do: "remove", key })}
      >
        ✕
      </button>
    </fieldset>
  );
}

/** The colour of a group's first line in the figures. */
function colourOf(name: string): string {
  const data = figureData.value;
  const member = data?.flows.find(({ group }) => group === name)?.name;
  const lines = data?.panels.flatMap(({ layers }) =>
    layers.flatMap((each) => (each.kind === "lines" ? each.lines : [])),
  );
  const line = lines?.find((each) => each.name === member) ?? lines?.find((each) => each.name === name);
  return (dark.value ? line?.dark : line?.colour) ?? "var(--line)";
}

/** When each group starts. */
export function Starts() {
  const now = controls.value;
  return now?.flows.map((group, index) => (
    <Start key={`${index} ${group.kind}`} group={group} index={index} duration_ns={now.duration_ns} />
  ));
}

function Start({ group, index, duration_ns }: { group: Group; index: number; duration_ns: number }) {
  const key = `flows.${index}.start`;
  const start = shown(key, timeText(group.start_ns));
  const seconds = (timeOf(start) ?? group.start_ns) / 1e9;
  const label = filled("control.start", () => group.name);
  return (
    <div class="control">
      <span class="name" aria-hidden="true">
        {filled("control.start.short", () => group.name)}
      </span>
      <input
        type="range"
        min={0}
        max={duration_ns / 1e9}
        step={0.1}
        value={seconds}
        aria-label={label}
        aria-valuetext={timeLabel(seconds * 1e9)}
        onInput={(event) => applyEdit({ key, value: timeText(event.currentTarget.valueAsNumber * 1e9) })}
      />
      <ValueBox
        label={label}
        text={timeLabel(seconds * 1e9)}
        example="2.5 s"
        onType={(typed) => {
          const next = timeOf(tcText(typed));
          if (next !== null) applyEdit({ key, value: timeText(next) });
          return next !== null;
        }}
      />
    </div>
  );
}

interface ControllerProps {
  group: Group;
  index: number;
  choices?: string[];
  /** Needed if another element labels it. */
  id?: string;
}

/** The controller of a group; `choices`: only these are offered. */
export function Controller({ group, index, choices, id }: ControllerProps) {
  const cc = shown(`flows.${index}.cc`, group.cc ?? "");
  const known = choices ?? offered.value?.controllers ?? [];
  return (
    <Choice
      id={id}
      label={id ? undefined : filled("control.of", () => group.name)}
      value={cc}
      known={known}
      onSelect={(name) => applyEdit({ key: `flows.${index}.cc`, value: name })}
    />
  );
}
