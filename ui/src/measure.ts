// Times for measurements (`bench`): a PerformanceObserver gets them; the page keeps none.

export function measure(name: string, start: number): void {
  performance.measure(name, { start });
  performance.clearMeasures(name);
}
