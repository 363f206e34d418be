// The transport controls: play, pause, step, speed, time.

import { useId } from "preact/hooks";
import { filled, text as say } from "../messages/messages";
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
          {say(playing.value ? "network.pause" : "network.play")}
        </button>
        <button
          type="button"
          onClick={() => step(false)}
          aria-label={say("network.before")}
          title={`← ${say("network.before")}`}
        >
          ⇤
        </button>
        <button
          type="button"
          onClick={() => step(true)}
          aria-label={say("network.next")}
          title={`→ ${say("network.next")}`}
        >
          ⇥
        </button>
      </div>
      <Speed />
      <div class="scrub">
        <label for={id}>{say("network.time")}</label>
        <input
          id={id}
          type="range"
          min={0}
          max={end}
          step={STEP_S}
          value={now}
          aria-valuetext={filled("network.of", (name) => `${short(name === "end" ? end : now)} s`)}
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
  const text =
    speed.value === 1
      ? say("network.realtime")
      : filled("network.slower", () => short(Number((1 / speed.value).toPrecision(2))));
  const decades = -Math.log10(SLOWEST);
  return (
    <div class="speed">
      <label for={id}>{say("network.speed")}</label>
      <input
        id={id}
        type="range"
        min={0}
        max={STEPS}
        step={1}
        value={STEPS * (1 + Math.log10(speed.value) / decades)}
        aria-valuetext={text}
        title={filled("network.second", () => timeLabel(speed.value * 1e9))}
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
