// The transport controls: play, pause, step, speed, time.

import { useId } from "preact/hooks";
import { figureData, problem } from "../state";
import { short, timeLabel } from "../units";
import { at, buffering, playing, SLOWEST, seek, setSpeed, speed, step, still, toggle } from "./player";

const STEPS = 300;
/** The step of the slider, in seconds. */
const STEP_S = 0.001;

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
        <button
          type="button"
          onClick={() => step(false)}
          aria-label="To the previous event"
          title="← to the previous event"
        >
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
          step={STEP_S}
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
  const text = speed.value === 1 ? "real time" : `1/${short(Math.round(1 / speed.value))} of real time`;
  const decades = -Math.log10(SLOWEST);
  return (
    <div class="speed">
      <label for={id}>Speed</label>
      <input
        id={id}
        type="range"
        min={0}
        max={STEPS}
        step={1}
        value={STEPS * (1 + Math.log10(speed.value) / decades)}
        aria-valuetext={text}
        title={`A second on the screen is ${timeLabel(speed.value * 1e9)} of the run`}
        onInput={(event) => setSpeed(10 ** ((Number(event.currentTarget.value) / STEPS - 1) * decades))}
      />
      <output for={id}>{text}</output>
    </div>
  );
}

/** The number of decimals of the time that change slowly enough to read. */
export function decimals(rate: number): number {
  return rate < 0.01 ? 5 : rate < 0.1 ? 4 : 3;
}
