// Downloads the shown figure, data, experiment or report as a file: the server makes it as the command line does,
// without a server `local` does as far as it can.

import { useSignal } from "@preact/signals";
import { overlay } from "../kernel/run";
import { text as say } from "../messages/messages";
import { alone, checked, post, RequestError } from "../protocol";
import { controls, figureData, panels, problem, seed, text } from "../state";
import { save } from "./save";

const KINDS = ["figure.svg", "figure.png", "figure.pdf", "data.csv", "data.parquet", "experiment.toml", "report.html"];

export function Download() {
  const what = useSignal("figure.svg");
  const engine = useSignal("sim");
  const busy = useSignal(false);
  const errorText = useSignal("");
  const kernel = overlay.value && what.value !== "experiment.toml" ? overlay.value : null;
  const start = async () => {
    busy.value = true;
    errorText.value = "";
    try {
      await download(what.value, kernel && engine.value === "kernel" ? kernel.job : null);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      errorText.value = error.message;
    }
    busy.value = false;
  };
  return (
    <span class="download">
      <select
        aria-label={say("tools.what")}
        value={what.value}
        onChange={(event) => {
          what.value = event.currentTarget.value;
        }}
      >
        {KINDS.map((name) => (
          <option key={name} value={name}>
            {say(`download.${name}`)}
          </option>
        ))}
      </select>
      {kernel && (
        <select
          aria-label="Engine of the run to download"
          value={engine.value}
          onChange={(event) => {
            engine.value = event.currentTarget.value;
          }}
        >
          <option value="sim">simulator</option>
          <option value="kernel">kernel</option>
        </select>
      )}
      <button type="button" disabled={busy.value || problem.value !== null} onClick={() => void start()}>
        {say("tools.download")}
      </button>
      {errorText.value && (
        <span role="alert" class="trouble">
          {errorText.value}
        </span>
      )}
    </span>
  );
}

async function download(what: string, job: string | null): Promise<void> {
  const own = alone();
  if (own) {
    const { fileOf } = await import("../local/download");
    const { title = "", duration_ns = 0 } = controls.value ?? {};
    const shown = { toml: text.value, seed: seed.value, title, duration_ns, figure: figureData.value };
    const { name, content } = await fileOf(own, what, shown);
    save(name, content);
    return;
  }
  const body = { what, toml: text.value, seed: seed.value, panels: panels.value, job };
  const response = await checked(await post("api/download", body));
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? "dumbbell";
  save(name, await response.blob());
}
