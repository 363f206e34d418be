// A small sweep: six runs over a part of a control's range, as a strip of small figures.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { displayName, leader } from "../answer/answer";
import { nearest } from "../controls/notches";
import { type Sweepable, sweepable } from "../controls/stops";
import { applyEdit } from "../live";
import { filled, text as say } from "../messages/messages";
import { requestedMetrics } from "../metrics";
import { figureData, RequestError } from "../protocol";
import { controls, dark, seed, text } from "../state";
import type { Controls, FigureData, Line } from "../types";
import { twoDigits } from "../units";
import "./compare.css";

const RUNS = 6;
const POINTS = 120;
/** The first part of the range: so many stops to each side of the value. */
const AROUND = 12;

interface Swept {
  value: number;
  now: Controls;
  run: FigureData;
}

export function Sweep() {
  const now = controls.value;
  const chosen = useSignal("buffer");
  const isOpen = useSignal(false);
  if (!now) return null;
  const all = sweepable(now);
  const control = all.find(({ name }) => name === chosen.value) ?? all[0];
  if (!control) return null;
  return (
    <details
      class="sweep"
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open;
      }}
    >
      <summary>{say("sweep.title")}</summary>
      {isOpen.value && (
        <>
          <p class="quiet small">{say("sweep.about")}</p>
          <label>
            {say("sweep.control")}{" "}
            <select
              value={control.name}
              onChange={(event) => {
                chosen.value = event.currentTarget.value;
              }}
            >
              {all.map(({ name }) => (
                <option key={name} value={name}>
                  {say(`control.${name}`)}
                </option>
              ))}
            </select>
          </label>
          <Range key={control.name} control={control} />
        </>
      )}
    </details>
  );
}

function Range({ control }: { control: Sweepable }) {
  const { stops, value } = control;
  const middle = nearest(stops, value);
  const [from, to] = [useSignal(Math.max(middle - AROUND, 0)), useSignal(Math.min(middle + AROUND, stops.length - 1))];
  const [swept, busy, error] = [useSignal<Swept[]>([]), useSignal(false), useSignal("")];
  const active = useRef<AbortController | null>(null);
  useEffect(() => () => active.current?.abort(), []);
  const run = async () => {
    active.current?.abort();
    const own = new AbortController();
    active.current = own;
    [swept.value, busy.value, error.value] = [[], true, ""];
    try {
      for (const each of valuesOf(stops, from.value, to.value)) {
        const found = await runAt(control, each, own.signal);
        if (active.current !== own) return;
        swept.value = [...swept.value, found];
      }
    } catch (thrown) {
      if (own.signal.aborted) return;
      if (!(thrown instanceof RequestError)) throw thrown;
      error.value = thrown.message;
    }
    busy.value = false;
  };
  const slider = (name: "from" | "to", at: typeof from) => (
    <label class="control">
      <span class="name">{say(`sweep.${name}`)}</span>
      <input
        type="range"
        min={0}
        max={stops.length - 1}
        step={1}
        value={at.value}
        aria-valuetext={control.format(stops[at.value] as number)}
        onInput={(event) => {
          at.value = event.currentTarget.valueAsNumber;
        }}
        onChange={() => void run()}
      />
      <output>{control.format(stops[at.value] as number)}</output>
    </label>
  );
  const most = Math.max(
    ...swept.value.flatMap(({ run: each }) => linesOf(each).flatMap(({ v }) => [...each.column(v)])),
    1e-9,
  );
  return (
    <>
      {slider("from", from)}
      {slider("to", to)}
      <button type="button" disabled={busy.value} onClick={() => void run()}>
        {busy.value ? say("lessons.running") : say("sweep.run")}
      </button>
      {error.value && <p class="trouble">{error.value}</p>}
      <ul class="strip" aria-live="polite">
        {swept.value.map((each) => (
          <Small key={each.value} control={control} swept={each} most={most} />
        ))}
      </ul>
    </>
  );
}

/** So many stops between two, evenly. */
function valuesOf(stops: number[], one: number, other: number): number[] {
  const [low, high] = [Math.min(one, other), Math.max(one, other)];
  const indices = Array.from({ length: RUNS }, (_, i) => Math.round(low + ((high - low) * i) / (RUNS - 1)));
  return [...new Set(indices)].map((index) => stops[index] as number);
}

async function runAt(control: Sweepable, value: number, signal: AbortSignal): Promise<Swept> {
  const request = {
    ...{ toml: text.peek(), edits: control.edits(value), seed: seed.peek(), panels: ["delivered"], points: POINTS },
    numbers: requestedMetrics(),
  };
  const { state, figureData: run } = await figureData(request, signal);
  if (!run || !state.controls) throw new RequestError(state.problem?.text ?? "no result");
  return { value, now: state.controls, run };
}

function linesOf({ panels }: FigureData): Line[] {
  const layers = panels[0]?.layers ?? [];
  return layers.flatMap((layer) => (layer.kind === "lines" && layer.of === "flows" ? layer.lines : []));
}

function Small({ control, swept: { value, now, run }, most }: { control: Sweepable; swept: Swept; most: number }) {
  const take = () => {
    for (const edit of control.edits(value)) applyEdit(edit);
  };
  const first = leader(run.numbers, now);
  const share = first && run.numbers[`groups.${first.name}.share`];
  const lines = [
    share === undefined || !first
      ? ""
      : filled("sweep.share", (name) =>
          name === "who" ? displayName(first.name) : `${twoDigits(share * 100)}\u00a0%`,
        ),
    filled("sweep.delay", () => `${twoDigits(run.numbers["queue.delay_ms.mean"] ?? Number.NaN)}\u00a0ms`),
    filled("sweep.used", () => `${twoDigits(100 * (run.numbers.utilization ?? Number.NaN))}\u00a0%`),
  ];
  return (
    <li>
      <button type="button" title={filled("sweep.take", () => control.format(value))} onClick={take}>
        <b>{control.format(value)}</b>
        <svg viewBox="0 0 100 40" preserveAspectRatio="none" aria-hidden="true">
          {linesOf(run).map((line) => (
            <polyline
              key={line.name}
              points={pointsOf(line, run, most)}
              fill="none"
              stroke={dark.value ? line.dark : line.colour}
              stroke-width="1.4"
              vector-effect="non-scaling-stroke"
            />
          ))}
        </svg>
        {lines.map((each) => each && <span key={each}>{each}</span>)}
      </button>
    </li>
  );
}

function pointsOf({ s, v }: Line, { column, duration_s }: FigureData, most: number): string {
  const [times, values] = [column(s), column(v)];
  return Array.from(times, (time, i) =>
    [((100 * time) / duration_s).toFixed(1), (39 - (38 * (values[i] as number)) / most).toFixed(1)].join(","),
  ).join(" ");
}
