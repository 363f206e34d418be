// What a slider stops at: round values, about ten per cent apart, so that every press of a key changes something.

const DECADE = [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 8, 9];

/** The round values from the least to the most, both positive. */
export function notches(least: number, most: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++) {
    // A text such as 2.2e-4 is exact where 2.2 × 0.0001 is not.
    found.push(...DECADE.map((step) => Number(`${step}e${power}`)));
  }
  return found.filter((value) => value >= least && value <= most);
}

/** The place of the notch that is nearest by ratio; 0 is a notch of its own, if it is one. */
export function nearest(values: number[], value: number): number {
  const exact = values.indexOf(value);
  if (exact >= 0) return exact;
  const away = values.map((notch) => Math.abs(Math.log(notch / Math.max(value, Number.MIN_VALUE))));
  return away.indexOf(Math.min(...away));
}
