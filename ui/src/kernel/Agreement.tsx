// The table of differences between simulator and kernel, with the verdicts of `dumbbell compare`.

import { Fragment } from "preact";
import { overlay, type Row } from "./run";

export function Agreement() {
  const now = overlay.value;
  if (!now) return null;
  const { judged, shown, verdict, warnings, agrees, valid } = now.agreement;
  const seeds = now.seeds > 1 ? `seeds ${now.seed} to ${now.seed + now.seeds - 1}` : `seed ${now.seed}`;
  return (
    <section class="agreement" aria-label="Agreement of simulator and kernel">
      <h2>Simulator and kernel</h2>
      <p class={agrees !== false && valid ? "verdict" : "verdict outside"}>{verdict}</p>
      <p class="quiet small">
        {now.kernel}, {seeds}
      </p>
      <Rows rows={judged} />
      {shown.length > 0 && (
        <details>
          <summary>Measured, without a tolerance</summary>
          <Rows rows={shown} />
        </details>
      )}
      {warnings.length > 0 && (
        <ul class="quiet small">
          {warnings.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

const SIGNS = { agrees: "✓", inconclusive: "?", differs: "✗", shown: "" };

function Rows({ rows }: { rows: Row[] }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            {["metric", "sim", "kernel", "difference (allowed)", "agrees?"].map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ metric, cells, verdict }) => (
            <tr key={metric}>
              <th scope="row">{breakable(metric)}</th>
              <td>{cells[0]}</td>
              <td>{cells[1]}</td>
              <td>
                {cells[2]}
                {cells[4] && <small> ({cells[4]})</small>}
              </td>
              <td class={verdict}>{cells[5] && `${SIGNS[verdict]} ${cells[5]}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A metric's name with permitted line breaks after its dots. */
function breakable(metric: string) {
  return metric.split(".").map((part, index) => (
    <Fragment key={part}>
      {index > 0 && "."}
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
