// The gallery of built-in experiments: a picture, a plain title, what one sees, how difficult it is, and a search.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { write } from "../live";
import { filled, language, text as say } from "../messages/messages";
import { controls, dark, offered, text } from "../state";
import { type Entry, entriesOf, matches, titleOf } from "./gallery";
import THUMBNAILS from "./thumbnails.json";
import "./gallery.css";

const LEVELS = [1, 2, 3];
const BASE = 36;

export function Gallery() {
  const dialog = useRef<HTMLDialogElement>(null);
  const words = useSignal("");
  const level = useSignal(0);
  const isOpen = useSignal(false);
  const close = () => dialog.current?.close();
  const scenarios = offered.value?.scenarios ?? [];
  const shown = scenarios.find((one) => one.toml === text.value);
  const open = () => {
    isOpen.value = true;
    dialog.current?.showModal();
  };
  return (
    <>
      <button type="button" class="gallery-open" onClick={open}>
        {say("page.gallery")}: <b>{shown ? nameOf(shown) : (controls.value?.title ?? say("page.unnamed"))}</b>
      </button>
      <dialog
        ref={dialog}
        class="gallery"
        aria-label={say("page.gallery")}
        onClose={() => {
          isOpen.value = false;
        }}
      >
        {isOpen.value && (
          <>
            <div class="bar">
              <h2>{say("page.gallery")}</h2>
              <input
                type="text"
                placeholder={say("gallery.search")}
                aria-label={say("gallery.search")}
                value={words.value}
                onInput={(event) => {
                  words.value = event.currentTarget.value;
                }}
              />
              <select
                aria-label={say("gallery.level")}
                value={level.value}
                onChange={(event) => {
                  level.value = Number(event.currentTarget.value);
                }}
              >
                {[0, ...LEVELS].map((each) => (
                  <option key={each} value={each}>
                    {say(`gallery.level.${LEVEL_NAMES[each]}`)}
                  </option>
                ))}
              </select>
              <button type="button" onClick={close}>
                {say("gallery.close")}
              </button>
            </div>
            <Cards
              entries={entriesOf(scenarios).filter(
                (entry) => (level.value === 0 || entry.level === level.value) && matches(entry, words.value.trim()),
              )}
              close={close}
            />
          </>
        )}
      </dialog>
    </>
  );
}

const LEVEL_NAMES = ["all", "first", "deeper", "expert"];

function nameOf({ name, case: variant }: { name: string; case: string }): string {
  return variant ? `${name}: ${variant}` : name;
}

function Cards({ entries, close }: { entries: Entry[]; close(): void }) {
  if (!entries.length) return <p class="quiet">{say("gallery.none")}</p>;
  return (
    <ul class="cards">
      {entries.map((entry) => (
        <Card key={entry.name} entry={entry} close={close} />
      ))}
    </ul>
  );
}

function Card({ entry, close }: { entry: Entry; close(): void }) {
  const chosen = useSignal(0);
  const [title, sees] = titleOf(entry, language.value);
  const open = () => {
    write(entry.cases[chosen.value]?.toml ?? "");
    close();
  };
  return (
    <li class="card">
      <button type="button" onClick={open}>
        <Thumbnail name={entry.name} />
        <strong>{title}</strong>
        <span>{sees}</span>
        <small class="quiet">
          {say(`gallery.level.${LEVEL_NAMES[entry.level]}`)} · {entry.name}
        </small>
      </button>
      {entry.cases.length > 1 && (
        <select
          aria-label={filled("gallery.case", () => title)}
          value={chosen.value}
          onChange={(event) => {
            chosen.value = Number(event.currentTarget.value);
          }}
        >
          {entry.cases.map((each, index) => (
            <option key={each.case} value={index}>
              {each.case}
            </option>
          ))}
        </select>
      )}
    </li>
  );
}

interface Small {
  colour: string;
  dark: string;
  rate: string;
}

/** The throughput of the first case's flows over time. */
function Thumbnail({ name }: { name: string }) {
  const lines = (THUMBNAILS as Record<string, Small[]>)[name] ?? [];
  return (
    <svg viewBox="0 0 39 37" preserveAspectRatio="none" aria-hidden="true">
      {lines.map((line) => (
        <polyline
          key={line.colour + line.rate}
          points={[...line.rate].map((digit, x) => `${x},${36 - Number.parseInt(digit, BASE)}`).join(" ")}
          fill="none"
          stroke={dark.value ? line.dark : line.colour}
          stroke-width="1.6"
          vector-effect="non-scaling-stroke"
        />
      ))}
    </svg>
  );
}
