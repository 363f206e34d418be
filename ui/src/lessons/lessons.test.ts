import { expect, test } from "vitest";
import probeBw from "../../../crates/net/src/cc/bbr/probe_bw.rs?raw";
import bandwidth from "../../../crates/net/src/cc/model/bandwidth.rs?raw";
import probeRtt from "../../../crates/net/src/cc/model/probe_rtt.rs?raw";
import timer from "../../../crates/net/src/transport/sender/rtt.rs?raw";
import { LANGUAGES, PLACEHOLDER } from "../messages/messages";
import { CONSTANTS, LESSONS, type Step } from "./lessons";

const placeholders = (text: string) => [...text.matchAll(PLACEHOLDER)].map(([, name]) => name as string).sort();
const { en = {}, ...others } = LANGUAGES;

test.each(Object.keys(others))("%s has the keys of English, each with its placeholders", (tag) => {
  const translated = others[tag] ?? {};
  expect(Object.keys(translated)).toEqual(Object.keys(en));
  // A translation may show a number more often, but no other one.
  const names = (of: Record<string, string>) =>
    Object.fromEntries(Object.entries(of).map(([key, text]) => [key, [...new Set(placeholders(text))]]));
  expect(names(translated)).toEqual(names(en));
});

test("every lesson has all of its texts, and no text is left over", () => {
  const parts = (lesson: string, { id, options }: Step) =>
    ["title", "story", "question", "control", "answer", ...options.map((option) => `option.${option.id}`)].map(
      (part) => `${lesson}.${id}.${part}`,
    );
  const expected = LESSONS.flatMap(({ id, steps }) => [
    ...["title", "about", "end"].map((part) => `${id}.${part}`),
    ...steps.flatMap((step) => parts(id, step)),
  ]);
  const own = LESSONS.map(({ id }) => `${id}.`);
  expect(
    Object.keys(en)
      .filter((key) => own.some((prefix) => key.startsWith(prefix)))
      .sort(),
  ).toEqual(expected.sort());
});

test("placeholders name stops, numbers, limits and constants that exist", () => {
  for (const { id, steps } of LESSONS)
    for (const step of steps) {
      const stops = step.control === "time" ? ["at", "usual"] : step.stops.map((stop) => stop.id);
      const known = stops.flatMap((stop) => [...Object.keys(step.numbers), "setting"].map((name) => `${stop}.${name}`));
      known.push(...["rate", "rtt", "duration", "size", "buffer"].map((name) => `path.${name}`));
      known.push(...Object.keys(step.limits ?? {}).map((name) => `limit.${name}`));
      known.push(...Object.keys(CONSTANTS).map((name) => `constant.${name}`));
      const parts = ["story", "question", "answer", ...step.options.map((option) => `option.${option.id}`)];
      for (const part of parts)
        for (const name of placeholders(en[`${id}.${step.id}.${part}`] ?? ""))
          for (const each of name.split("/").filter((one) => !one.startsWith("key.")))
            expect(known, `${id}.${step.id}.${part}`).toContain(each);
    }
});

test("a story has the numbers of its control's first stop, which alone has run", () => {
  for (const { id, steps } of LESSONS)
    for (const step of steps) {
      if (step.control === "time") continue;
      const later = step.stops.slice(1).map((stop) => stop.id);
      const parts = ["story", "question", ...step.options.map((option) => `option.${option.id}`)];
      const shown = parts.flatMap((part) => placeholders(en[`${id}.${step.id}.${part}`] ?? ""));
      const early = shown.flatMap((name) => name.split("/")).filter((name) => !name.endsWith(".setting"));
      expect(
        early.filter((name) => later.includes(name.split(".")[0] ?? "")),
        `${id}.${step.id}`,
      ).toEqual([]);
    }
});

test.each(Object.entries(LANGUAGES))("no number is written into the texts of %s", (_, texts) => {
  // The names of a metric, `p95`, and of a controller.
  const percentile = /95th percentile|第 95 百分位|p95|BBRv3/g;
  const plain = (text: string) => text.replaceAll(PLACEHOLDER, "").replaceAll(percentile, "");
  // Lines of the glossary are no results.
  const written = Object.entries(texts).filter(([key, text]) => !key.startsWith("term.") && /\d/.test(plain(text)));
  expect(written).toEqual([]);
  for (const step of LESSONS.flatMap(({ steps }) => steps))
    if (step.control !== "time") expect(step.numbers.rtt?.metric ?? "rtt_ms.p95").toMatch(/rtt_ms\.p95$/);
});

test("constants are those of the simulator", () => {
  const number = (source: string, pattern: RegExp) => Number((pattern.exec(source)?.[1] ?? "").replaceAll("_", ""));
  const fraction = (index: number) => {
    const [, over = "", under = ""] = [...probeBw.matchAll(/UNIT \* (\d+) \/ (\d+)/g)][index] ?? [];
    return Number(over) / Number(under);
  };
  expect(Object.fromEntries(Object.entries(CONSTANTS).map(([name, { value }]) => [name, value]))).toEqual({
    minRtt: number(probeRtt, /MIN_RTT_WINDOW: Span = Span::from_secs\((\d+)\)/),
    probeRtt: number(probeRtt, /DURATION: Span = Span::from_millis\((\d+)\)/),
    probeUp: fraction(0),
    probeDown: fraction(1),
    margin: number(bandwidth, /MARGIN_PERCENT: u64 = (\d+)/),
    leastTimer: number(timer, /RTO_MIN_US: u64 = ([\d_]+)/) / 1000,
  });
});
