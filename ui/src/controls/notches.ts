// The stops of a slider: round values about ten per cent apart, so that every key press changes the value.

const DECADE = [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 8, 9];

/** The round values from a minimum to a maximum, both positive. */
export function notches(least: number, most: number): number[] {
  const values: number[] = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++) {
    // Number("2.2e-4") is exact; 2.2 × 0.0001 is not.
    values.push(...DECADE.map((step) => Number(`${step}e${power}`)));
  }
  return values.filter((value) => value >= least && value <= most);
}

/** The index of the notch with the nearest ratio; for 0 the notch 0, if there is one. */
export function nearest(values: number[], value: number): number {
  const exact = values.indexOf(value);
  if (exact >= 0) return exact;
  const distances = values.map((notch) => Math.abs(Math.log(notch / Math.max(value, Number.MIN_VALUE))));
  return distances.indexOf(Math.min(...distances));
}
