// A text description of the stage. It is updated at most four times a second during playback, and announced only when
// paused.

import { useEffect, useState } from "preact/hooks";
import { filled, text as say } from "../messages/messages";
import { figureData, problem } from "../state";
import { countPackets, description, events } from "./counts";
import { displayed as at, known, playing, speed } from "./player";
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
  if (now === null) return say("network.start");
  if (problem.value) return say("network.error");
  if (!of) return filled("network.loading", () => `${now.toFixed(3)} s`);
  const state = description(of.packets, countPackets(of, now), figureData.value, now);
  const current = playing.value ? "" : events(of.packets, of.at(now));
  const values = { time: now.toFixed(decimals(speed.value)), state, events: current };
  return filled(current ? "count.now.events" : "count.now", (name) => values[name as keyof typeof values] ?? null);
}
