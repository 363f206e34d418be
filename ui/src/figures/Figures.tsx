// The tracks: all figures of a run below one time axis that stays visible, with a common legend, marker and zoom.

import { computed, type Signal, signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { bandsOf } from "../compare/bands";
import { otherSeeds } from "../compare/seeds";
import { KERNEL_DASH } from "../kernel/Key";
import { overlay } from "../kernel/run";
import { filled, language, messages, text as say } from "../messages/messages";
import { before } from "../moves";
import { pointed, seek } from "../play/player";
import { place } from "../play/pointed";
import { clock, figureData, latency, pins, problem } from "../state";
import type { FigureData, Panel } from "../types";
import { short } from "../units";
import { Term } from "../words/Term";
import { TERMS } from "../words/terms";
import type { RunPanel } from "./build";
import { Legend, LegendEntries } from "./Legend";
import { palette } from "./palette";
import { Plot } from "./plot";
import { TimeAxis } from "./TimeAxis";
import { Validity } from "./Validity";
import { extent, range, view } from "./view";

/** The names of closed tracks. */
const closed = signal<ReadonlySet<string>>(new Set());
/** Whether the run before and the shown one are side by side. */
const sides = signal(false);
/** The run to compare with: the last pinned one, or the one before the last move. */
const other = computed(() => pins.value.at(-1)?.figureData ?? before.value?.figureData ?? null);
/** The term that a track shows, by its name. */
const TERM_OF: Record<string, string> = {
  ...{ throughput: "goodput", delivered: "delivery_rate", groups: "goodput", cwnd: "cwnd", rtt: "rtt" },
  ...{ queue: "backlog", states: "probe", inflight: "inflight", retransmits: "retransmission" },
};

export function Figures() {
  const drawn = figureData.value;
  if (!drawn) return <p class="quiet">{say("page.none")}</p>;
  return (
    <section class="figures" aria-label={say("tracks.title")}>
      <StaleFigures />
      <Validity of={drawn} />
      <div class="legend-row">
        <Legend />
        <button
          type="button"
          class="side-by-side"
          aria-pressed={sides.value}
          disabled={!other.value}
          title={say("compare.side.about")}
          onClick={() => {
            sides.value = !sides.value;
          }}
        >
          {say("compare.side")}
        </button>
      </div>
      <TimeAxis />
      <fieldset class="panels" aria-label={say("tracks.figures")}>
        {drawn.panels.map((panel) => (
          <Track key={panel.name} panel={panel} />
        ))}
      </fieldset>
      <p class="quiet small">
        {say("tracks.hint")}{" "}
        {latency.value !== null && filled("page.latency", () => `${Math.round(latency.value ?? 0)} ms`)}
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
      {say("tracks.stale")}{" "}
      <button type="button" onClick={show}>
        {error.line ? filled("tracks.line", () => String(error.line)) : say("tracks.text")}
      </button>
    </p>
  );
}

function Track({ panel }: { panel: Panel }) {
  const { name } = panel;
  const isClosed = closed.value.has(name);
  // A track counts drawings, so that positions and values read from its plot are updated.
  const drawn = useSignal(0);
  const plot = useRef<Plot | null>(null);
  const title = titleOf(panel);
  const toggle = () => {
    const next = new Set(closed.value);
    if (!next.delete(name)) next.add(name);
    closed.value = next;
  };
  const hot = name === "queue" && place.value?.queue;
  return (
    <figure class={`panel${hot ? " hot" : ""}`}>
      <figcaption>
        <button type="button" class="fold" aria-expanded={!isClosed} aria-label={title} onClick={toggle}>
          {isClosed ? "▸" : "▾"}
        </button>
        <TrackTitle name={name} title={title} />
        {language.value === "en" && panel.note && !isClosed && <span class="quiet">{panel.note}</span>}
        {!isClosed && <Readout plot={plot} drawn={drawn} />}
      </figcaption>
      {!isClosed && panel.entries.length > 0 && (
        <div class="track-key">
          <LegendEntries panels={[panel]} titled={false} />
        </div>
      )}
      {!isClosed &&
        (sides.value && other.value ? (
          <Sides name={name} panel={panel} />
        ) : (
          <Figure name={name} panel={panel} plot={plot} drawn={drawn} side="all" />
        ))}
    </figure>
  );
}

function TrackTitle({ name, title }: { name: string; title: string }) {
  const term = TERM_OF[name];
  return term && TERMS[term] ? <Term name={term}>{title}</Term> : <span>{title}</span>;
}

/** English titles come with the data, which say more. */
function titleOf({ name, title }: Panel): string {
  const known = language.value !== "en" && messages.value[`panel.${name}`];
  return known || title;
}

/** The run before, A, and the shown one, B. */
function Sides({ name, panel }: { name: string; panel: Panel }) {
  return (
    <div class="sides">
      {(["a", "b"] as const).map((side) => (
        <Side key={side} name={name} panel={panel} side={side} />
      ))}
    </div>
  );
}

function Side({ name, panel, side }: { name: string; panel: Panel; side: "a" | "b" }) {
  const drawn = useSignal(0);
  const plot = useRef<Plot | null>(null);
  return (
    <div>
      <h3>{say(`compare.${side}`)}</h3>
      <Figure name={name} panel={panel} plot={plot} drawn={drawn} side={side} />
    </div>
  );
}

interface PlotProps {
  plot: { current: Plot | null };
  drawn: Signal<number>;
}

type SideName = "all" | "a" | "b";

function Figure({ name, panel, plot, drawn, side }: PlotProps & { name: string; panel: Panel; side: SideName }) {
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const created = new Plot(box.current as HTMLDivElement, {
      pointed,
      picked: seek,
      zoomed: (part) => {
        view.value = part;
      },
    });
    plot.current = created;
    created.setView(range.value);
    created.show(runPanels(name, side), palette(), side !== "all");
    const watcher = new ResizeObserver(() => {
      created.resize();
      drawn.value += 1;
    });
    watcher.observe(box.current as HTMLDivElement);
    return () => {
      watcher.disconnect();
      created.destroy();
      plot.current = null;
    };
  }, [name, side]);

  useSignalEffect(() => {
    const [sources, colours, part] = [runPanels(name, side), palette(), range.value];
    const bands = otherSeeds.value.length
      ? bandsOf([figureData.value as FigureData, ...otherSeeds.value], name, extent.value)
      : [];
    if (sources.length) plot.current?.show(sources, colours, side !== "all", side === "a" ? [] : bands);
    plot.current?.setView(part);
    drawn.value = drawn.peek() + 1;
  });
  useSignalEffect(() => plot.current?.focus(place.value?.flow ?? null));

  return (
    <>
      <div ref={box} class="plot" role="img" aria-label={described(panel, figureData.value as FigureData)} />
      <TimeMarker plot={plot} drawn={drawn} />
    </>
  );
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
        <span key={label}>
          <i style={{ background: colour }} />
          {label} {short(Number(value.toPrecision(3)))}
        </span>
      ))}
    </span>
  );
}

/** This panel of the shown run, of the kernel's run, of the run before the last move, and of the pinned runs. */
function runPanels(name: string, side: SideName): RunPanel[] {
  const of = (data: FigureData, label: string | null): RunPanel[] => {
    const panel = data.panels.find((candidate) => candidate.name === name);
    return panel ? [{ panel, figureData: data, label }] : [];
  };
  const current = figureData.value ? of(figureData.value, null) : [];
  const kernel = overlay.value
    ? of(overlay.value, "kernel").map((runPanel) => ({ ...runPanel, dash: KERNEL_DASH }))
    : [];
  const last =
    before.value && before.value.figureData !== figureData.value
      ? of(before.value.figureData, say("lessons.before"))
      : [];
  if (!current.length) return [];
  if (side !== "all") {
    const a = other.value ? of(other.value, null) : [];
    const [shown, unseen] = side === "a" ? [a, current] : [current, a];
    return [...shown, ...unseen.map((each) => ({ ...each, label: "", unseen: true }))];
  }
  return [...current, ...kernel, ...last, ...pins.value.flatMap((pin) => of(pin.figureData, pin.name))];
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
