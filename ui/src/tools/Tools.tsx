// Tools for the shown experiment: open another, share it, download it.

import { text as say } from "../messages/messages";
import { Open } from "../open/Open";
import { copyLink, linkStatus } from "../share/share";
import { Download } from "./Download";
import "./tools.css";

export function Tools() {
  return (
    <section class="tools" aria-label={say("tools.title")}>
      <Open />
      <button type="button" onClick={() => void copyLink()}>
        {say("tools.link")}
      </button>
      <Download />
      <div role="status" class={linkStatus.value?.bad ? "trouble" : "quiet small"}>
        {linkStatus.value?.text}
      </div>
    </section>
  );
}
