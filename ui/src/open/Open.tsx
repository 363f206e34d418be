// The dialog of what is open: a list with reports and experiments to play, and ways to add to it.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Report } from "./Report";
import { add, below, list, play, problemText, query, shown, type Thing, take, things } from "./things";
import "./open.css";

export function Open() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => void list(), []);
  useSignalEffect(() => {
    const [box, wanted] = [dialog.current, shown.value !== null];
    if (box && wanted && !box.open) box.showModal();
    if (box?.open && !wanted) box.close();
  });
  const what = shown.value;
  return (
    <>
      <button
        type="button"
        onClick={() => {
          shown.value = "list";
          void list();
        }}
      >
        Open…
      </button>
      <dialog
        ref={dialog}
        class={what !== null && what !== "list" ? "open wide" : "open"}
        aria-label={what === null || what === "list" ? "Results" : what.thing.title}
        onClose={() => {
          shown.value = null;
        }}
      >
        {what === "list" && <List />}
        {what !== null && what !== "list" && <Report key={query(what.run)} thing={what.thing} run={what.run} />}
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
      {things.value.length === 0 && <p class="quiet">Nothing is open yet.</p>}
      <ul class="things">
        {things.value.map((thing) => (
          <One key={thing.name} thing={thing} />
        ))}
      </ul>
      <AddPath />
      <label class="file">
        Import a log (iperf3, ss, ping, tc, Flent, a capture, …), or drop one anywhere on the page
        <input
          type="file"
          multiple
          onChange={(event) => {
            void take([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
      </label>
    </>
  );
}

function One({ thing }: { thing: Thing }) {
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

/** A file that is dropped anywhere, the editor too, which would take its text otherwise. */
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
      void take([...event.dataTransfer.files]);
    };
    const watched = { dragover: drag, dragleave: leave, drop };
    for (const [name, heard] of Object.entries(watched)) addEventListener(name, heard as EventListener, true);
    return () => {
      for (const [name, heard] of Object.entries(watched)) removeEventListener(name, heard as EventListener, true);
    };
  }, []);
  return over.value ? <div class="drop">Drop a log to import it, or an experiment to play it</div> : null;
}
