// The dialog of open results: a list with reports and experiments to play, and controls to add to it.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { text as say } from "../messages/messages";
import { alone, needsServer } from "../protocol";
import { offered } from "../state";
import { Report } from "./Report";
import { add, below, importFiles, list, play, problemText, query, shown, type Thing, things } from "./things";
import "./open.css";

export function Open() {
  const dialog = useRef<HTMLDialogElement>(null);
  useSignalEffect(() => {
    if (offered.value) void list();
  });
  useSignalEffect(() => {
    const [box, open] = [dialog.current, shown.value !== null];
    if (box && open && !box.open) box.showModal();
    if (box?.open && !open) box.close();
  });
  const view = shown.value;
  return (
    <>
      <button
        type="button"
        onClick={() => {
          shown.value = "list";
          void list();
        }}
      >
        {say("tools.open")}
      </button>
      <dialog
        ref={dialog}
        class={view !== null && view !== "list" ? "open wide" : "open"}
        aria-label={view === null || view === "list" ? "Results" : view.thing.title}
        onClose={() => {
          shown.value = null;
        }}
      >
        {view === "list" && <List />}
        {view !== null && view !== "list" && <Report key={query(view.run)} thing={view.thing} run={view.run} />}
      </dialog>
      <Drop />
    </>
  );
}

function List() {
  return (
    <>
      <div class="bar">
        <h2>Results, sweeps, experiments</h2>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      {problemText.value && (
        <div role="alert" class="trouble">
          {problemText.value}
        </div>
      )}
      {alone() ? (
        <p class="quiet">{needsServer("To open results and sweeps, and to import logs,")}</p>
      ) : (
        things.value.length === 0 && <p class="quiet">Nothing is open yet.</p>
      )}
      <ul class="things">
        {things.value.map((thing) => (
          <ListEntry key={thing.name} thing={thing} />
        ))}
      </ul>
      {!alone() && <AddPath />}
      <label class="file">
        {alone()
          ? "Open an experiment (TOML), or drop one anywhere on the page"
          : "Import a log (iperf3, ss, ping, tc, Flent, a capture, …), or drop one anywhere on the page"}
        <input
          type="file"
          multiple
          onChange={(event) => {
            void importFiles([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
      </label>
    </>
  );
}

function ListEntry({ thing }: { thing: Thing }) {
  return (
    <li>
      <div>
        <strong>{thing.title}</strong>
        <div class="quiet small">{[thing.kind, thing.about, thing.path].filter(Boolean).join(" · ")}</div>
      </div>
      {thing.kind !== "experiment" && (
        <button
          type="button"
          aria-label={`Report of ${thing.title}, ${thing.path}`}
          onClick={() => {
            shown.value = { thing };
          }}
        >
          {thing.kind === "sweep" ? "Maps" : "Report"}
        </button>
      )}
      {thing.kind !== "sweep" && thing.playable && (
        <button
          type="button"
          aria-label={`Play ${thing.title}, ${thing.path} ${thing.about}`}
          onClick={() => void play(thing)}
        >
          Play
        </button>
      )}
    </li>
  );
}

function AddPath() {
  const path = useSignal("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void add(path.value);
      }}
    >
      <label>
        A path below {below.value}
        <input
          type="text"
          value={path}
          placeholder="runs/one"
          onInput={(event) => {
            path.value = event.currentTarget.value;
          }}
        />
      </label>
      <button type="submit">Add</button>
    </form>
  );
}

function close(): void {
  shown.value = null;
}

/** Accepts files dropped anywhere, including on the editor, which would otherwise insert their text. */
function Drop() {
  const over = useSignal(false);
  useEffect(() => {
    const drag = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      over.value = true;
    };
    const leave = (event: DragEvent) => {
      if (!event.relatedTarget) over.value = false;
    };
    const drop = (event: DragEvent) => {
      over.value = false;
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      event.stopPropagation();
      void importFiles([...event.dataTransfer.files]);
    };
    const listeners = { dragover: drag, dragleave: leave, drop };
    for (const [name, listener] of Object.entries(listeners)) addEventListener(name, listener as EventListener, true);
    return () => {
      for (const [name, listener] of Object.entries(listeners))
        removeEventListener(name, listener as EventListener, true);
    };
  }, []);
  return over.value ? <div class="drop">Drop a log to import it, or an experiment to play it</div> : null;
}
