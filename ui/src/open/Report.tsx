// A report in a sandboxed frame: it contains scripts, so it has no origin and can only send the run to open.

import { useEffect, useRef } from "preact/hooks";
import { type OpenReport, play, query, type SweptRun, shown } from "./things";

export function Report({ thing, run }: OpenReport) {
  const frame = useRef<HTMLIFrameElement>(null);
  const address = `results/${thing.name}/report${query(run)}`;
  const title = run ? `${thing.title}: point ${run.point}, seed ${run.seed}` : thing.title;
  useEffect(() => {
    const onMessage = (event: MessageEvent) => {
      if (event.source !== frame.current?.contentWindow) return;
      const [opened, reported] = [sweptRun(event.data?.open), sweptRun(event.data?.report)];
      if (opened) void play(thing, opened);
      if (reported) shown.value = { thing, run: reported };
    };
    addEventListener("message", onMessage);
    return () => removeEventListener("message", onMessage);
  }, [thing]);
  return (
    <>
      <div class="bar">
        <h2>{title}</h2>
        {(thing.kind === "run" || run) && thing.playable && (
          <button type="button" onClick={() => void play(thing, run)}>
            Play this experiment
          </button>
        )}
        <a href={address} target="_blank" rel="noopener">
          Open in a new tab
        </a>
        <button
          type="button"
          onClick={() => {
            shown.value = run ? { thing } : "list";
          }}
        >
          {run ? "Back to the maps" : "Back"}
        </button>
      </div>
      <iframe
        ref={frame}
        src={address}
        title={`Report: ${title}`}
        sandbox="allow-scripts allow-downloads allow-popups"
      />
    </>
  );
}

function sweptRun(message: Partial<SweptRun> | undefined): SweptRun | null {
  const { point, seed } = message ?? {};
  return Number.isInteger(point) && Number.isInteger(seed) ? (message as SweptRun) : null;
}
