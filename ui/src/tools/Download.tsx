// What is on the screen as a file, made by the server as the command would make it.

import { useSignal } from "@preact/signals";
import { overlay } from "../kernel/run";
import { answered, post, Unanswered } from "../protocol";
import { panels, problem, seed, text } from "../state";

const KINDS: Record<string, string> = {
  "figure.svg": "Figure, SVG",
  "figure.png": "Figure, PNG",
  "figure.pdf": "Figure, PDF",
  "data.csv": "Data, CSV",
  "data.parquet": "Data, result folder (Parquet)",
  "experiment.toml": "Experiment, TOML",
  "report.html": "Report, HTML",
};

export function Download() {
  const what = useSignal("figure.svg");
  const of = useSignal("sim");
  const busy = useSignal(false);
  const slip = useSignal("");
  const kernel = overlay.value && what.value !== "experiment.toml" ? overlay.value : null;
  const go = async () => {
    busy.value = true;
    slip.value = "";
    try {
      await download(what.value, kernel && of.value === "kernel" ? kernel.job : null);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      slip.value = error.message;
    }
    busy.value = false;
  };
  return (
    <span class="download">
      <select
        aria-label="What to download"
        value={what.value}
        onChange={(event) => {
          what.value = event.currentTarget.value;
        }}
      >
        {Object.entries(KINDS).map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
      {kernel && (
        <select
          aria-label="Whose run to download"
          value={of.value}
          onChange={(event) => {
            of.value = event.currentTarget.value;
          }}
        >
          <option value="sim">simulator</option>
          <option value="kernel">kernel</option>
        </select>
      )}
      <button type="button" disabled={busy.value || problem.value !== null} onClick={() => void go()}>
        Download
      </button>
      {slip.value && (
        <span role="alert" class="trouble">
          {slip.value}
        </span>
      )}
    </span>
  );
}

async function download(what: string, job: string | null): Promise<void> {
  const asked = { what, toml: text.value, seed: seed.value, panels: panels.value, job };
  const response = await answered(await post("api/download", asked));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? "dumbbell";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
