// The numbers of a run: a row per group, and a sentence on the path.

import { text as say } from "../messages/messages";
import { OF_GROUPS, OF_PATH } from "../metrics";
import { figureData } from "../state";
import { short } from "../units";

export function Numbers() {
  const drawn = figureData.value;
  if (!drawn) return null;
  const of = drawn.numbers;
  const groups = [...new Set(drawn.flows.map((flow) => flow.group))];
  const known = OF_GROUPS.filter(({ name }) => groups.some((group) => of[`groups.${group}.${name}`] !== undefined));
  return (
    <section class="numbers" aria-label={say("numbers.title")}>
      <table>
        <thead>
          <tr>
            <th scope="col">{say("numbers.group")}</th>
            {known.map(({ name }) => (
              <th scope="col" key={name}>
                {say(`metric.${name}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <tr key={group}>
              <th scope="row">{group}</th>
              {known.map(({ name, factor }) => {
                const value = of[`groups.${group}.${name}`];
                return <td key={name}>{value === undefined ? "" : short(value * factor)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="quiet small" aria-live="polite">
        {sentence(of)}
      </p>
    </section>
  );
}

function sentence(of: Record<string, number>): string {
  const known = OF_PATH.flatMap(({ name, factor, unit = "" }) => {
    const value = of[name];
    return value === undefined ? [] : [`${say(`metric.${name}`)} ${short(value * factor)}${unit}`];
  });
  return known.join(say("count.comma"));
}
