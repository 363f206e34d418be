// The random seed: another seed gives another run of the same experiment.

import { useId } from "preact/hooks";
import { refresh } from "../live";
import { seed } from "../state";

const SEED_MAX = 2 ** 32 - 1;

export function SeedControl() {
  const id = useId();
  const set = (next: number) => {
    if (!Number.isInteger(next) || next < 0 || next > SEED_MAX) return;
    seed.value = next;
    refresh();
  };
  return (
    <fieldset>
      <legend>Random seed</legend>
      <div class="seed">
        <label for={id}>Seed</label>
        <input
          id={id}
          type="number"
          min={0}
          max={SEED_MAX}
          value={seed.value}
          title="Seed of loss, jitter and start times: the same seed gives the same run"
          onInput={(event) => set(event.currentTarget.valueAsNumber)}
        />
        <button type="button" aria-label="Next seed" onClick={() => set(seed.value + 1)}>
          Next
        </button>
      </div>
    </fieldset>
  );
}
