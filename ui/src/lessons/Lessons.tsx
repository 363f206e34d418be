// The lessons' pages: their list, and one lesson with its steps.

import { useEffect } from "preact/hooks";
import { ThemeChoice } from "../page/Top";
import { LessonStep } from "./LessonStep";
import * as state from "./lesson";
import { LESSONS, type Lesson } from "./lessons";
import { LANGUAGES, language, remember, text } from "./messages";
import "./lessons.css";

export function Lessons() {
  const lesson = state.lesson.value;
  const title = lesson ? text(`${lesson.id}.title`) : text("lessons.title");
  useEffect(() => {
    document.documentElement.lang = language.value;
    document.title = `${title} – Dumbbell`;
    return () => {
      document.documentElement.lang = "en";
      document.title = "Dumbbell workbench";
    };
  }, [language.value, title]);
  return (
    <>
      <header>
        <h1>Dumbbell</h1>
        <nav class="links" aria-label={text("lessons.pages")}>
          {lesson && <a href="#lessons">{text("lessons.all")}</a>}
          <a href="#workbench">{text("lessons.playground")}</a>
        </nav>
        <label class="language">
          {text("lessons.language")}{" "}
          <select value={language.value} onChange={(event) => remember(event.currentTarget.value)}>
            {Object.entries(LANGUAGES).map(([tag, messages]) => (
              <option key={tag} value={tag} lang={tag}>
                {messages.language}
              </option>
            ))}
          </select>
        </label>
        <ThemeChoice label={text("lessons.colours")} names={["system", "light", "dark"].map((name) => text(name))} />
      </header>
      {lesson ? <OneLesson key={lesson.id} lesson={lesson} /> : <List />}
    </>
  );
}

function List() {
  return (
    <main class="lessons">
      <h2>{text("lessons.title")}</h2>
      <p>{text("lessons.about")}</p>
      <ol>
        {LESSONS.map(({ id }) => (
          <li key={id}>
            <a href={`#lesson=${id}`}>{text(`${id}.title`)}</a>
            <p>{text(`${id}.about`)}</p>
          </li>
        ))}
      </ol>
    </main>
  );
}

function OneLesson({ lesson }: { lesson: Lesson }) {
  const step = state.step.value;
  return (
    <main class="lesson">
      <div class="heading">
        <h2>{text(`${lesson.id}.title`)}</h2>
        <ol aria-label={text("lessons.steps")}>
          {lesson.steps.map(({ id }, index) => (
            <li key={id}>
              <button
                type="button"
                aria-label={`${index + 1}: ${text(`${lesson.id}.${id}.title`)}`}
                aria-current={index === state.stepIndex.value ? "step" : undefined}
                onClick={() => state.go(index)}
              >
                {index + 1}
              </button>
            </li>
          ))}
        </ol>
      </div>
      {step ? <LessonStep key={step.id} lesson={lesson} step={step} /> : <End lesson={lesson} />}
    </main>
  );
}

function End({ lesson }: { lesson: Lesson }) {
  const next = LESSONS[LESSONS.indexOf(lesson) + 1];
  return (
    <section class="words end" aria-labelledby="lesson-step">
      <h3 id="lesson-step" tabIndex={-1} ref={(heading) => heading?.focus()}>
        {text("lessons.end")}
      </h3>
      <p>{text(`${lesson.id}.end`)}</p>
      <div class="way">
        <button type="button" onClick={() => state.go(lesson.steps.length - 1)}>
          {text("lessons.back")}
        </button>
        <a class="main" href={next ? `#lesson=${next.id}` : "#lessons"}>
          {next ? text(`${next.id}.title`) : text("lessons.all")}
        </a>
      </div>
    </section>
  );
}
