// For teachers: links to a lesson with its language and seed, and a table of the files that students saved.

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { filled, LANGUAGES, language, text } from "../messages/messages";
import { save } from "../tools/save";
import { type Answers, answersOf, csvOf, parsed } from "./answers";
import * as state from "./lesson";
import { LESSONS, type Lesson } from "./lessons";

const SEED_MAX = 999_999_999;

export function Teach() {
  return (
    <main class="lessons">
      <h2>{text("teach.title")}</h2>
      <p>{text("teach.about")}</p>
      <LessonLink />
      <Collected />
    </main>
  );
}

function LessonLink() {
  const [lesson, tag, seed, copied] = [
    useSignal(LESSONS[0]?.id ?? ""),
    useSignal(language.value),
    useSignal(1),
    useSignal(false),
  ];
  const id = useId();
  const link = `${location.origin}${location.pathname}#lesson=${lesson.value}&lang=${tag.value}&seed=${seed.value}`;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(link);
      copied.value = true;
    } catch {
      copied.value = false; // Without TLS pages have no clipboard; the link is selectable.
    }
  };
  return (
    <fieldset class="teach">
      <legend>{text("teach.link")}</legend>
      <label>
        {text("teach.lesson")}{" "}
        <select
          value={lesson.value}
          onChange={(event) => {
            lesson.value = event.currentTarget.value;
          }}
        >
          {LESSONS.map((each) => (
            <option key={each.id} value={each.id}>
              {text(`${each.id}.title`)}
            </option>
          ))}
        </select>
      </label>
      <label>
        {text("lessons.language")}{" "}
        <select
          value={tag.value}
          onChange={(event) => {
            tag.value = event.currentTarget.value;
          }}
        >
          {Object.entries(LANGUAGES).map(([each, messages]) => (
            <option key={each} value={each} lang={each}>
              {messages.language}
            </option>
          ))}
        </select>
      </label>
      <label>
        {text("control.seed")}{" "}
        <input
          type="number"
          min={0}
          max={SEED_MAX}
          value={seed.value}
          onInput={(event) => {
            const next = event.currentTarget.valueAsNumber;
            if (Number.isInteger(next) && next >= 0 && next <= SEED_MAX) seed.value = next;
          }}
        />
      </label>
      <label for={id} class="unseen">
        {text("teach.link")}
      </label>
      <input
        id={id}
        type="text"
        class="address"
        readOnly
        value={link}
        onFocus={(event) => event.currentTarget.select()}
      />
      <button type="button" onClick={() => void copy()}>
        {text("tools.link")}
      </button>
      <span role="status">{copied.value && text("teach.copied")}</span>
    </fieldset>
  );
}

/** The files of students as a table. Nothing leaves the page. */
function Collected() {
  const [all, refused] = [useSignal<Answers[]>([]), useSignal<string[]>([])];
  const read = async (files: FileList | null) => {
    for (const file of files ?? []) {
      const found = parsed(await file.text());
      if (found) all.value = [...all.value, found];
      else refused.value = [...refused.value, file.name];
    }
  };
  return (
    <fieldset class="teach">
      <legend>{text("teach.answers")}</legend>
      <p>{text("teach.collect")}</p>
      <label>
        {text("teach.files")}{" "}
        <input type="file" multiple accept=".json" onChange={(event) => void read(event.currentTarget.files)} />
      </label>
      {refused.value.length > 0 && <p class="trouble">{filled("teach.refused", () => refused.value.join(", "))}</p>}
      {all.value.length > 0 && (
        <>
          <table>
            <thead>
              <tr>
                {["name", "lesson", "right"].map((each) => (
                  <th scope="col" key={each}>
                    {text(`teach.${each}`)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {all.value.map(({ name, lesson, saved, steps }) => (
                <tr key={`${name} ${lesson} ${saved}`}>
                  <th scope="row">{name}</th>
                  <td>{text(`${lesson}.title`)}</td>
                  <td>{`${steps.filter(({ right }) => right).length} / ${steps.length}`}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <button type="button" onClick={() => save("answers.csv", new Blob([csvOf(all.value)], { type: "text/csv" }))}>
            {text("teach.csv")}
          </button>
        </>
      )}
    </fieldset>
  );
}

/** At the end of a lesson: the student's answers as a file for the teacher. */
export function SaveAnswers({ lesson }: { lesson: Lesson }) {
  const name = useSignal("");
  const given = state.answers.value;
  if (!given.size) return null;
  const right = [...given.values()].filter((each) => each.right).length;
  const values = { right: String(right), count: String(given.size) };
  return (
    <fieldset class="teach">
      <legend>{text("teach.save")}</legend>
      <p>{filled("teach.score", (key) => values[key as keyof typeof values] ?? null)}</p>
      <label>
        {text("teach.name")}{" "}
        <input
          type="text"
          autocomplete="off"
          value={name.value}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
      </label>
      <button
        type="button"
        onClick={() => {
          const answers = answersOf(lesson.id, state.seed.value, name.value, given, new Date());
          save(`answers-${lesson.id}.json`, new Blob([JSON.stringify(answers, null, 2)], { type: "application/json" }));
        }}
      >
        {text("teach.save")}
      </button>
    </fieldset>
  );
}
