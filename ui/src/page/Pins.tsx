// Pinned runs: their curves stay behind those of later runs.

import { write } from "../live";
import { filled, text as say } from "../messages/messages";
import { controls, figureData, type Pin, pins, seed, text } from "../state";
import { rateLabel, timeLabel } from "../units";

const PINS_MAX = 4;
let pinCount = 0;

export function Pins() {
  return (
    <div class="pins">
      <button type="button" onClick={pin} disabled={!figureData.value || pins.value.length >= PINS_MAX}>
        {say("pins.pin")}
      </button>
      {pins.value.map((one) => (
        <span class="pin" key={one.id}>
          <button type="button" title={say("pins.back")} onClick={() => restorePin(one)}>
            {one.label}
          </button>
          <button
            type="button"
            class="remove"
            aria-label={filled("pins.unpin", () => one.label)}
            onClick={() => unpin(one.id)}
          >
            ✕
          </button>
        </span>
      ))}
    </div>
  );
}

function pin(): void {
  if (!figureData.value) return;
  pinCount += 1;
  const name = `pin ${pinCount}${figureData.value.valid ? "" : ", invalid"}`;
  pins.value = [
    ...pins.value,
    {
      id: pinCount,
      toml: text.value,
      seed: seed.value,
      name,
      label: `${name}${statusText()}`,
      figureData: figureData.value,
    },
  ];
}

function restorePin(one: Pin): void {
  seed.value = one.seed;
  write(one.toml);
}

function unpin(id: number): void {
  pins.value = pins.value.filter((one) => one.id !== id);
}

/** A short description of the path, to identify the run. */
function statusText(): string {
  const now = controls.value;
  if (!now?.bottleneck?.rate_bps) return "";
  return ` (${rateLabel(now.bottleneck.rate_bps)}, ${timeLabel(now.rtt_ns)}, ${now.bottleneck.qdisc})`;
}
