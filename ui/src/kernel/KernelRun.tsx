// The buttons that run the shown experiment on the real kernel, and the progress of the run.

import { useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { write } from "../live";
import { filled, text as say } from "../messages/messages";
import { offered, pending, problem, seed, text } from "../state";
import { short } from "../units";
import { begin, cancel, checkKernel, kernelStatus, outcome, overlay, progress, runProblem } from "./run";
import "./kernel.css";

const SEEDS = 3;

export function KernelRun() {
  useEffect(() => {
    // Checks again when the user returns to the page, possibly after building a kernel.
    const check = () => {
      if (!kernelStatus.peek()?.name) void checkKernel();
    };
    addEventListener("focus", check);
    return () => removeEventListener("focus", check);
  }, []);
  useSignalEffect(() => {
    if (offered.value) void checkKernel();
  });
  const kernel = kernelStatus.value;
  const off = !kernel?.name || problem.value !== null || pending.value.length > 0;
  return (
    <section class="kernel" aria-label={say("kernel.title")}>
      {progress.value ? (
        <RunProgress />
      ) : (
        <>
          <button type="button" disabled={off} onClick={() => void begin(1)}>
            {say("kernel.run")}
          </button>
          <button type="button" disabled={off} onClick={() => void begin(SEEDS)}>
            {filled("kernel.seeds", () => String(SEEDS))}
          </button>
          <span class="quiet small">{kernel?.name ?? kernel?.problem}</span>
        </>
      )}
      <Stale />
      {runProblem.value && (
        <div role="alert" class="trouble">
          <strong>
            {[runProblem.value.line && `line ${runProblem.value.line}`, runProblem.value.key]
              .filter(Boolean)
              .join(", ")}
          </strong>{" "}
          {runProblem.value.text}
          {runProblem.value.right && <div>{runProblem.value.right}</div>}
        </div>
      )}
    </section>
  );
}

function RunProgress() {
  const now = progress.value;
  if (!now) return null;
  const running = now.state !== "waiting";
  return (
    <>
      <label class="progress">
        <span aria-live="polite">{running ? say("kernel.running") : waitingText(now.before)}</span>
        <progress max={1} value={now.share} />
      </label>
      <span class="quiet small said">{running && `${short(now.seconds)} of ${short(now.of_s)} s`}</span>
      <button type="button" onClick={() => void cancel()}>
        {say("kernel.cancel")}
      </button>
    </>
  );
}

function waitingText(before: number): string {
  return before ? `Waiting for a processor, behind ${before} more` : "Waiting for a processor";
}

/** The last run's experiment or seed is not the shown one. */
function Stale() {
  const last = outcome.value;
  if (!last || overlay.value || progress.value) return null;
  const restore = () => {
    seed.value = last.seed;
    write(last.toml);
  };
  return (
    <p class="quiet small stale">
      The kernel ran {last.toml === text.value ? `seed ${last.seed}` : "another experiment"}.{" "}
      <button type="button" onClick={restore}>
        Back to it
      </button>
    </p>
  );
}
