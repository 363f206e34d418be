// Pinned runs: what is on the screen stays behind whatever comes next.

import { write } from "../live";
import { knobs, type Pin, picture, pins, seed, text } from "../state";
import { rateSaid, timeSaid } from "../units";

const PINS_MAX = 4;
let made = 0;

export function Pins() {
  return (
    <div class="pins">
      <button type="button" onClick={pin} disabled={!picture.value || pins.value.length >= PINS_MAX}>
        Pin this run
      </button>
      {pins.value.map((one) => (
        <span class="pin" key={one.id}>
          <button type="button" title="Back to this experiment" onClick={() => back(one)}>
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
  if (!picture.value) return;
  made += 1;
  pins.value = [
    ...pins.value,
    {
      id: made,
      toml: text.value,
      seed: seed.value,
      name: `pin ${made}`,
      label: `pin ${made}${said()}`,
      picture: picture.value,
    },
  ];
}

function back(one: Pin): void {
  seed.value = one.seed;
  write(one.toml);
}

function unpin(id: number): void {
  pins.value = pins.value.filter((one) => one.id !== id);
}

/** The path in short: what somebody will remember the run by. */
function said(): string {
  const now = knobs.value;
  if (!now?.bottleneck?.rate_bps) return "";
  return ` (${rateSaid(now.bottleneck.rate_bps)}, ${timeSaid(now.rtt_ns)}, ${now.bottleneck.qdisc})`;
}
