// The random seed: another seed gives another run of the same experiment.

import { setSeed } from "../live";
import { text as say } from "../messages/messages";
import { seed } from "../state";
import { Term } from "../words/Term";

const SEED_MAX = 2 ** 32 - 1;

export function SeedControl() {
  const set = (next: number) => {
    if (!Number.isInteger(next) || next < 0 || next > SEED_MAX) return;
    setSeed(next);
  };
  return (
    <div class="control seed">
      <span class="name">
        <Term name="seed">{say("control.seed")}</Term>
      </span>
      <input
        type="number"
        min={0}
        max={SEED_MAX}
        value={seed.value}
        aria-label={say("control.seed")}
        title={say("control.seed.hint")}
        onInput={(event) => set(event.currentTarget.valueAsNumber)}
      />
      <button type="button" aria-label={say("control.seed.label")} onClick={() => set(seed.value + 1)}>
        {say("control.seed.next")}
      </button>
    </div>
  );
}
