// The tour's card: a question, the one control that answers it, and what was found.

import { useEffect, useRef } from "preact/hooks";
import { problem } from "../state";
import type { Verdict } from "./judge";
import { StepControl } from "./StepControl";
import { STEPS, type Step } from "./steps";
import * as tour from "./tour";
import "./tour.css";

export function TourButton() {
  return (
    <button type="button" class="take" disabled={tour.place.value !== null} onClick={tour.open}>
      Take the tour
    </button>
  );
}

export function Tour() {
  const place = tour.place.value;
  if (place === null) return null;
  const step = STEPS[place];
  return (
    <div class="tour">
      {step ? <OneStep key={place} step={step} place={place} /> : <End />}
      <p class="unseen" role="status">
        {step && tour.rested.value ? spoken(tour.rested.value) : ""}
      </p>
    </div>
  );
}

function OneStep({ step, place }: { step: Step; place: number }) {
  return (
    <>
      <section class="story" aria-labelledby="tour-step">
        <Progress place={place} />
        <Heading>{step.title}</Heading>
        {step.story.map((text) => (
          <p key={text}>
            <Terms text={text} />
          </p>
        ))}
        <p class="quiet">{step.look}</p>
      </section>
      <section class="try" aria-label="Try it">
        <p class="question">
          <strong>{step.question}</strong>
        </p>
        <div class="bench">
          <StepControl step={step} />
          <Description />
        </div>
      </section>
      <nav class="way" aria-label="Tour">
        <button type="button" disabled={place === 0} onClick={() => tour.go(place - 1)}>
          Back
        </button>
        <button type="button" class="main" onClick={() => tour.go(place + 1)}>
          {place === STEPS.length - 1 ? "Finish" : "Next"}
        </button>
        <button type="button" onClick={tour.showAnswer}>
          Show me
        </button>
        <button type="button" onClick={() => tour.go(place)}>
          Reset
        </button>
        <button type="button" class="leave" onClick={tour.leave}>
          Leave
        </button>
      </nav>
      {tour.explained.value && <Meaning step={step} />}
    </>
  );
}

function Progress({ place }: { place: number }) {
  return (
    <div class="progress">
      <span class="quiet">
        {place + 1} of {STEPS.length}
      </span>
      <ol aria-label="Steps">
        {STEPS.map((step, at) => {
          const done = tour.found.value.has(step.experiment);
          return (
            <li key={step.experiment}>
              <button
                type="button"
                title={step.title}
                aria-label={`${at + 1}: ${step.title}${done ? " (found)" : ""}`}
                aria-current={at === place ? "step" : undefined}
                onClick={() => tour.go(at)}
              >
                {done ? "✓" : at + 1}
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** A new step begins at its question, for eyes and ears alike. */
function Heading({ children }: { children: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    heading.current?.closest("section")?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <h2 id="tour-step" ref={heading} tabIndex={-1}>
      {children}
    </h2>
  );
}

const MARKS: Record<Verdict["kind"], string> = {
  found: "✓ Yes:",
  warmer: "Warmer.",
  colder: "Colder.",
  no: "",
  elsewhere: "",
};

/** What the numbers say of the control as it stands; the role of `status` has what is read out. */
function Description() {
  const verdict = tour.verdict.value;
  if (problem.value) return <p class="verdict">Nothing to judge: {problem.value.text}</p>;
  if (!verdict) return <p class="verdict quiet">Simulating …</p>;
  return (
    <p class={`verdict ${verdict.kind}`}>
      <b>{MARKS[verdict.kind]}</b> {verdict.text}
    </p>
  );
}

function spoken(verdict: Verdict): string {
  return `${MARKS[verdict.kind].replace("✓ ", "")} ${verdict.text}`.trim();
}

function Meaning({ step }: { step: Step }) {
  return (
    <section class="meaning" aria-label="What it means">
      <p>
        <Terms text={step.means} />
      </p>
      <p class="quiet small">To read on: {step.read.join("; ")}.</p>
    </section>
  );
}

function End() {
  const done = tour.found.value.size;
  return (
    <section class="story" aria-labelledby="tour-step">
      <Heading>That was the tour</Heading>
      <p>
        You found {done === STEPS.length ? `all ${done}` : `${done} of ${STEPS.length}`} answers. What each of them
        means stands in its step:
      </p>
      <ol>
        {STEPS.map((step, at) => (
          <li key={step.experiment}>
            <button type="button" class="link" onClick={() => tour.go(at)}>
              {step.title}
            </button>
            {tour.found.value.has(step.experiment) ? " ✓ found" : ""}
          </li>
        ))}
      </ol>
      <p>
        From here on every control is yours. The experiments behind “Experiment” are those of papers and laboratories,
        and “Run on the real kernel” puts Linux's own TCP beside the simulator, for whatever is on the screen.
      </p>
      <div class="way">
        <button type="button" onClick={() => tour.go(STEPS.length - 1)}>
          Back
        </button>
        <button type="button" class="main" onClick={tour.leave}>
          To the workbench
        </button>
        <button type="button" onClick={tour.restart}>
          Start again
        </button>
      </div>
    </section>
  );
}

/** Text in which terms stand between asterisks. */
function Terms({ text }: { text: string }) {
  return <>{text.split("*").map((part, at) => (at % 2 ? <dfn key={part}>{part}</dfn> : part))}</>;
}
