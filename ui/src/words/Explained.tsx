// A text whose terms have the glossary's line.

import { language } from "../messages/messages";
import { Term } from "./Term";
import { partsOf } from "./terms";

/** `in`: the language of the text, if it is not the page's. */
export function Explained({ text, in: tag }: { text: string; in?: string }) {
  return partsOf(text, tag ?? language.value).map(({ text: part, term }, index) =>
    term ? (
      <Term key={index} name={term}>
        {part}
      </Term>
    ) : (
      part
    ),
  );
}
