// The run in time: the stage, its transport, and what is to be seen in words.

import { useEffect } from "preact/hooks";
import { turn } from "../live";
import { knobs, picture } from "../state";
import { timeText } from "../units";
import "./play.css";
import { at, hide, known, pause, shown, step, still, toggle, trouble } from "./player";
import { Said } from "./Said";
import { Stage } from "./Stage";
import { Transport } from "./Transport";

export function Play() {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => press(event);
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  if (!picture.value) return null;
  if (!shown.value) return <Closed />;
  return (
    <section class="play" aria-label="The run in time">
      <Stage />
      <Transport />
      <Said />
      {trouble.value && <p class="trouble">{trouble.value}</p>}
      <p class="quiet small">Hollow: sent again. With a dot: marked (CE). ×: dropped. Tall: several at once.</p>
      <Delay />
      <FirstQueue />
      <Motion />
      <button type="button" onClick={hide}>
        Hide the packets
      </button>
    </section>
  );
}

function Closed() {
  const show = () => {
    shown.value = true;
  };
  return (
    <p class="closed">
      <button type="button" onClick={show}>
        Show the packets
      </button>{" "}
      <span class="quiet small">as they move on the wire and wait in the queue</span>
    </p>
  );
}

/** Where all delay is on the way back, nobody is ever seen on the wire before the queue: say so, and offer another. */
function Delay() {
  const now = knobs.value;
  const delays = known.value?.packets.delays_s;
  if (!now?.rtt_ns || !delays || delays.before || delays.after) return null;
  return (
    <p class="quiet small">
      All of the delay lies on the way back: packets reach the queue at once.{" "}
      <button type="button" onClick={() => turn({ key: "path.delay", value: timeText(Math.round(now.rtt_ns / 2)) })}>
        Put half of it on the way there
      </button>
    </p>
  );
}

/** Journeys know the first queue of a packet: say so where there are several. */
function FirstQueue() {
  if ((known.value?.packets.queues.length ?? 0) < 2) return null;
  return (
    <p class="quiet small">This path has several queues: a packet is shown, and counted, in the first it comes to.</p>
  );
}

function Motion() {
  if (!still.value) return null;
  return (
    <p class="quiet small">
      Your system asks for less motion: step through the run instead.{" "}
      <button
        type="button"
        onClick={() => {
          still.value = false;
        }}
      >
        Let it play
      </button>
    </p>
  );
}

/** Space plays and pauses, arrows step: where nothing else has the keyboard. */
function press(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (!shown.value) return;
  const free = target === document.body || target.matches(".play, .play canvas, .play button");
  if (!free || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " " && !target.matches("button")) toggle();
  else if (event.key === "ArrowRight") step(true);
  else if (event.key === "ArrowLeft") step(false);
  else if (event.key === "Escape" && at.value !== null) pause();
  else return;
  event.preventDefault();
}
