// The workbench's page: turn a knob, see the flows answer.

import { effect } from "@preact/signals";
import { render } from "preact";
import { Figures } from "./figures/Figures";
import { Agreement } from "./kernel/Agreement";
import { KernelRun } from "./kernel/KernelRun";
import { FlowKnobs } from "./knobs/Flows";
import { PathKnobs } from "./knobs/Path";
import { SeedKnob } from "./knobs/Seed";
import { write } from "./live";
import { Editor } from "./page/Editor";
import { Numbers } from "./page/Numbers";
import { Pins } from "./page/Pins";
import { Top } from "./page/Top";
import { Play } from "./play/Play";
import { restore } from "./share/share";
import { busy, dark, offered, problem } from "./state";
import { Tools } from "./tools/Tools";
import "./style.css";
import { Tour } from "./tour/Tour";
import { openIfAsked } from "./tour/tour";
import { start } from "./wire";

function Page() {
  return (
    <>
      <Top />
      <Tools />
      <main>
        <Tour />
        <div class="knobs">
          <PathKnobs />
          <FlowKnobs />
          <SeedKnob />
          <Numbers />
          <Agreement />
        </div>
        <div class="stage">
          <div class="actions">
            <Pins />
            <KernelRun />
          </div>
          <Play />
          <Figures />
        </div>
        <Editor />
      </main>
    </>
  );
}

effect(() => {
  document.documentElement.dataset.busy = String(busy.value);
});
effect(() => {
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
});

render(<Page />, document.getElementById("app") as HTMLElement);
try {
  offered.value = await start();
  if (!(await restore())) write(offered.value.scenarios[0]?.toml ?? "");
  openIfAsked();
  addEventListener("hashchange", () => {
    void restore();
    openIfAsked();
  });
} catch (error) {
  problem.value = { text: String(error), key: "", right: "", line: null };
}
