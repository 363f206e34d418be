// A text description of the stage. It is updated at most four times a second during playback, and announced only when
// paused.

import { useEffect, useState } from "preact/hooks";
import { figureData, problem } from "../state";
import { countPackets, description, events } from "./counts";
import { at, known, playing, speed } from "./player";
import { decimals } from "./Transport";

const PERIOD_MS = 250;

export function Description() {
  const [playingText, setPlayingText] = useState("");
  useEffect(() => {
    if (!playing.value) return;
    setPlayingText(describe());
    const clock = setInterval(() => setPlayingText(describe()), PERIOD_MS);
    return () => clearInterval(clock);
  }, [playing.value]);
  return (
    <p class="said small" aria-live={playing.value ? "off" : "polite"}>
      {playing.value ? playingText : describe()}
    </p>
  );
}

function describe(): string {
  const [now, of] = playing.value ? [at.peek(), known.peek()] : [at.value, known.value];
  if (now === null) return "Play, or click a figure, to see packets on the links and in the queue.";
  if (problem.value) return "The text has an error: correct it to see its packets.";
  if (!of) return `t = ${now.toFixed(3)} s: loading the packets of this time …`;
  const state = description(of.packets, countPackets(of, now), figureData.value, now);
  const current = playing.value ? "" : events(of.packets, of.at(now));
  return `t = ${now.toFixed(decimals(speed.value))} s: ${state}.${current && ` Now: ${current}.`}`;
}
