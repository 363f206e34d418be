// The header of the page: the experiment, the colours, the latency of the last change.

import { write } from "../live";
import { controls, latency, offered, text, theme } from "../state";
import { TourButton } from "../tour/Tour";
import type { Scenario } from "../types";

export function Top() {
  const known = offered.value?.scenarios ?? [];
  return (
    <header>
      <h1>Dumbbell</h1>
      <label>
        Experiment{" "}
        <select
          aria-label="Experiment"
          value={known.findIndex((one) => one.toml === text.value)}
          onChange={(event) => choose(known[Number(event.currentTarget.value)])}
        >
          <option value={-1} hidden>
            {`(${controls.value?.title ?? "unnamed"})`}
          </option>
          <ScenarioGroup title="Scenarios" from={known} published={false} />
          <ScenarioGroup title="Published results" from={known} published={true} />
        </select>
      </label>
      <TourButton />
      <nav class="links" aria-label="Other pages">
        <a href="#lessons">Lessons</a>
      </nav>
      <span class="quiet small latency">
        {latency.value !== null && `${Math.round(latency.value)} ms from control to figure`}
      </span>
      <ThemeChoice label="Colours" names={THEMES} />
    </header>
  );
}

const THEMES = ["system", "light", "dark"] as const;

/** The choice of light or dark colours, with the names of `THEMES`. */
export function ThemeChoice({ label, names }: { label: string; names: readonly string[] }) {
  return (
    <label class="theme">
      {label}{" "}
      <select
        value={theme.value}
        onChange={(event) => {
          theme.value = event.currentTarget.value as (typeof THEMES)[number];
        }}
      >
        {THEMES.map((value, index) => (
          <option key={value} value={value}>
            {names[index]}
          </option>
        ))}
      </select>
    </label>
  );
}

function ScenarioGroup({ title, from, published }: { title: string; from: Scenario[]; published: boolean }) {
  return (
    <optgroup label={title}>
      {from.map((scenario, index) =>
        scenario.published === published ? (
          <option key={`${scenario.name} ${scenario.case}`} value={index}>
            {scenario.case ? `${scenario.name}: ${scenario.case}` : scenario.name}
          </option>
        ) : null,
      )}
    </optgroup>
  );
}

function choose(scenario: Scenario | undefined): void {
  if (scenario) write(scenario.toml);
}
