// What a step asks of a run's numbers: the grammar of `expect` (python/dumbbell/spec/expectation.py), but for parts of
// a run, which a page has no numbers of. `expectations.json` is what both sides are tested with.

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
  /** Why not: it is too low, too high, or not known. */
  off: "low" | "high" | "unknown" | null;
  /** How far it is from holding, relative to the bound; 0 where it holds, 1 where it isn't known. */
  miss: number;
}

const FORM = /^([^<>=\s]+)(?:\s*(<=|>=|==|<|>)\s*|\s+in\s+)([^<>=\s]+)$/;
const CLOSE = 1e-9;

export function outcome(test: string, numbers: Numbers): Outcome {
  const { name, sign, low, high } = parsed(test);
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

/** Throws for a text that is no expectation: the steps are ours. */
function parsed(test: string): Parsed {
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
