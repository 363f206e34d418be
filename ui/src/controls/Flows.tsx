// The groups of flows: controller, number, start; one more, one less.

import { applyEdit } from "../live";
import { controls, offered, shown } from "../state";
import type { Group } from "../types";
import { timeLabel, timeOf, timeText } from "../units";
import { Choice } from "./Choice";

const GROUPS_MAX = 12;

export function FlowControls() {
  const now = controls.value;
  if (!now) return null;
  return (
    <fieldset>
      <legend>Flows</legend>
      {now.flows.map((group, place) => (
        <OneGroup
          key={`${place} ${group.kind}`}
          group={group}
          place={place}
          duration_ns={now.duration_ns}
          only={now.flows.length === 1}
        />
      ))}
      <button
        type="button"
        disabled={now.flows.length >= GROUPS_MAX}
        onClick={() => applyEdit({ do: "add", key: "flows", value: { cc: another(now.flows) } })}
      >
        Add flows
      </button>
    </fieldset>
  );
}

/** The first controller that no one has yet. */
function another(flows: Group[]): string {
  const known = offered.value?.controllers ?? ["cubic"];
  return ["cubic", "bbr", "reno", ...known].find((cc) => !flows.some((group) => group.cc === cc)) ?? "cubic";
}

interface Props {
  group: Group;
  place: number;
  duration_ns: number;
  only: boolean;
}

function OneGroup({ group, place, duration_ns, only }: Props) {
  const key = `flows.${place}`;
  const start = shown(`${key}.start`, timeText(group.start_ns));
  const seconds = (timeOf(start) ?? group.start_ns) / 1e9;
  return (
    <fieldset class="group" aria-label={`Flows ${group.name}`}>
      {group.kind === "udp" ? <span>UDP: {group.name}</span> : <Controller group={group} place={place} />}
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
      <label class="start">
        <span>starts at {timeLabel(seconds * 1e9)}</span>
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
      </label>
    </fieldset>
  );
}

interface Chooses {
  group: Group;
  place: number;
  choices?: string[];
  /** Where something else labels it. */
  id?: string;
}

/** The controller of a group; `choices`: only these are offered. */
export function Controller({ group, place, choices, id }: Chooses) {
  const cc = shown(`flows.${place}.cc`, group.cc ?? "");
  const known = choices ?? offered.value?.controllers ?? [];
  return (
    <Choice
      id={id}
      label={id ? undefined : `Controller of ${group.name}`}
      value={cc}
      known={known}
      chosen={(name) => applyEdit({ key: `flows.${place}.cc`, value: name })}
    />
  );
}
