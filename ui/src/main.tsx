// The workbench's page.

import { effect } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { Answer } from "./answer/Answer";
import { Sweep } from "./compare/Sweep";
import { Starts } from "./controls/Flows";
import { Duration } from "./controls/Path";
import { SeedControl } from "./controls/Seed";
import { Figures } from "./figures/Figures";
import { Agreement } from "./kernel/Agreement";
import { KernelRun } from "./kernel/KernelRun";
import { Lessons } from "./lessons/Lessons";
import { lessonId, openFromLink as openLesson } from "./lessons/lesson";
import { redo, undo, write } from "./live";
import { simulator } from "./local/simulator";
import { chooseLanguage, language, text as say } from "./messages/messages";
import { hasEditor, LazyEditor } from "./page/LazyEditor";
import { Numbers } from "./page/Numbers";
import { Pins } from "./page/Pins";
import { Top } from "./page/Top";
import { Play } from "./play/Play";
import { restore } from "./share/share";
import { busy, controls, dark, narrow, offered, problem, text } from "./state";
import { Tools } from "./tools/Tools";
import "./style.css";
import { start } from "./protocol";
import { Tour } from "./tour/Tour";
import { openFromLink as openTour } from "./tour/tour";

/** The link of a page with only the picture, which the site's first page shows. */
const PICTURE = "#picture";
const isPicture = location.hash === PICTURE;

function Page() {
  if (isPicture) return <Picture />;
  return lessonId.value === null ? <Workbench /> : <Lessons />;
}

/** The answer and the network. */
function Picture() {
  return (
    <main class="picture">
      <h1 class="unseen">Dumbbell</h1>
      <Answer />
      <Play />
    </main>
  );
}

function Workbench() {
  const tools = <Tools />;
  useEffect(() => {
    document.documentElement.lang = language.value;
  }, [language.value]);
  return (
    <>
      <Top />
      {!narrow.value && tools}
      <main>
        <Tour />
        <div class="stage">
          <Answer />
          <Play />
          <Figures />
          <Sweep />
          <div class="actions">
            <Pins />
            <KernelRun />
          </div>
          <Numbers />
          <Agreement />
        </div>
        <div class="controls">
          <Times />
          <LazyEditor />
        </div>
        {narrow.value && tools}
      </main>
    </>
  );
}

/** Duration, starts and seed. */
function Times() {
  const now = controls.value;
  if (!now) return null;
  return (
    <fieldset class="times">
      <legend>{say("control.times")}</legend>
      <Duration now={now} />
      <Starts />
      <SeedControl />
    </fieldset>
  );
}

/** Undo and redo by keys, except where a text is edited, which has its own. */
function keys(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (!(event.ctrlKey || event.metaKey) || event.altKey || lessonId.value !== null) return;
  if (target.matches("[contenteditable] *, [contenteditable], input[type=text], input[type=number]")) return;
  const key = event.key.toLowerCase();
  if (key === "z" && !event.shiftKey) undo();
  else if (key === "y" || (key === "z" && event.shiftKey)) redo();
  else return;
  event.preventDefault();
}
addEventListener("keydown", keys);

effect(() => {
  document.documentElement.dataset.busy = String(busy.value || (lessonId.value === null && !isPicture && !hasEditor()));
});
effect(() => {
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
});

/** Show what this page's URL names: a lesson, an experiment, a step of the tour, or the first experiment. */
async function open(): Promise<void> {
  chooseLanguage(/[#&]lang=([\w-]+)/.exec(location.hash)?.[1]);
  openLesson();
  if (lessonId.value !== null) return;
  if (!(await restore()) && !text.value) write(offered.value?.scenarios[0]?.toml ?? "");
  openTour();
}

// A static page starts its simulator while the rest is loaded; `scripts/static_site.py` sets the mark.
if (document.documentElement.dataset.server === "none") void simulator();
render(<Page />, document.getElementById("app") as HTMLElement);
try {
  offered.value = await start();
  await open();
  addEventListener("hashchange", () => void open());
} catch (error) {
  problem.value = { text: String(error), key: "", right: "", line: null };
}
