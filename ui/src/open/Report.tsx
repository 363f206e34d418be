// A report in a frame of its own: it has scripts, so it is nobody there, and can only say which run it would open.

import { useEffect, useRef } from "preact/hooks";
import { play, shown, type Thing } from "./things";

export function Report({ thing }: { thing: Thing }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const address = `results/${thing.name}/report`;
  useEffect(() => {
    const heard = (event: MessageEvent) => {
      if (event.source !== frame.current?.contentWindow) return;
      const { point, seed } = event.data?.open ?? {};
      if (Number.isInteger(point) && Number.isInteger(seed)) void play(thing, { point, seed });
    };
    addEventListener("message", heard);
    return () => removeEventListener("message", heard);
  }, [thing]);
  return (
    <>
      <div class="bar">
        <h2>{thing.title}</h2>
        {thing.kind === "run" && thing.playable && (
          <button type="button" onClick={() => void play(thing)}>
            Play this experiment
          </button>
        )}
        <a href={address} target="_blank" rel="noopener">
          In a tab of its own
        </a>
        <button
          type="button"
          onClick={() => {
            shown.value = "list";
          }}
        >
          Back
        </button>
      </div>
      <iframe
        ref={frame}
        src={address}
        title={`Report: ${thing.title}`}
        sandbox="allow-scripts allow-downloads allow-popups"
      />
    </>
  );
}
