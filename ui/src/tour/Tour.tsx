// The tour's card: a question, the control that answers it, and the verdict.

import { useEffect, useRef } from "preact/hooks";
import { text as say } from "../messages/messages";
import { problem } from "../state";
import { Explained } from "../words/Explained";
import type { Verdict } from "./judge";
import { StepControl } from "./StepControl";
import { STEPS, type Step } from "./steps";
import * as tour from "./tour";
import "./tour.css";

export function TourButton() {
  return (
    <button type="button" class="take" disabled={tour.stepIndex.value !== null} onClick={tour.open}>
      {say("page.tour")}
    </button>
  );
}

export function Tour() {
  const index = tour.stepIndex.value;
  if (index === null) return null;
  const step = STEPS[index];
  return (
    <div class="tour">
      {step ? <OneStep key={index} step={step} index={index} /> : <End />}
      <p class="unseen" role="status">
        {step && tour.rested.value ? announcement(tour.rested.value) : ""}
      </p>
    </div>
  );
}

function OneStep({ step, index }: { step: Step; index: number }) {
  return (
    <>
      <section class="story" aria-labelledby="tour-step">
        <Progress index={index} />
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
        <button type="button" disabled={index === 0} onClick={() => tour.go(index - 1)}>
          Back
        </button>
        <button type="button" class="main" onClick={() => tour.go(index + 1)}>
          {index === STEPS.length - 1 ? "Finish" : "Next"}
        </button>
        <button type="button" onClick={tour.showAnswer}>
          Show me
        </button>
        <button type="button" onClick={() => tour.go(index)}>
          Reset
        </button>
        <button type="button" class="leave" onClick={tour.leave}>
          Leave
        </button>
      </nav>
      {tour.explained.value && <Explanation step={step} />}
    </>
  );
}

function Progress({ index }: { index: number }) {
  return (
    <div class="progress">
      <span class="quiet">
        {index + 1} of {STEPS.length}
      </span>
      <ol aria-label="Steps">
        {STEPS.map((step, position) => {
          const done = tour.found.value.has(step.experiment);
          return (
            <li key={step.experiment}>
              <button
                type="button"
                title={step.title}
                aria-label={`${position + 1}: ${step.title}${done ? " (found)" : ""}`}
                aria-current={position === index ? "step" : undefined}
                onClick={() => tour.go(position)}
              >
                {done ? "✓" : position + 1}
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** The heading of a step; a new step focuses it and scrolls to it. */
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

/** The verdict on the current setting. The element with the role `status` announces it. */
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

function announcement(verdict: Verdict): string {
  return `${MARKS[verdict.kind].replace("✓ ", "")} ${verdict.text}`.trim();
}

function Explanation({ step }: { step: Step }) {
  return (
    <section class="meaning" aria-label="What it means">
      <p>
        <Terms text={step.means} />
      </p>
      <p class="quiet small">References: {step.read.join("; ")}.</p>
    </section>
  );
}

function End() {
  const done = tour.found.value.size;
  return (
    <section class="story" aria-labelledby="tour-step">
      <Heading>End of the tour</Heading>
      <p>
        You found {done === STEPS.length ? `all ${done}` : `${done} of ${STEPS.length}`} answers. Each step explains its
        answer:
      </p>
      <ol>
        {STEPS.map((step, position) => (
          <li key={step.experiment}>
            <button type="button" class="link" onClick={() => tour.go(position)}>
              {step.title}
            </button>
            {tour.found.value.has(step.experiment) ? " ✓ found" : ""}
          </li>
        ))}
      </ol>
      <p>
        You can now use every control. “Experiment” lists experiments from publications, and “Run on the real kernel”
        compares the shown experiment on Linux's own TCP with the simulator.
      </p>
      <div class="way">
        <button type="button" onClick={() => tour.go(STEPS.length - 1)}>
          Back
        </button>
        <button type="button" class="main" onClick={tour.leave}>
          To the workbench
        </button>
        <button type="button" onClick={tour.restart}>
          Restart
        </button>
      </div>
    </section>
  );
}

/** Text with terms between asterisks; those of the glossary, and others that it knows, have its line. */
function Terms({ text }: { text: string }) {
  return (
    <>
      {text.split("*").map((part, position) =>
        position % 2 ? (
          <dfn key={part}>
            <Explained text={part} in="en" />
          </dfn>
        ) : (
          part
        ),
      )}
    </>
  );
}
