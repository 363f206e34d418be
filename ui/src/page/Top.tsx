// The header of the page: where one can go, undo and redo, language and colours.

import { Gallery } from "../gallery/Gallery";
import { redo, undo } from "../live";
import { LANGUAGES, language, remember, text as say } from "../messages/messages";
import { canRedo, canUndo } from "../moves";
import { offered, theme } from "../state";
import { TourButton } from "../tour/Tour";

export function Top() {
  return (
    <header>
      <Brand />
      <Gallery />
      <nav class="links" aria-label={say("lessons.pages")}>
        <a href="#lessons">{say("lessons.title")}</a>
        <Documentation />
        <TourButton />
      </nav>
      <span class="moves">
        <button type="button" title="Ctrl+Z" aria-label={say("page.undo")} disabled={!canUndo.value} onClick={undo}>
          ↶
        </button>
        <button type="button" title="Ctrl+Y" aria-label={say("page.redo")} disabled={!canRedo.value} onClick={redo}>
          ↷
        </button>
      </span>
      <Preferences />
    </header>
  );
}

/** The way back to the site, of which a page without a server is a part. */
export function Documentation() {
  return offered.value?.server === false ? <a href="../index.html">{say("page.documentation")}</a> : null;
}

/** The name with the picture of a dumbbell. */
export function Brand() {
  return (
    <h1>
      <a class="brand" href="#workbench">
        <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
          <path d="M8 16h16" stroke="currentColor" stroke-width="4" />
          <circle cx="7" cy="16" r="6" fill="#0072B2" />
          <circle cx="25" cy="16" r="6" fill="#D55E00" />
        </svg>
        Dumbbell
      </a>
    </h1>
  );
}

const THEMES = ["system", "light", "dark"] as const;

/** The choices of language and colours. */
export function Preferences() {
  return (
    <span class="preferences">
      <label class="language">
        <span class="unseen">{say("lessons.language")} </span>
        <select
          aria-label={say("lessons.language")}
          value={language.value}
          onChange={(event) => remember(event.currentTarget.value)}
        >
          {Object.entries(LANGUAGES).map(([tag, messages]) => (
            <option key={tag} value={tag} lang={tag}>
              {messages.language}
            </option>
          ))}
        </select>
      </label>
      <label class="theme">
        <span class="unseen">{say("lessons.colours")} </span>
        <select
          aria-label={say("lessons.colours")}
          value={theme.value}
          onChange={(event) => {
            theme.value = event.currentTarget.value as (typeof THEMES)[number];
          }}
        >
          {THEMES.map((value) => (
            <option key={value} value={value}>
              {say(value)}
            </option>
          ))}
        </select>
      </label>
    </span>
  );
}
