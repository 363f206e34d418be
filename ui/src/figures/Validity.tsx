// Whether a run measured what its experiment specifies. An invalid run says so before its figures and numbers.

import { text as say } from "../messages/messages";
import type { FigureData } from "../types";

export function Validity({ of: { valid, invalid, warnings } }: { of: FigureData }) {
  return (
    <div role="status" class="validity">
      {!valid && (
        <div class="trouble">
          <strong>{say("validity.invalid")}</strong> <List of={invalid} />
        </div>
      )}
      {warnings.length > 0 && (
        <div class="note">
          <strong>{say("validity.note")}</strong> <List of={warnings} />
        </div>
      )}
    </div>
  );
}

/** One reason on the same line, several as a list. */
function List({ of }: { of: string[] }) {
  if (of.length < 2) return <>{of[0]}</>;
  return (
    <ul>
      {of.map((reason) => (
        <li key={reason}>{reason}</li>
      ))}
    </ul>
  );
}
