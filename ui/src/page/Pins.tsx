// Pinned runs: what is on the screen stays behind whatever comes next.

import { write } from "../live";
import { controls, figureData, type Pin, pins, seed, text } from "../state";
import { rateLabel, timeLabel } from "../units";

const PINS_MAX = 4;
let made = 0;

export function Pins() {
  return (
    <div class="pins">
      <button type="button" onClick={pin} disabled={!figureData.value || pins.value.length >= PINS_MAX}>
        Pin this run
      </button>
      {pins.value.map((one) => (
        <span class="pin" key={one.id}>
          <button type="button" title="Back to this experiment" onClick={() => restorePin(one)}>
            {one.label}
          </button>
          <button type="button" class="remove" aria-label={`Unpin ${one.label}`} onClick={() => unpin(one.id)}>
            ✕
          </button>
        </span>
      ))}
    </div>
  );
}

function pin(): void {
  if (!figureData.value) return;
  made += 1;
  pins.value = [
    ...pins.value,
    {
      id: made,
      toml: text.value,
      seed: seed.value,
      name: `pin ${made}`,
      label: `pin ${made}${statusText()}`,
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

/** The path in short: what the user will remember the run by. */
function statusText(): string {
  const now = controls.value;
  if (!now?.bottleneck?.rate_bps) return "";
  return ` (${rateLabel(now.bottleneck.rate_bps)}, ${timeLabel(now.rtt_ns)}, ${now.bottleneck.qdisc})`;
}
