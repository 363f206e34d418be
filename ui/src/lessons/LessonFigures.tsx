// The figures of a step: the newest run, and pale behind it the run before.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { RunPanel } from "../figures/build";
import { LegendEntries, legendLines } from "../figures/Legend";
import { palette } from "../figures/palette";
import { Plot } from "../figures/plot";
import { filled, stopText, text } from "../messages/messages";
import { dark } from "../state";
import * as state from "./lesson";
import type { Step } from "./lessons";
import { markOf } from "./mark";
import * as recorded from "./recorded";

export function LessonFigures({ step }: { step: Step }) {
  const shown = state.drawn.value;
  const data = shown && state.done(shown.stop, step)?.data;
  if (!data) return <p class="quiet">{text("lessons.running")}</p>;
  const label = (id: string) => stopText(state.stopsOf(step).find((stop) => stop.id === id) ?? state.ONLY);
  return (
    <>
      <p class="small keys">
        {state.isRunStep(step) && <strong>{label(shown.stop)}</strong>}
        {legendLines(data.panels).map((line) => (
          <span class="entry" key={line.name}>
            <i style={{ background: dark.value ? line.dark : line.colour }} /> {line.name}
          </span>
        ))}
        <LegendEntries panels={data.panels} titled={false} />
        {shown.before && <span class="quiet">{filled("lessons.pale", () => label(shown.before as string))}</span>}
      </p>
      <Linux step={step} stop={shown.stop} />
      {data.warnings.length > 0 && <p class="quiet small">{filled("lessons.note", () => data.warnings.join("; "))}</p>}
      {data.panels.map(({ name }, index) => (
        <LessonFigure
          key={name}
          name={name}
          step={step}
          last={index === data.panels.length - 1}
          isMarked={index === 0}
        />
      ))}
    </>
  );
}

/** Shows the same run on Linux, if there is a recording of it. */
function Linux({ step, stop }: { step: Step; stop: string }) {
  const lesson = state.lessonId.value ?? "";
  useEffect(() => void recorded.load(lesson), [lesson]);
  const found = recorded.recordedOf(lesson, step.id, stop);
  if (!found) return null;
  return (
    <label class="small linux">
      <input
        type="checkbox"
        checked={recorded.shown.value}
        onChange={(event) => {
          recorded.shown.value = event.currentTarget.checked;
        }}
      />
      <i /> {filled("lessons.linux", () => found.kernel)}
    </label>
  );
}

interface FigureProps {
  name: string;
  step: Step;
  last: boolean;
  /** Whether the point that the text speaks of is marked in this figure. */
  isMarked: boolean;
}

function LessonFigure({ name, step, last, isMarked }: FigureProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  // Counts drawings, so that positions read from the plot are updated.
  const drawn = useSignal(0);
  drawn.value;
  const draw = () => {
    const sources = runPanels(step, name);
    if (sources.length) plot.current?.show(sources, palette(), last);
    drawn.value = drawn.peek() + 1;
  };
  useEffect(() => {
    const created = new Plot(
      box.current as HTMLDivElement,
      { pointed: () => {}, zoomed: (range) => created.setView(range), picked: state.setTime },
      text("lessons.axis"),
    );
    plot.current = created;
    draw();
    const watcher = new ResizeObserver(() => {
      created.resize();
      drawn.value = drawn.peek() + 1;
    });
    watcher.observe(box.current as HTMLDivElement);
    return () => {
      watcher.disconnect();
      created.destroy();
    };
  }, [name, last, text("lessons.axis")]);
  useSignalEffect(draw);
  const seconds = state.time.value;
  const left = state.isRunStep(step) ? null : (plot.current?.xOf(seconds) ?? null);
  const mark = isMarked && state.isRunStep(step) && state.isAnswered(step) ? markIn(step, name) : null;
  const at = mark && plot.current?.positionOf(...mark);
  return (
    <figure class="panel">
      <figcaption>
        {text(`panel.${name}`)} {at && <b>{text(`lessons.mark.${name}`)}</b>}
      </figcaption>
      <div class="marked">
        <div ref={box} class="plot" role="img" aria-label={text(`panel.${name}`)} />
        {at && (
          <span class="mark" aria-hidden="true" style={{ transform: `translate(${at[0]}px, ${at[1]}px)` }}>
            A
          </span>
        )}
      </div>
      {left !== null && <div class="clock" style={{ transform: `translateX(${left}px)` }} />}
    </figure>
  );
}

/** The point of the shown run that a figure marks. */
function markIn(step: Step, name: string): [number, number] | null {
  const [first] = runPanels(step, name);
  return first ? markOf(name, first.panel, first.figureData) : null;
}

/** Dashes of the lines of the recorded run. */
const DASH = [2, 3];

function runPanels(step: Step, name: string): RunPanel[] {
  const shown = state.drawn.value;
  const linux = shown && recorded.shown.value && recorded.recordedOf(state.lessonId.value ?? "", step.id, shown.stop);
  const panel = linux ? linux.panels.find((each) => each.name === name) : undefined;
  const own: RunPanel[] = linux && panel ? [{ panel, figureData: linux, label: "Linux", dash: DASH }] : [];
  const simulated = [shown?.stop, shown?.before].flatMap((stop, index) => {
    const data = stop ? state.done(stop, step)?.data : undefined;
    const panel = data?.panels.find((each) => each.name === name);
    return data && panel ? [{ panel, figureData: data, label: index ? text("lessons.before") : null }] : [];
  });
  return [...simulated, ...own];
}
