// The time axis of all figures, which stays visible, and above it the whole run as an overview: its window moves by its
// middle, and its ends are sliders.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { text as say } from "../messages/messages";
import { clock, dark, figureData } from "../state";
import type { FigureData, Line } from "../types";
import { short } from "../units";
import { AXIS_LEFT, AXIS_RIGHT } from "./plot";
import { marks } from "./time";
import { choose, extent, range, view } from "./view";

const MARK_PX = 90;
const STEPS = 1000;

export function TimeAxis() {
  const box = useRef<HTMLDivElement>(null);
  const width = useSignal(600);
  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const watcher = new ResizeObserver(() => {
      width.value = element.clientWidth;
    });
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return (
    <div class="axis" ref={box} style={{ "--axis-left": `${AXIS_LEFT}px`, "--axis-right": `${AXIS_RIGHT}px` }}>
      <Overview />
      <Scale width={Math.max(width.value - AXIS_LEFT - AXIS_RIGHT, 1)} />
    </div>
  );
}

function Scale({ width }: { width: number }) {
  const [from, to] = range.value;
  const { times, decimals } = marks([from, to], width / MARK_PX);
  const percent = (time: number) => `${(100 * (time - from)) / (to - from)}%`;
  const now = clock.value;
  return (
    <div class="scale" aria-hidden="true">
      {times.map((time) => (
        <span key={time} style={{ left: percent(time) }}>
          {time.toFixed(decimals)}
        </span>
      ))}
      {now !== null && now >= from && now <= to && (
        <b style={{ left: `clamp(1.2rem, ${percent(now)}, calc(100% - 1.2rem))` }}>{`${now.toFixed(3)} s`}</b>
      )}
      <i>s</i>
    </div>
  );
}

function Overview() {
  const data = figureData.value;
  const end = extent.value;
  const [from, to] = range.value;
  const area = useRef<HTMLDivElement>(null);
  const drag = (event: PointerEvent) => {
    const wide = area.current?.clientWidth ?? 1;
    const [start, span, x] = [from, to - from, event.clientX];
    const target = event.currentTarget as HTMLElement;
    target.setPointerCapture(event.pointerId);
    const moved = (move: PointerEvent) => {
      const at = Math.min(Math.max(start + ((move.clientX - x) / wide) * end, 0), end - span);
      choose(at, at + span);
    };
    target.addEventListener("pointermove", moved);
    target.addEventListener("pointerup", () => target.removeEventListener("pointermove", moved), { once: true });
  };
  const percent = (time: number) => `${(100 * time) / end}%`;
  const slider = (name: "from" | "to", value: number) => (
    <input
      type="range"
      min={0}
      max={STEPS}
      step={1}
      value={(STEPS * value) / end}
      aria-label={say(`tracks.${name}`)}
      aria-valuetext={`${short(Number(value.toPrecision(3)))} s`}
      onInput={(event) => {
        const next = (event.currentTarget.valueAsNumber * end) / STEPS;
        if (name === "from") choose(Math.min(next, to), to);
        else choose(from, Math.max(next, from));
      }}
    />
  );
  return (
    <div class="overview" title={say("tracks.overview")} ref={area}>
      {data && <Lines data={data} end={end} />}
      <div class="outside" style={{ left: 0, width: percent(from) }} />
      <div class="outside" style={{ left: percent(to), right: 0 }} />
      {view.value && (
        <div class="window" style={{ left: percent(from), width: percent(to - from) }} onPointerDown={drag} />
      )}
      {slider("from", from)}
      {slider("to", to)}
      {view.value && (
        <button
          type="button"
          class="whole"
          onClick={() => {
            view.value = null;
          }}
        >
          {say("tracks.all")}
        </button>
      )}
    </div>
  );
}

/** The lines of the first figure, small. */
function Lines({ data, end }: { data: FigureData; end: number }) {
  const layers = data.panels[0]?.layers ?? [];
  const lines = layers.flatMap((each) => (each.kind === "lines" && each.of === "flows" ? each.lines : []));
  const most = Math.max(...lines.flatMap(({ v }) => [...data.column(v)]), 1e-9);
  return (
    <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
      {lines.map((line) => (
        <path
          key={line.name}
          d={pathOf(line, data, end, most)}
          fill="none"
          stroke={dark.value ? line.dark : line.colour}
          stroke-width="1.2"
          vector-effect="non-scaling-stroke"
        />
      ))}
    </svg>
  );
}

function pathOf({ s, v }: Line, { column }: FigureData, end: number, most: number): string {
  const [times, values] = [column(s), column(v)];
  const step = Math.max(Math.floor(times.length / 400), 1);
  let path = "";
  for (let i = 0; i < times.length; i += step)
    path += `${path ? "L" : "M"}${((1000 * (times[i] as number)) / end).toFixed(1)} ${(96 - (92 * (values[i] as number)) / most).toFixed(1)}`;
  return path;
}
