// What is done with the experiment on the screen besides playing: open another, share it, keep it.

import { Open } from "../open/Open";
import { copyLink, said } from "../share/share";
import { Download } from "./Download";
import "./tools.css";

export function Tools() {
  return (
    <section class="tools" aria-label="Open, share, download">
      <Open />
      <button type="button" onClick={() => void copyLink()}>
        Copy link
      </button>
      <Download />
      <div role="status" class={said.value?.bad ? "trouble" : "quiet small"}>
        {said.value?.text}
      </div>
    </section>
  );
}
