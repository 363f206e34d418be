// The lessons' pages: their list, and one lesson with its steps.

import { useEffect } from "preact/hooks";
import { language, text } from "../messages/messages";
import { Brand, Documentation, Preferences } from "../page/Top";
import { Explained } from "../words/Explained";
import { LessonStep } from "./LessonStep";
import * as state from "./lesson";
import { LESSONS, type Lesson } from "./lessons";
import { SaveAnswers, Teach } from "./Teach";
import "./lessons.css";

export function Lessons() {
  const lesson = state.lesson.value;
  const isTeacher = state.lessonId.value === state.TEACH;
  const title = text(lesson ? `${lesson.id}.title` : isTeacher ? "teach.title" : "lessons.title");
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
        <Brand />
        <nav class="links" aria-label={text("lessons.pages")}>
          {(lesson || isTeacher) && <a href="#lessons">{text("lessons.all")}</a>}
          <a href="#workbench">{text("lessons.playground")}</a>
          <Documentation />
        </nav>
        <Preferences />
      </header>
      {lesson ? <OneLesson key={lesson.id} lesson={lesson} /> : isTeacher ? <Teach /> : <List />}
    </>
  );
}

function List() {
  return (
    <main class="lessons">
      <h2>{text("lessons.title")}</h2>
      <p>{text("lessons.about")}</p>
      <p>
        <a href="#teach">{text("teach.title")}</a>
      </p>
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
      <p>
        <Explained text={text(`${lesson.id}.end`)} />
      </p>
      <SaveAnswers lesson={lesson} />
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
