// The groups of flows: controller, number, start; buttons that add and remove a group.

import { applyEdit } from "../live";
import { controls, offered, shown } from "../state";
import type { Group } from "../types";
import { timeLabel, timeOf, timeText } from "../units";
import { Choice } from "./Choice";
import { tcText, ValueBox } from "./ValueBox";

const GROUPS_MAX = 12;

export function FlowControls() {
  const now = controls.value;
  if (!now) return null;
  return (
    <fieldset>
      <legend>Flows</legend>
      {now.flows.map((group, index) => (
        <OneGroup
          key={`${index} ${group.kind}`}
          group={group}
          index={index}
          duration_ns={now.duration_ns}
          only={now.flows.length === 1}
        />
      ))}
      <button
        type="button"
        disabled={now.flows.length >= GROUPS_MAX}
        onClick={() => applyEdit({ do: "add", key: "flows", value: { cc: unusedController(now.flows) } })}
      >
        Add flows
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
  duration_ns: number;
  only: boolean;
}

function OneGroup({ group, index, duration_ns, only }: Props) {
  const key = `flows.${index}`;
  const start = shown(`${key}.start`, timeText(group.start_ns));
  const seconds = (timeOf(start) ?? group.start_ns) / 1e9;
  return (
    <fieldset class="group" aria-label={`Flows ${group.name}`}>
      {group.kind === "udp" ? <span>UDP: {group.name}</span> : <Controller group={group} index={index} />}
      <label>
        ×
        <input
          type="number"
          min={1}
          max={1000}
          value={shown(`${key}.count`, group.count)}
          aria-label={`How many flows of ${group.name}`}
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
        aria-label={`Remove ${group.name}`}
        onClick={() => applyEdit({ do: "remove", key })}
      >
        ✕
      </button>
      <div class="start">
        <span aria-hidden="true">Start</span>
        <input
          type="range"
          min={0}
          max={duration_ns / 1e9}
          step={0.1}
          value={seconds}
          aria-label={`Start of ${group.name}`}
          aria-valuetext={timeLabel(seconds * 1e9)}
          onInput={(event) =>
            applyEdit({ key: `${key}.start`, value: timeText(event.currentTarget.valueAsNumber * 1e9) })
          }
        />
        <ValueBox
          label={`Start of ${group.name}`}
          text={timeLabel(seconds * 1e9)}
          example="2.5 s"
          onType={(typed) => {
            const next = timeOf(tcText(typed));
            if (next !== null) applyEdit({ key: `${key}.start`, value: timeText(next) });
            return next !== null;
          }}
        />
      </div>
    </fieldset>
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
      label={id ? undefined : `Controller of ${group.name}`}
      value={cc}
      known={known}
      onSelect={(name) => applyEdit({ key: `flows.${index}.cc`, value: name })}
    />
  );
}
