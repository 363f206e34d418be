// The figures under each other, with one legend, one clock and one zoom.

import { type Signal, signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { KERNEL_DASH } from "../kernel/Key";
import { overlay } from "../kernel/run";
import { pointed, seek } from "../play/player";
import { clock, dark, figureData, hidden, pins, problem } from "../state";
import type { FigureData, Panel } from "../types";
import { short } from "../units";
import type { Ink, Share } from "./build";
import { Legend } from "./Legend";
import { Plot } from "./plot";

const view = signal<[number, number] | null>(null);

export function Figures() {
  const drawn = figureData.value;
  if (!drawn) return <p class="quiet">No simulation yet.</p>;
  return (
    <section class="figures" aria-label="Results">
      <OfBefore />
      <Legend />
      {drawn.panels.map((panel, place) => (
        <Figure key={panel.name} name={panel.name} last={place === drawn.panels.length - 1} />
      ))}
      <p class="quiet small">
        Click into a figure to see the packets of that time, drag over it to zoom into the time, double-click to see all
        of it.
      </p>
    </section>
  );
}

/** The text is wrong, and the figures are not of it. */
function OfBefore() {
  const slip = problem.value;
  if (!slip) return null;
  const show = () => {
    document.getElementById("text")?.scrollIntoView({ block: "nearest" });
    document.querySelector<HTMLElement>("#text [contenteditable]")?.focus({ preventScroll: true });
  };
  return (
    <p class="trouble">
      These figures show the last valid text.{" "}
      <button type="button" onClick={show}>
        {slip.line ? `Show line ${slip.line}` : "Show the text"}
      </button>
    </p>
  );
}

function Figure({ name, last }: { name: string; last: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const panel = figureData.value?.panels.find((one) => one.name === name);
  // Counts what the plot has drawn: what is read off it is read again.
  const drawn = useSignal(0);

  useEffect(() => {
    const mine = new Plot(box.current as HTMLDivElement, {
      pointed,
      picked: seek,
      zoomed: (part) => {
        view.value = part;
      },
    });
    plot.current = mine;
    mine.show(shares(name), ink(), last);
    const watcher = new ResizeObserver(() => {
      mine.resize();
      drawn.value += 1;
    });
    watcher.observe(box.current as HTMLDivElement);
    return () => {
      watcher.disconnect();
      mine.destroy();
    };
  }, [name, last]);

  useSignalEffect(() => {
    const [now, colours, part] = [shares(name), ink(), view.value];
    if (now.length) plot.current?.show(now, colours, last);
    plot.current?.setView(part);
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
      <ClockLine plot={plot} drawn={drawn} />
    </figure>
  );
}

interface Off {
  plot: { current: Plot | null };
  drawn: Signal<number>;
}

function ClockLine({ plot, drawn }: Off) {
  drawn.value;
  const seconds = clock.value;
  const left = seconds === null ? null : (plot.current?.xOf(seconds) ?? null);
  return left === null ? null : <div class="clock" style={{ transform: `translateX(${left}px)` }} />;
}

function Readout({ plot, drawn }: Off) {
  drawn.value;
  const seconds = clock.value;
  const values = seconds === null ? [] : (plot.current?.read(seconds) ?? []);
  return (
    <span class="readout" aria-hidden="true">
      {values.slice(0, 6).map((one) => (
        <span key={one.label} style={{ color: one.colour }}>
          {one.label} {short(one.value)}
        </span>
      ))}
    </span>
  );
}

/** This panel of the run on the screen, and of the pinned ones that have it. */
function shares(name: string): Share[] {
  const of = (one: FigureData, label: string | null): Share[] => {
    const panel = one.panels.find((candidate) => candidate.name === name);
    return panel ? [{ panel, figureData: one, label }] : [];
  };
  const mine = figureData.value ? of(figureData.value, null) : [];
  const kernel = overlay.value ? of(overlay.value, "kernel").map((share) => ({ ...share, dash: KERNEL_DASH })) : [];
  return mine.length ? [...mine, ...kernel, ...pins.value.flatMap((pin) => of(pin.figureData, pin.name))] : [];
}

function ink(): Ink {
  return {
    dark: dark.value,
    text: dark.value ? "#c9c9d2" : "#44444c",
    grid: dark.value ? "#33333a" : "#e8e8e8",
    hidden: hidden.value,
  };
}

/** The figure in words, for who can't see it. */
function described(panel: Panel, of: FigureData): string {
  const lines = panel.layers.flatMap((layer) => (layer.kind === "lines" ? layer.lines : []));
  const said = lines.slice(0, 12).map((line) => {
    const values = of.column(line.v);
    let [sum, most] = [0, Number.NEGATIVE_INFINITY];
    for (const value of values) {
      sum += value;
      most = Math.max(most, value);
    }
    return values.length ? `${line.name}: mean ${short(sum / values.length)}, largest ${short(most)}` : line.name;
  });
  return `${panel.title} over ${short(of.duration_s)} s. ${said.join("; ")}`;
}
