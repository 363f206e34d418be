// The button that runs what is on the screen on the real kernel, and how far that is.

import { useEffect } from "preact/hooks";
import { write } from "../live";
import { pending, problem, seed, text } from "../state";
import { short } from "../units";
import { begin, cancel, checkKernel, here, outcome, overlay, progress, slip } from "./run";
import "./kernel.css";

const SEEDS = 3;

export function KernelRun() {
  useEffect(() => {
    // Who was told to build one comes back to this page when it is built.
    const rerun = () => {
      if (!here.peek()?.name) void checkKernel();
    };
    rerun();
    addEventListener("focus", rerun);
    return () => removeEventListener("focus", rerun);
  }, []);
  const kernel = here.value;
  const off = !kernel?.name || problem.value !== null || pending.value.length > 0;
  return (
    <section class="kernel" aria-label="On the real kernel">
      {progress.value ? (
        <UnderWay />
      ) : (
        <>
          <button type="button" disabled={off} onClick={() => void begin(1)}>
            Run on the real kernel
          </button>
          <button type="button" disabled={off} onClick={() => void begin(SEEDS)}>
            … with {SEEDS} seeds
          </button>
          <span class="quiet small">{kernel?.name ?? kernel?.problem}</span>
        </>
      )}
      <Stale />
      {slip.value && (
        <div role="alert" class="trouble">
          <strong>{[slip.value.line && `line ${slip.value.line}`, slip.value.key].filter(Boolean).join(", ")}</strong>{" "}
          {slip.value.text}
          {slip.value.right && <div>{slip.value.right}</div>}
        </div>
      )}
    </section>
  );
}

function UnderWay() {
  const now = progress.value;
  if (!now) return null;
  const running = now.state !== "waiting";
  return (
    <>
      <label class="progress">
        <span aria-live="polite">{running ? "On the kernel" : waits(now.before)}</span>
        <progress max={1} value={now.share} />
      </label>
      <span class="quiet small said">{running && `${short(now.seconds)} of ${short(now.of_s)} s`}</span>
      <button type="button" onClick={() => void cancel()}>
        Cancel
      </button>
    </>
  );
}

function waits(before: number): string {
  return before ? `Waits for a processor, behind ${before} more` : "Waits for a processor";
}

/** What came out is of another experiment than the one on the screen. */
function Stale() {
  const last = outcome.value;
  if (!last || overlay.value || progress.value) return null;
  const goBack = () => {
    seed.value = last.seed;
    write(last.toml);
  };
  return (
    <p class="quiet small stale">
      The kernel ran {last.toml === text.value ? `seed ${last.seed}` : "another experiment"}.{" "}
      <button type="button" onClick={goBack}>
        Back to it
      </button>
    </p>
  );
}
