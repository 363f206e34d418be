// The stage's canvas: redrawn when the time, the packets, its width or the colours change.

import { computed, signal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { dark, figureData, hidden } from "../state";
import { drawStage, type Palette } from "./draw";
import { geometryOf } from "./geometry";
import { at, buffering, known, speed } from "./player";

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
    const [layout, colours, now] = [geometry.value, palette.value, { time: at.value ?? 0, speed: speed.value }];
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
        aria-label="Packets on the links and in the queue; described below"
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
    ? { text: "#c9c9d2", line: "#5a5a66", box: "#242429", paper: "#18181b", limit: "#ff7d8a" }
    : { text: "#44444c", line: "#b4b4bd", box: "#f0f0f3", paper: "#ffffff", limit: "#b00020" };
  return {
    ...base,
    flow: (name) => {
      const line = lines.has(name) ? name : (groups.get(name) ?? members.get(name) ?? name);
      return { colour: lines.get(line) ?? plain, shown: !hiddenLines.has(line) };
    },
  };
}
