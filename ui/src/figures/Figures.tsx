// All figures, with a common legend, time marker and zoom.

import { type Signal, signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { KERNEL_DASH } from "../kernel/Key";
import { overlay } from "../kernel/run";
import { pointed, seek } from "../play/player";
import { clock, figureData, narrow, pins, problem } from "../state";
import type { FigureData, Panel } from "../types";
import { short } from "../units";
import type { RunPanel } from "./build";
import { Legend } from "./Legend";
import { palette } from "./palette";
import { Plot } from "./plot";
import { Validity } from "./Validity";

const view = signal<[number, number] | null>(null);

export function Figures() {
  const drawn = figureData.value;
  if (!drawn) return <p class="quiet">No simulation yet.</p>;
  return (
    <section class="figures" aria-label="Results">
      <StaleFigures />
      <Validity of={drawn} />
      <Legend />
      <fieldset class="panels" aria-label="Figures" {...(narrow.value ? { tabIndex: 0 } : {})}>
        {drawn.panels.map((panel, index) => (
          <Figure key={panel.name} name={panel.name} last={narrow.value || index === drawn.panels.length - 1} />
        ))}
      </fieldset>
      <p class="quiet small">
        {narrow.value
          ? "Swipe for the other figures; tap one to see the packets of that time."
          : "Click a figure to see the packets of that time, drag to zoom in, double-click to zoom out."}
      </p>
    </section>
  );
}

/** The text is invalid: the figures show the last valid one. */
function StaleFigures() {
  const error = problem.value;
  if (!error) return null;
  const show = () => {
    document.getElementById("text")?.scrollIntoView({ block: "nearest" });
    document.querySelector<HTMLElement>("#text [contenteditable]")?.focus({ preventScroll: true });
  };
  return (
    <p class="trouble">
      These figures show the last valid text.{" "}
      <button type="button" onClick={show}>
        {error.line ? `Show line ${error.line}` : "Show the text"}
      </button>
    </p>
  );
}

function Figure({ name, last }: { name: string; last: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const panel = figureData.value?.panels.find((candidate) => candidate.name === name);
  // Incremented by every drawing, so that positions and values read from the plot are updated.
  const drawn = useSignal(0);

  useEffect(() => {
    const created = new Plot(box.current as HTMLDivElement, {
      pointed,
      picked: seek,
      zoomed: (range) => {
        view.value = range;
      },
    });
    plot.current = created;
    created.show(runPanels(name), palette(), last);
    const watcher = new ResizeObserver(() => {
      created.resize();
      drawn.value += 1;
    });
    watcher.observe(box.current as HTMLDivElement);
    return () => {
      watcher.disconnect();
      created.destroy();
    };
  }, [name, last]);

  useSignalEffect(() => {
    const [sources, colours, range] = [runPanels(name), palette(), view.value];
    if (sources.length) plot.current?.show(sources, colours, last);
    plot.current?.setView(range);
    drawn.value = drawn.peek() + 1;
  });

  if (!panel) return null;
  return (
    <figure class="panel">
      <figcaption>
        {panel.title} {panel.note && <span class="quiet">({panel.note})</span>}
        <Readout plot={plot} drawn={drawn} />
      </figcaption>
      <div ref={box} class="plot" role="img" aria-label={described(panel, figureData.value as FigureData)} />
      <TimeMarker plot={plot} drawn={drawn} />
    </figure>
  );
}

interface PlotProps {
  plot: { current: Plot | null };
  drawn: Signal<number>;
}

function TimeMarker({ plot, drawn }: PlotProps) {
  drawn.value;
  const seconds = clock.value;
  const left = seconds === null ? null : (plot.current?.xOf(seconds) ?? null);
  return left === null ? null : <div class="clock" style={{ transform: `translateX(${left}px)` }} />;
}

function Readout({ plot, drawn }: PlotProps) {
  drawn.value;
  const seconds = clock.value;
  const values = seconds === null ? [] : (plot.current?.read(seconds) ?? []);
  return (
    <span class="readout" aria-hidden="true">
      {values.slice(0, 6).map(({ label, value, colour }) => (
        <span key={label} style={{ color: colour }}>
          {label} {short(value)}
        </span>
      ))}
    </span>
  );
}

/** This panel of the shown run, of the kernel's run and of the pinned runs. */
function runPanels(name: string): RunPanel[] {
  const of = (data: FigureData, label: string | null): RunPanel[] => {
    const panel = data.panels.find((candidate) => candidate.name === name);
    return panel ? [{ panel, figureData: data, label }] : [];
  };
  const current = figureData.value ? of(figureData.value, null) : [];
  const kernel = overlay.value
    ? of(overlay.value, "kernel").map((runPanel) => ({ ...runPanel, dash: KERNEL_DASH }))
    : [];
  return current.length ? [...current, ...kernel, ...pins.value.flatMap((pin) => of(pin.figureData, pin.name))] : [];
}

/** A text description of the figure for screen readers. */
function described(panel: Panel, of: FigureData): string {
  const lines = panel.layers.flatMap((layer) => (layer.kind === "lines" ? layer.lines : []));
  const descriptions = lines.slice(0, 12).map((line) => {
    const values = of.column(line.v);
    let [sum, largest] = [0, Number.NEGATIVE_INFINITY];
    for (const value of values) {
      sum += value;
      largest = Math.max(largest, value);
    }
    return values.length ? `${line.name}: mean ${short(sum / values.length)}, largest ${short(largest)}` : line.name;
  });
  return `${panel.title} over ${short(of.duration_s)} s. ${descriptions.join("; ")}`;
}
