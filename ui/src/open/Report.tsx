// A report in a frame of its own: it has scripts, so it is no one there, and can only say which run it would open.

import { useEffect, useRef } from "preact/hooks";
import { play, query, type Read, type SweptRun, shown } from "./things";

export function Report({ thing, run }: Read) {
  const frame = useRef<HTMLIFrameElement>(null);
  const address = `results/${thing.name}/report${query(run)}`;
  const title = run ? `${thing.title}: point ${run.point}, seed ${run.seed}` : thing.title;
  useEffect(() => {
    const onMessage = (event: MessageEvent) => {
      if (event.source !== frame.current?.contentWindow) return;
      const [opened, read] = [sweptRun(event.data?.open), sweptRun(event.data?.report)];
      if (opened) void play(thing, opened);
      if (read) shown.value = { thing, run: read };
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
          In a tab of its own
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

function sweptRun(said: Partial<SweptRun> | undefined): SweptRun | null {
  const { point, seed } = said ?? {};
  return Number.isInteger(point) && Number.isInteger(seed) ? (said as SweptRun) : null;
}
