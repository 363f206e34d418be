// One step of a lesson: story, prediction, control, result, figures.

import { useEffect, useRef } from "preact/hooks";
import { amountText, filled, stopText, text } from "../messages/messages";
import { Explained } from "../words/Explained";
import { LessonFigures } from "./LessonFigures";
import * as state from "./lesson";
import type { Lesson, RunStep, Step, Stop } from "./lessons";
import { asSs, nextState, socketAt, stateAt } from "./socket";

interface Props {
  lesson: Lesson;
  step: Step;
}

export function LessonStep({ lesson, step }: Props) {
  const prefix = `${lesson.id}.${step.id}`;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const shownText = (key: string) => filled(`${prefix}.${key}`, (name) => state.placeholder(step, name));
  return (
    <>
      <section class="words" aria-labelledby="lesson-step">
        <h3 id="lesson-step" ref={heading} tabIndex={-1}>
          {text(`${prefix}.title`)}
        </h3>
        <p>
          <Explained text={shownText("story")} />
        </p>
        <fieldset class="prediction">
          <legend>{shownText("question")}</legend>
          {step.options.map(({ id }) => (
            <label key={id}>
              <input
                type="radio"
                name={`${prefix} prediction`}
                checked={state.prediction.value === id}
                onChange={() => {
                  state.prediction.value = id;
                }}
              />
              <span>{shownText(`option.${id}`)}</span>
            </label>
          ))}
        </fieldset>
        {state.isRunStep(step) ? <RunControl prefix={prefix} step={step} /> : <TimeControl prefix={prefix} />}
        <Status step={step} />
        {state.isAnswered(step) && <Answer step={step} shownText={shownText} />}
        <Way lesson={lesson} />
      </section>
      <section class="shown" aria-label={text("lessons.result")}>
        <LessonFigures step={step} />
        {state.isRunStep(step) ? <Results step={step} /> : <Socket />}
      </section>
    </>
  );
}

function RunControl({ prefix, step }: { prefix: string; step: RunStep }) {
  const closed = state.prediction.value === null;
  const stop = step.stops[state.stopIndex.value] as Stop;
  const choose = (index: number) => {
    state.stopIndex.value = index;
    void state.run();
  };
  return (
    <fieldset class="bench" disabled={closed}>
      <legend>{text(`${prefix}.control`)}</legend>
      {step.control === "slider" ? (
        <label class="slide">
          <input
            type="range"
            min={0}
            max={step.stops.length - 1}
            step={1}
            value={state.stopIndex.value}
            aria-label={text(`${prefix}.control`)}
            aria-valuetext={stopText(stop)}
            onInput={(event) => choose(event.currentTarget.valueAsNumber)}
          />
          <output>{stopText(stop)}</output>
        </label>
      ) : (
        <select
          aria-label={text(`${prefix}.control`)}
          value={state.stopIndex.value}
          onChange={(event) => choose(Number(event.currentTarget.value))}
        >
          {step.stops.map((each, index) => (
            <option key={each.id} value={index}>
              {stopText(each)}
            </option>
          ))}
        </select>
      )}
    </fieldset>
  );
}

function TimeControl({ prefix }: { prefix: string }) {
  const data = state.done(state.ONLY.id)?.data;
  const closed = state.prediction.value === null || !data;
  const seconds = amountText({ value: state.time.value, unit: "s" });
  const jump = (direction: 1 | -1) => {
    const to = data && nextState(data, state.time.value, direction);
    if (to != null) state.setTime(to);
  };
  return (
    <fieldset class="bench" disabled={closed}>
      <legend>{text(`${prefix}.control`)}</legend>
      <label class="slide time">
        <input
          type="range"
          min={0}
          max={data?.duration_s ?? 1}
          step={0.01}
          value={state.time.value}
          aria-label={text("lessons.time")}
          aria-valuetext={seconds}
          onInput={(event) => state.setTime(event.currentTarget.valueAsNumber)}
        />
        <output>{seconds}</output>
      </label>
      <button type="button" onClick={() => jump(-1)}>
        {text("lessons.state.before")}
      </button>
      <button type="button" class="main" onClick={() => jump(1)}>
        {text("lessons.state.next")}
      </button>
    </fieldset>
  );
}

/** What to do next, or what went wrong. */
function Status({ step }: { step: Step }) {
  const error = state.failure.value;
  const left = state.missing(step).map(stopText).join(", ");
  const next = () => {
    if (state.running.value) return text("lessons.running");
    if (state.prediction.value === null) return text("lessons.predict");
    if (!state.isRunStep(step)) return state.found.value ? "" : filled("lessons.find", () => step.find.toUpperCase());
    return left && filled("lessons.left", () => left);
  };
  return (
    <p role="status" class={error ? "trouble" : "quiet"}>
      {error ?? next()}
    </p>
  );
}

function Answer({ step, shownText }: { step: Step; shownText(key: string): string }) {
  const holds = state.answer(step);
  const verdict =
    holds === null ? "lessons.none" : holds === state.prediction.value ? "lessons.right" : "lessons.wrong";
  return (
    <div class="answer" role="status">
      <p>
        <b>{text(verdict)}</b> {holds !== null && shownText(`option.${holds}`)}
      </p>
      <p>
        <Explained text={shownText("answer")} />
      </p>
      <Report step={step} />
    </div>
  );
}

/** What the report of this experiment measured, by its file. */
function Report({ step }: { step: Step }) {
  const seen = state.seen(step);
  if (!seen.length) return null;
  return (
    <details>
      <summary>{text("lessons.report")}</summary>
      <ul>
        {seen.map(({ what, value, unit }) => (
          <li key={what}>{`${what}: ${value}${unit && `\u00a0${unit}`}`}</li>
        ))}
      </ul>
    </details>
  );
}

function Way({ lesson }: { lesson: Lesson }) {
  const index = state.stepIndex.value;
  const step = state.step.value;
  // Who has not predicted yet may go on, but is not asked to.
  const isReady = step !== null && state.isAnswered(step);
  return (
    <div class="way">
      <button type="button" disabled={index === 0} onClick={() => state.go(index - 1)}>
        {text("lessons.back")}
      </button>
      <button type="button" class={isReady ? "main next" : "next"} onClick={() => state.go(index + 1)}>
        {text(index === lesson.steps.length - 1 ? "lessons.finish" : "lessons.next")}
      </button>
      {state.drawn.value && <a href={state.playgroundLink.value}>{text("lessons.open")}</a>}
    </div>
  );
}

/** The numbers of each stop that has been run. */
function Results({ step }: { step: RunStep }) {
  const names = Object.keys(step.numbers);
  return (
    <table aria-label={text("lessons.numbers")}>
      <thead>
        <tr>
          <th scope="col">{text("lessons.setting")}</th>
          {names.map((name) => (
            <th scope="col" key={name}>
              {text(`number.${name}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {step.stops.map((stop) => (
          <tr key={stop.id}>
            <th scope="row">{stopText(stop)}</th>
            {names.map((name) => (
              <td key={name}>
                {state.done(stop.id)
                  ? amountText({ value: state.numberOf(step, stop.id, name), unit: step.numbers[name]?.unit ?? "" })
                  : "…"}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const FIELDS = ["rtt", "cwnd", "bw", "mrtt", "pacing_gain", "cwnd_gain", "pacing_rate", "delivery_rate", "unacked"];

/** The socket at the chosen time as `ss -tin` prints it, and what its fields mean. */
function Socket() {
  const data = state.done(state.ONLY.id)?.data;
  if (!data || state.prediction.value === null) return null; // It has the answer.
  const seconds = state.time.value;
  return (
    <section class="socket" aria-label="ss -tin">
      <p>
        {filled("lessons.socket", () => amountText({ value: seconds, unit: "s" }))}{" "}
        <strong>{stateAt(data, seconds).toUpperCase()}</strong>
      </p>
      <pre>{asSs(socketAt(data, seconds))}</pre>
      <dl>
        {FIELDS.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{filled(`field.${name}`, state.constant)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
