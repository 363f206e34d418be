// The common legend of all figures: a click hides a flow's lines in all of them. Panels with other entries have their own.

import { otherSeeds, SEEDS } from "../compare/seeds";
import { KernelKey } from "../kernel/Key";
import { filled, text as say } from "../messages/messages";
import { before } from "../moves";
import { dark, figureData, hidden } from "../state";
import type { Line, Panel } from "../types";

export function Legend() {
  const panels = figureData.value?.panels ?? [];
  return (
    <fieldset class="legend">
      <legend class="unseen">{say("tracks.flows")}</legend>
      {legendLines(panels).map((line) => (
        <button
          type="button"
          key={line.name}
          aria-pressed={!hidden.value.has(line.name)}
          onClick={() => toggle(line.name)}
        >
          <svg width="22" height="8" aria-hidden="true">
            <line
              x1="0"
              x2="22"
              y1="4"
              y2="4"
              stroke={dark.value ? line.dark : line.colour}
              stroke-width="2.5"
              stroke-dasharray={line.dash.join(" ")}
            />
          </svg>
          {line.name}
        </button>
      ))}
      <KernelKey />
      {otherSeeds.value.length > 0 && <span class="quiet small">{filled("tracks.seeds", () => String(SEEDS))}</span>}
      {before.value && <span class="quiet small">{say("tracks.before")}</span>}
    </fieldset>
  );
}

/** The entries of panels with a legend of their own; `titled`: behind what they are. */
export function LegendEntries({ panels, titled = true }: { panels: Panel[]; titled?: boolean }) {
  return panels.map(
    (panel) =>
      panel.entries.length > 0 && (
        <span class="entries" key={panel.name}>
          {titled && `${panel.legend}:`}
          {panel.entries.map((entry) => (
            <span class="entry" key={entry.name}>
              <i style={{ background: dark.value ? entry.dark : entry.colour }} /> {entry.name}
            </span>
          ))}
        </span>
      ),
  );
}

/** Every flow with a line in a panel; every group, if there are many flows. */
export function legendLines(panels: Panel[]): Line[] {
  const lines = new Map<string, Line>();
  for (const panel of panels) {
    for (const layer of panel.layers) {
      if (layer.kind !== "lines" || layer.of !== "flows") continue;
      for (const line of layer.lines) if (!lines.has(line.name)) lines.set(line.name, line);
    }
  }
  return [...lines.values()];
}

function toggle(name: string): void {
  const next = new Set(hidden.value);
  if (!next.delete(name)) next.add(name);
  hidden.value = next;
}
