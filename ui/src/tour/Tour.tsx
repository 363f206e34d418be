// The tour's card: a question, the control that answers it, and the verdict.

import { useEffect, useRef } from "preact/hooks";
import { filled, language, text as say } from "../messages/messages";
import { problem } from "../state";
import { Explained } from "../words/Explained";
import type { Verdict } from "./judge";
import { StepControl } from "./StepControl";
import { inLanguage, STEPS, type Step } from "./steps";
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
  const step = STEPS[index] && inLanguage(STEPS[index]);
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
      <section class="try" aria-label={say("tour.try")}>
        <p class="question">
          <strong>{step.question}</strong>
        </p>
        <div class="bench">
          <StepControl step={step} />
          <Description />
        </div>
      </section>
      <nav class="way" aria-label={say("page.tour")}>
        <button type="button" disabled={index === 0} onClick={() => tour.go(index - 1)}>
          {say("lessons.back")}
        </button>
        <button type="button" class="main" onClick={() => tour.go(index + 1)}>
          {say(index === STEPS.length - 1 ? "lessons.finish" : "lessons.next")}
        </button>
        <button type="button" onClick={tour.showAnswer}>
          {say("tour.show")}
        </button>
        <button type="button" onClick={() => tour.go(index)}>
          {say("tour.reset")}
        </button>
        <button type="button" class="leave" onClick={tour.leave}>
          {say("tour.leave")}
        </button>
      </nav>
      {tour.explained.value && <Explanation step={step} />}
    </>
  );
}

function Progress({ index }: { index: number }) {
  return (
    <div class="progress">
      <span class="quiet">{filled("tour.of", (name) => String(name === "count" ? STEPS.length : index + 1))}</span>
      <ol aria-label={say("lessons.steps")}>
        {STEPS.map((each) => inLanguage(each)).map((step, position) => {
          const done = tour.found.value.has(step.experiment);
          return (
            <li key={step.experiment}>
              <button
                type="button"
                title={step.title}
                aria-label={`${position + 1}: ${step.title}${done ? say("tour.done") : ""}`}
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
  found: "tour.yes",
  warmer: "tour.warmer",
  colder: "tour.colder",
  no: "",
  elsewhere: "",
};

/** The verdict on the current setting. The element with the role `status` announces it. */
function Description() {
  const verdict = tour.verdict.value;
  if (problem.value) return <p class="verdict">{filled("tour.nothing", () => problem.value?.text ?? "")}</p>;
  if (!verdict) return <p class="verdict quiet">{say("lessons.running")}</p>;
  return (
    <p class={`verdict ${verdict.kind}`}>
      <b>{MARKS[verdict.kind] && say(MARKS[verdict.kind])}</b> {verdict.text}
    </p>
  );
}

function announcement(verdict: Verdict): string {
  const mark = MARKS[verdict.kind];
  return `${mark && say(mark).replace("✓ ", "")} ${verdict.text}`.trim();
}

function Explanation({ step }: { step: Step }) {
  return (
    <section class="meaning" aria-label={say("tour.meaning")}>
      <p>
        <Terms text={step.means} />
      </p>
      <p class="quiet small">{filled("tour.references", () => step.read.join("; "))}</p>
    </section>
  );
}

function End() {
  const done = tour.found.value.size;
  return (
    <section class="story" aria-labelledby="tour-step">
      <Heading>{say("tour.end")}</Heading>
      <p>
        {filled(done === STEPS.length ? "tour.all" : "tour.some", (name) =>
          String(name === "done" ? done : STEPS.length),
        )}
      </p>
      <ol>
        {STEPS.map((each) => inLanguage(each)).map((step, position) => (
          <li key={step.experiment}>
            <button type="button" class="link" onClick={() => tour.go(position)}>
              {step.title}
            </button>
            {tour.found.value.has(step.experiment) ? ` ✓ ${say("tour.done")}` : ""}
          </li>
        ))}
      </ol>
      <p>{say("tour.after")}</p>
      <div class="way">
        <button type="button" onClick={() => tour.go(STEPS.length - 1)}>
          {say("lessons.back")}
        </button>
        <button type="button" class="main" onClick={tour.leave}>
          {say("tour.workbench")}
        </button>
        <button type="button" onClick={tour.restart}>
          {say("tour.restart")}
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
            <Explained text={part} in={language.value} />
          </dfn>
        ) : (
          part
        ),
      )}
    </>
  );
}
