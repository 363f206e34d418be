// The network, alive: senders, queue, link and receivers with the packets of a time, in slow motion. Its labels are the
// controls of the path.

import { useEffect } from "preact/hooks";
import { Senders } from "../controls/Flows";
import { Buffer, Loss, Queue, Rate, Rtt } from "../controls/Path";
import { applyEdit } from "../live";
import { text as say } from "../messages/messages";
import { controls, figureData } from "../state";
import { timeText } from "../units";
import "./play.css";
import { Description } from "./Description";
import { at, known, pause, problemText, step, still, toggle } from "./player";
import { Stage } from "./Stage";
import { Transport } from "./Transport";

export function Play() {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => press(event);
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  const now = controls.value;
  if (!figureData.value || !now) return null;
  return (
    <section class="play" aria-label={say("network.title")}>
      <Senders />
      <div class="labels above">
        <Loss loss={now.loss} />
        {now.bottleneck && (
          <>
            <Queue now={now} bottleneck={now.bottleneck} />
            <Buffer now={now} bottleneck={now.bottleneck} />
          </>
        )}
        <Rate bottleneck={now.bottleneck} />
        <Rtt now={now} />
      </div>
      <Stage />
      <div class="below">
        <Transport />
        <Description />
        {problemText.value && <p class="trouble">{problemText.value}</p>}
        <Delay />
        <FirstQueue />
        <Motion />
      </div>
    </section>
  );
}

/** If all delay is on the reverse path, no packet is visible before the queue: explain, and offer a split. */
function Delay() {
  const now = controls.value;
  const delays = known.value?.packets.delays_s;
  if (!now?.rtt_ns || !delays || delays.before || delays.after) return null;
  return (
    <p class="quiet small">
      {say("network.split")}{" "}
      <button
        type="button"
        onClick={() => applyEdit({ key: "path.forward_delay", value: timeText(Math.round(now.rtt_ns / 2)) })}
      >
        {say("network.split.do")}
      </button>
    </p>
  );
}

/** Packet traces have only the first queue of a packet: explain, if there are several. */
function FirstQueue() {
  if ((known.value?.packets.queues.length ?? 0) < 2) return null;
  return <p class="quiet small">{say("network.first")}</p>;
}

function Motion() {
  if (!still.value) return null;
  return (
    <p class="quiet small">
      {say("network.still")}{" "}
      <button
        type="button"
        onClick={() => {
          still.value = false;
        }}
      >
        {say("network.still.do")}
      </button>
    </p>
  );
}

/** In the picture space plays and pauses, arrows step. */
function press(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (!target.matches(".play canvas, .play .keys button") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " " && !target.matches("button")) toggle();
  else if (event.key === "ArrowRight") step(true);
  else if (event.key === "ArrowLeft") step(false);
  else if (event.key === "Escape" && at.value !== null) pause();
  else return;
  event.preventDefault();
}
