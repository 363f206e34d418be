// The answer above the figures: a sentence, four numbers with their change since the last move, what to try next.

import { SEEDS, spread, spreadText } from "../compare/seeds";
import { applyEdit } from "../live";
import { filled, language, type Messages, text as say } from "../messages/messages";
import { before } from "../moves";
import { controls, figureData, pending, problem } from "../state";
import { stepIndex } from "../tour/tour";
import { twoDigits } from "../units";
import { Term } from "../words/Term";
import { type Answer as AnswerData, answerOf, displayName, leader, type Phrase, type Value } from "./answer";
import "./answer.css";

export function Answer() {
  const [drawn, now] = [figureData.value, controls.value];
  if (!drawn || !now) return <section class="answer-box" aria-label={say("answer.title")} />;
  const found = drawn.valid ? answerOf(drawn.numbers, now) : null;
  return (
    <section class="answer-box" aria-label={say("answer.title")}>
      <p class="sentence" role="status">
        {found
          ? found.phrases.map((phrase, index) => (
              <span key={phrase.key}>{`${index ? (JOINT[language.value] ?? " ") : ""}${phraseText(phrase)}`}</span>
            ))
          : say("answer.none")}
      </p>
      <Tiles />
      {found && <NextStep of={found} />}
    </section>
  );
}

/** Between two sentences. */
const JOINT: Messages = { "zh-Hans": "" };

function NextStep({ of: { next } }: { of: AnswerData }) {
  // The tour has a question of its own.
  if (!next || problem.value || stepIndex.value !== null) return null;
  const take = () => {
    for (const edit of next.edits) applyEdit(edit);
  };
  return (
    <p class="next">
      <span class="quiet">{say("next.title")}</span>{" "}
      <button type="button" onClick={take} disabled={pending.value.length > 0}>
        {phraseText(next.phrase)}
      </button>{" "}
      <a href={`#lesson=${next.lesson}`}>{filled("next.lesson", () => say(`${next.lesson}.title`))}</a>
    </p>
  );
}

export function phraseText({ key, values }: Phrase): string {
  return filled(key, (name) => (values[name] ? valueText(values[name]) : null));
}

function valueText(value: Value): string {
  if ("text" in value) return value.text;
  return `${twoDigits(value.number)}${unitText(value.unit)}`;
}

function unitText(unit: string): string {
  return unit && `\u00a0${unit === "packets" ? say("unit.packets") : unit}`;
}

interface TileSpec {
  name: string;
  title: string;
  term: string;
  unit: string;
  metric: string;
  factor: number;
  /** Whether more is better: 1, worse: -1, neither: 0. */
  better: number;
}

function Tiles() {
  const [drawn, now] = [figureData.value, controls.value];
  if (!drawn || !now) return null;
  const first = leader(drawn.numbers, now) ?? now.flows[0];
  const who = first ? displayName(first.name) : "";
  const shared = now.flows.length > 1;
  const specs: TileSpec[] = [
    {
      ...{
        name: "share",
        unit: shared ? "%" : "Mbit/s",
        factor: shared ? 100 : 1,
        better: 0,
        term: shared ? "share" : "goodput",
      },
      title: filled(shared ? "tile.share" : "tile.rate", () => who),
      metric: `groups.${first?.name}.${shared ? "share" : "throughput_mbps"}`,
    },
    {
      ...{ name: "delay", unit: "ms", factor: 1, better: -1, term: "sojourn" },
      title: say("tile.delay"),
      metric: "queue.delay_ms.mean",
    },
    {
      ...{ name: "utilization", unit: "%", factor: 100, better: 1, term: "utilization" },
      title: say("tile.utilization"),
      metric: "utilization",
    },
    {
      ...{ name: "drops", unit: "packets", factor: 1, better: -1, term: "drop_tail" },
      title: say("tile.drops"),
      metric: "queue.drops",
    },
  ];
  return (
    <dl class="tiles">
      {specs.map((spec) => (
        <Tile key={spec.name} spec={spec} numbers={drawn.numbers} />
      ))}
    </dl>
  );
}

function Tile({ spec, numbers }: { spec: TileSpec; numbers: Record<string, number> }) {
  const value = numbers[spec.metric];
  return (
    <div class="tile">
      <dt>
        <Term name={spec.term}>{spec.title}</Term>
      </dt>
      <dd>
        <span class="number">
          {value === undefined ? "–" : twoDigits(value * spec.factor)}
          <small class={spec.unit === "packets" ? "packets" : ""}>{unitText(spec.unit)}</small>
        </span>
        <Change spec={spec} value={value} />
      </dd>
    </div>
  );
}

/** The value before the last move, with an arrow. */
function Change({ spec, value }: { spec: TileSpec; value: number | undefined }) {
  const last = before.value?.figureData.numbers[spec.metric];
  const range = spread(spec.metric);
  const seeds = range && (
    <span class="change seeds" title={filled("tile.seeds.about", () => String(SEEDS))}>
      <span>{filled("tile.seeds", () => String(SEEDS))} </span>
      {spreadText(range, spec.factor)}
    </span>
  );
  if (value === undefined || last === undefined) return seeds ?? <span class="change" />;
  const [now, then] = [twoDigits(value * spec.factor), twoDigits(last * spec.factor)];
  if (now === then)
    return (
      <>
        <span class="change">{say("tile.same")}</span>
        {seeds}
      </>
    );
  const up = value > last;
  const good = spec.better === 0 ? "" : up === spec.better > 0 ? "good" : "worse";
  return (
    <>
      <span class={`change ${good}`}>
        {up ? "▲" : "▼"} {filled("tile.was", () => then)}
      </span>
      {seeds}
    </>
  );
}
