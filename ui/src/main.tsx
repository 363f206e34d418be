// The workbench's page.

import { effect } from "@preact/signals";
import { render } from "preact";
import { FlowControls } from "./controls/Flows";
import { PathControls } from "./controls/Path";
import { SeedControl } from "./controls/Seed";
import { Figures } from "./figures/Figures";
import { Agreement } from "./kernel/Agreement";
import { KernelRun } from "./kernel/KernelRun";
import { Lessons } from "./lessons/Lessons";
import { lessonId, openFromLink as openLesson } from "./lessons/lesson";
import { write } from "./live";
import { simulator } from "./local/simulator";
import { hasEditor, LazyEditor } from "./page/LazyEditor";
import { Numbers } from "./page/Numbers";
import { Pins } from "./page/Pins";
import { Top } from "./page/Top";
import { Play } from "./play/Play";
import { restore } from "./share/share";
import { busy, dark, offered, problem, text } from "./state";
import { Tools } from "./tools/Tools";
import "./style.css";
import { start } from "./protocol";
import { Tour } from "./tour/Tour";
import { openFromLink as openTour } from "./tour/tour";

function Page() {
  return lessonId.value === null ? <Workbench /> : <Lessons />;
}

function Workbench() {
  return (
    <>
      <Top />
      <Tools />
      <main>
        <Tour />
        <div class="stage">
          <Figures />
          <div class="actions">
            <Pins />
            <KernelRun />
          </div>
          <Play />
          <Numbers />
          <Agreement />
        </div>
        <div class="controls">
          <PathControls />
          <FlowControls />
          <SeedControl />
          <LazyEditor />
        </div>
      </main>
    </>
  );
}

effect(() => {
  document.documentElement.dataset.busy = String(busy.value || (lessonId.value === null && !hasEditor()));
});
effect(() => {
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
});

/** Show what this page's URL names: a lesson, an experiment, a step of the tour, or the first experiment. */
async function open(): Promise<void> {
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
