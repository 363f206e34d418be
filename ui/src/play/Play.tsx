// Playback of packets: the stage, its transport controls, and the description.

import { useEffect } from "preact/hooks";
import { applyEdit } from "../live";
import { controls, figureData } from "../state";
import { timeText } from "../units";
import "./play.css";
import { Description } from "./Description";
import { at, hide, known, pause, problemText, shown, step, still, toggle } from "./player";
import { Stage } from "./Stage";
import { Transport } from "./Transport";

export function Play() {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => press(event);
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  if (!figureData.value) return null;
  if (!shown.value) return <Closed />;
  return (
    <section class="play" aria-label="Packet view">
      <Stage />
      <Transport />
      <Description />
      {problemText.value && <p class="trouble">{problemText.value}</p>}
      <p class="quiet small">Hollow: retransmitted. With a dot: CE-marked. ×: dropped. Tall: several at once.</p>
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
      <span class="quiet small">packets on the links and in the queue</span>
    </p>
  );
}

/** If all delay is on the reverse path, no packet is visible before the queue: explain, and offer a split. */
function Delay() {
  const now = controls.value;
  const delays = known.value?.packets.delays_s;
  if (!now?.rtt_ns || !delays || delays.before || delays.after) return null;
  return (
    <p class="quiet small">
      All of the delay is on the reverse path: packets reach the queue at once.{" "}
      <button
        type="button"
        onClick={() => applyEdit({ key: "path.delay", value: timeText(Math.round(now.rtt_ns / 2)) })}
      >
        Put half of it on the forward path
      </button>
    </p>
  );
}

/** Packet traces have only the first queue of a packet: explain, if there are several. */
function FirstQueue() {
  if ((known.value?.packets.queues.length ?? 0) < 2) return null;
  return (
    <p class="quiet small">This path has several queues: a packet is shown and counted in the first one it reaches.</p>
  );
}

function Motion() {
  if (!still.value) return null;
  return (
    <p class="quiet small">
      Your system requests reduced motion: step through the run instead.{" "}
      <button
        type="button"
        onClick={() => {
          still.value = false;
        }}
      >
        Enable playback
      </button>
    </p>
  );
}

/** Space plays and pauses, arrows step, unless another control has the focus. */
function press(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (!shown.value) return;
  const unfocused = target === document.body || target.matches(".play, .play canvas, .play button");
  if (!unfocused || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " " && !target.matches("button")) toggle();
  else if (event.key === "ArrowRight") step(true);
  else if (event.key === "ArrowLeft") step(false);
  else if (event.key === "Escape" && at.value !== null) pause();
  else return;
  event.preventDefault();
}
