// The stage's canvas: redrawn when the time, the packets, its width or the colours change.

import { computed, signal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { text as say } from "../messages/messages";
import { dark, figureData, hidden } from "../state";
import { drawStage, type Palette } from "./draw";
import { geometryOf } from "./geometry";
import { buffering, displayed, known, speed } from "./player";
import { place } from "./pointed";

const NO_FLOW = { light: "#44444c", dark: "#c9c9d2" };

const width = signal(0);
/** The largest backlog of each queue, from its figure. */
const peaks = computed(() => {
  const backlogs = new Map<string, number>();
  const shown = figureData.value;
  const layers = shown?.panels.find((panel) => panel.name === "queue")?.layers ?? [];
  for (const layer of layers) {
    if (layer.kind !== "lines" || !shown) continue;
    for (const line of layer.lines)
      backlogs.set(
        line.name,
        shown.column(line.v).reduce((largest, value) => Math.max(largest, value), 0),
      );
  }
  return backlogs;
});
const geometry = computed(() =>
  geometryOf(known.value?.packets ?? null, {
    width: width.value,
    flows: figureData.value?.flows ?? [],
    peaks: peaks.value,
  }),
);
const palette = computed(currentPalette);

/** The flow's row and the queue under the pointer. */
function point(event: PointerEvent): void {
  const { lanes, rows } = geometry.peek();
  const lane = lanes.find(({ top, height }) => event.offsetY >= top - 4 && event.offsetY <= top + height + 4);
  if (!lane) {
    place.value = null;
    return;
  }
  const row = Math.min(
    Math.max(Math.floor(((event.offsetY - lane.top) / lane.height) * rows.length), 0),
    rows.length - 1,
  );
  const box = lane.box;
  const inside =
    box && event.offsetX >= Math.min(box.entry, box.exit) && event.offsetX <= Math.max(box.entry, box.exit);
  const next = { flow: rows[row] ?? null, queue: inside === true };
  if (place.peek()?.flow !== next.flow || place.peek()?.queue !== next.queue) place.value = next;
}

export function Stage() {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const box = canvas.current?.parentElement as HTMLElement;
    const watcher = new ResizeObserver(() => {
      width.value = box.clientWidth;
    });
    watcher.observe(box);
    return () => watcher.disconnect();
  }, []);
  useSignalEffect(() => {
    const [element, of] = [canvas.current, known.value];
    const [layout, colours, now] = [geometry.value, palette.value, { time: displayed.value ?? 0, speed: speed.value }];
    // Keeps the last drawing until the packets of this time are loaded.
    if (!element || !layout.width || (buffering.value && !of && element.dataset.drawn)) return;
    const context = sized(element, layout.width, layout.height);
    if (context) drawStage(context, of, layout, colours, now);
    if (of) element.dataset.drawn = "yes";
  });
  return (
    <div class="board" data-waiting={buffering.value}>
      <canvas
        ref={canvas}
        role="img"
        tabIndex={0}
        onPointerMove={point}
        onPointerLeave={() => {
          place.value = null;
        }}
        aria-label={say("network.canvas")}
      />
    </div>
  );
}

function sized(canvas: HTMLCanvasElement, wide: number, high: number): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio;
  const [columns, rows] = [Math.round(wide * ratio), Math.round(high * ratio)];
  if (canvas.width !== columns || canvas.height !== rows) {
    canvas.width = columns;
    canvas.height = rows;
    canvas.style.height = `${high}px`;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Flows have the colours of their lines in the figures, or of their group's line. */
function currentPalette(): Palette {
  const lines = new Map<string, string>();
  for (const panel of figureData.value?.panels ?? []) {
    for (const layer of panel.layers) {
      if (layer.kind !== "lines") continue;
      for (const line of layer.lines)
        if (!lines.has(line.name)) lines.set(line.name, dark.value ? line.dark : line.colour);
    }
  }
  const groups = new Map(figureData.value?.flows.map((flow) => [flow.name, flow.group]));
  // A group's row has the colour of its first flow.
  const members = new Map(figureData.value?.flows.toReversed().map((flow) => [flow.group, flow.name]));
  const plain = dark.value ? NO_FLOW.dark : NO_FLOW.light;
  const hiddenLines = hidden.value;
  const base = dark.value
    ? { text: "#c9cdd6", line: "#5a606e", box: "#262a32", paper: "#15171b", limit: "#ff7d8a" }
    : { text: "#3d4452", line: "#b1b5bf", box: "#efede6", paper: "#ffffff", limit: "#b00020" };
  return {
    ...base,
    words: { reverse: say("network.reverse"), scale: say("network.scale") },
    flow: (name) => {
      const line = lines.has(name) ? name : (groups.get(name) ?? members.get(name) ?? name);
      return { colour: lines.get(line) ?? plain, shown: !hiddenLines.has(line) };
    },
  };
}
