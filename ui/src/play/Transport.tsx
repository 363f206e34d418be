// Play and pause, step, speed, and where in the run.

import { useId } from "preact/hooks";
import { figureData, problem } from "../state";
import { short, timeLabel } from "../units";
import { at, buffering, playing, SLOWEST, seek, slower, speed, step, still, toggle } from "./player";

const STEPS = 300;
/** Of the slider, in seconds. */
const GRAIN_S = 0.001;

export function Transport() {
  const end = figureData.value?.duration_s ?? 0;
  const now = at.value ?? 0;
  const id = useId();
  return (
    <div class="transport">
      <div class="keys">
        <button type="button" class="main" onClick={toggle} disabled={still.value} title="Space">
          {playing.value ? "❚❚ Pause" : "▶ Play"}
        </button>
        <button type="button" onClick={() => step(false)} aria-label="To the last event" title="← to the last event">
          ⇤
        </button>
        <button type="button" onClick={() => step(true)} aria-label="To the next event" title="→ to the next event">
          ⇥
        </button>
      </div>
      <Speed />
      <div class="scrub">
        <label for={id}>Time</label>
        <input
          id={id}
          type="range"
          min={0}
          max={end}
          step={GRAIN_S}
          value={now}
          aria-valuetext={`${short(now)} s of ${short(end)} s`}
          onInput={(event) => seek(Number(event.currentTarget.value))}
        />
        <output for={id}>
          {at.value === null ? "" : `${now.toFixed(decimals(speed.value))} s`}
          {buffering.value && !problem.value && " …"}
        </output>
      </div>
    </div>
  );
}

function Speed() {
  const id = useId();
  const said = speed.value === 1 ? "real time" : `1/${short(Math.round(1 / speed.value))} of real time`;
  const slower_by = -Math.log10(SLOWEST);
  return (
    <div class="speed">
      <label for={id}>Speed</label>
      <input
        id={id}
        type="range"
        min={0}
        max={STEPS}
        step={1}
        value={STEPS * (1 + Math.log10(speed.value) / slower_by)}
        aria-valuetext={said}
        title={`A second on the screen is ${timeLabel(speed.value * 1e9)} of the run`}
        onInput={(event) => slower(10 ** ((Number(event.currentTarget.value) / STEPS - 1) * slower_by))}
      />
      <output for={id}>{said}</output>
    </div>
  );
}

/** As many as move at a pace that can be read. */
export function decimals(pace: number): number {
  return pace < 0.01 ? 5 : pace < 0.1 ? 4 : 3;
}
