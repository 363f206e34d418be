// Evaluates expectations of a run's numbers. The grammar is that of `expect` (python/dumbbell/analysis/expect.py) without
// time windows, for which the page has no numbers. `expectations.json` tests both evaluators.

export type Numbers = Readonly<Record<string, number>>;

interface Parsed {
  name: string;
  sign: "<" | "<=" | ">" | ">=" | "==" | "in";
  /** Null: expected to be unknown. */
  low: number | null;
  high: number;
}

export interface Outcome {
  holds: boolean;
  /** The reason if it doesn't hold: too low, too high, or unknown. */
  off: "low" | "high" | "unknown" | null;
  /** The distance to the bound, relative to it; 0 if it holds, 1 if the number is unknown. */
  miss: number;
}

const FORM = /^([^<>=\s]+)(?:\s*(<=|>=|==|<|>)\s*|\s+in\s+)([^<>=\s]+)$/;
const CLOSE = 1e-9;

export function outcome(test: string, numbers: Numbers): Outcome {
  const { name, sign, low, high } = parseExpectation(test);
  const value = numbers[name];
  if (value === undefined) return low === null ? HOLDS : { holds: false, off: "unknown", miss: 1 };
  if (low === null) return { holds: false, off: "high", miss: 1 };
  if (below(value, sign, low)) return { holds: false, off: "low", miss: distance(value, low) };
  if (above(value, sign, sign === "in" ? high : low)) {
    return { holds: false, off: "high", miss: distance(value, sign === "in" ? high : low) };
  }
  return HOLDS;
}

const HOLDS: Outcome = { holds: true, off: null, miss: 0 };

/** Parse an expectation of a built-in step. Throws if the text is none. */
function parseExpectation(test: string): Parsed {
  const found = FORM.exec(test.trim());
  const [, name = "", sign = "in", right = ""] = found ?? [];
  if (sign === "==" && right === "null") return { name, sign, low: null, high: 0 };
  const [low, high] = sign === "in" ? right.split("..").map(Number) : [Number(right), Number(right)];
  if (!found || !Number.isFinite(low) || !Number.isFinite(high) || (low as number) > (high as number)) {
    throw new Error(`no expectation: ${test}`);
  }
  return { name, sign: sign as Parsed["sign"], low: low as number, high: high as number };
}

function below(value: number, sign: Parsed["sign"], bound: number): boolean {
  if (sign === ">") return value <= bound;
  if (sign === "==") return value < bound && !close(value, bound);
  return (sign === ">=" || sign === "in") && value < bound;
}

function above(value: number, sign: Parsed["sign"], bound: number): boolean {
  if (sign === "<") return value >= bound;
  if (sign === "==") return value > bound && !close(value, bound);
  return (sign === "<=" || sign === "in") && value > bound;
}

function close(one: number, other: number): boolean {
  return Math.abs(one - other) <= CLOSE * Math.max(Math.abs(one), Math.abs(other));
}

function distance(value: number, bound: number): number {
  return Math.abs(value - bound) / Math.max(Math.abs(bound), CLOSE);
}
