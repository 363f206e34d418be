// What the stage shows, in words: four times a second at most while it plays, and read aloud only when it doesn't.

import { useEffect, useState } from "preact/hooks";
import { figureData, problem } from "../state";
import { countPackets, description, events } from "./counts";
import { at, known, playing, speed } from "./player";
import { decimals } from "./Transport";

const PERIOD_MS = 250;

export function Description() {
  const [moving, setMoving] = useState("");
  useEffect(() => {
    if (!playing.value) return;
    setMoving(describe());
    const clock = setInterval(() => setMoving(describe()), PERIOD_MS);
    return () => clearInterval(clock);
  }, [playing.value]);
  return (
    <p class="said small" aria-live={playing.value ? "off" : "polite"}>
      {playing.value ? moving : describe()}
    </p>
  );
}

function describe(): string {
  const [now, of] = playing.value ? [at.peek(), known.peek()] : [at.value, known.value];
  if (now === null) return "Play, or click into a figure: packets as they move and wait.";
  if (problem.value) return "The text has a slip: its packets can be seen once that is mended.";
  if (!of) return `t = ${now.toFixed(3)} s: the packets of this time are on their way …`;
  const what = description(of.packets, countPackets(of, now), figureData.value, now);
  const happening = playing.value ? "" : events(of.packets, of.at(now));
  return `t = ${now.toFixed(decimals(speed.value))} s: ${what}.${happening && ` Now: ${happening}.`}`;
}
