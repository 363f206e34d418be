// Lines of a run in the browser: samples by flow, rates in bins, fewer points without lost extremes. The same rules as
// `python/dumbbell/plots/layers.py`.

import { type FlowDescription, numbers, type Run, type Table } from "./simulator";

export const NS = 1e9;
/** The most distinguishable lines; with more flows, groups replace them. */
export const FLOWS_MAX = 8;
/** The most bins of a rate. */
export const BINS_MAX = 300;
const GROUP_BINS = 1400;

/** Times in seconds, and values. */
export interface Trace {
  s: number[];
  v: number[];
}

export type Traces = Map<string, Trace>;

/** A run with what its panels read of it. */
export interface Measured {
  run: Run;
  duration_s: number;
  points: number;
}

export function isGrouped({ run }: Measured): boolean {
  return run.description.flows.length > FLOWS_MAX;
}

/** The entries of the legend: flows, or groups in their place. */
export function legendFlows(of: Measured): FlowDescription[] {
  return isGrouped(of) ? shownGroups(of) : of.run.description.flows;
}

export function groups({ run }: Measured): FlowDescription[] {
  const flows = run.description.flows;
  return [...new Set(flows.map(({ group }) => group))].map((group) => {
    const controllers = new Set(flows.filter((flow) => flow.group === group).map(({ cc }) => cc));
    return { name: group, group, cc: controllers.size === 1 ? ([...controllers][0] ?? null) : null };
  });
}

/** All groups, or those with the highest goodput. */
export function shownGroups(of: Measured): FlowDescription[] {
  const rates = of.run.metrics.groups as Record<string, { throughput_mbps: number | null }>;
  const rate = ({ name }: FlowDescription) => rates[name]?.throughput_mbps ?? 0;
  const all = groups(of);
  const most = new Set([...all].sort((one, other) => rate(other) - rate(one)).slice(0, FLOWS_MAX));
  return all.filter((group) => most.has(group));
}

/** A series of each flow (or of each group, the sum) at the centres of its bins, times `factor`. */
export function binned(of: Measured, kind: "goodput" | "retransmits", factor: number, byGroup: boolean): Traces {
  const { series, description } = of.run;
  const step = series.stepNs;
  const centre = (bin: number) => (bin * step + Math.floor(step / 2)) / NS;
  const traces: Traces = new Map();
  description.flows.forEach((flow, index) => {
    const values = series[kind][index] as Float64Array;
    const [start, stop] = description.lives[index] as [number, number];
    const name = byGroup ? flow.group : flow.name;
    const trace = traces.get(name) ?? { s: [], v: [] };
    traces.set(name, trace);
    values.forEach((value, bin) => {
      if (Number.isNaN(value)) return;
      if (byGroup) {
        trace.s[bin] = centre(bin);
        trace.v[bin] = (trace.v[bin] ?? 0) + value * factor;
      } else if ((bin + 1) * step > start && bin * step < stop) {
        trace.s.push(centre(bin));
        trace.v.push(value * factor);
      }
    });
  });
  return traces;
}

/** A column of the flows' samples ÷ `factor`; of groups the sum or mean of their flows. Without `zero`, 0 is unknown. */
export function samples(of: Measured, column: string, factor: number, sums: boolean, zero = true): Traces {
  const { flows } = of.run;
  const [time, value, flow] = [flows.columns.time_ns, flows.columns[column], flows.columns.flow];
  if (!time || !value || !flow) return new Map();
  const [times, values, codes] = [numbers(time), numbers(value), numbers(flow)];
  const byFlow = new Map<string, Trace>(of.run.description.flows.map(({ name }) => [name, { s: [], v: [] }]));
  const traces = (flow.names ?? []).map((name) => byFlow.get(name));
  for (let row = 0; row < flows.rows; row++) {
    const [v, trace] = [values[row] as number, traces[codes[row] as number]];
    if (!trace || Number.isNaN(v) || (!zero && v === 0)) continue;
    trace.s.push(times[row] as number);
    trace.v.push(v / factor);
  }
  const lines = isGrouped(of) ? ofGroups(of, byFlow, sums) : byFlow;
  for (const trace of lines.values()) trace.s = trace.s.map((ns) => ns / NS);
  return downsampled(lines, of.points);
}

/** Average each flow in bins, then combine the flows of a group. */
function ofGroups(of: Measured, byFlow: Traces, sums: boolean): Traces {
  const bin = Math.max(Math.round((of.duration_s * NS) / GROUP_BINS), 1);
  const found = new Map<string, Map<number, { sum: number; flows: number }>>();
  for (const { name, group } of of.run.description.flows) {
    const { s, v } = byFlow.get(name) as Trace;
    const means = new Map<number, { sum: number; count: number }>();
    s.forEach((time, row) => {
      const at = Math.floor(time / bin);
      const mean = means.get(at) ?? { sum: 0, count: 0 };
      means.set(at, { sum: mean.sum + (v[row] as number), count: mean.count + 1 });
    });
    const bins = found.get(group) ?? new Map<number, { sum: number; flows: number }>();
    found.set(group, bins);
    for (const [at, { sum, count }] of means) {
      const before = bins.get(at) ?? { sum: 0, flows: 0 };
      bins.set(at, { sum: before.sum + sum / count, flows: before.flows + 1 });
    }
  }
  const lines: Traces = new Map();
  for (const { name } of shownGroups(of)) {
    const bins = [...(found.get(name) ?? [])].sort(([one], [other]) => one - other);
    const value = ({ sum, flows }: { sum: number; flows: number }) => (sums ? sum : sum / flows);
    lines.set(name, {
      s: bins.map(([at]) => at * bin + Math.floor(bin / 2)),
      v: bins.map(([, each]) => value(each)),
    });
  }
  return lines;
}

/** The lines with the points that they need; without those that have none. */
export function downsampled(traces: Traces, points: number): Traces {
  const kept: Traces = new Map();
  for (const [name, { s, v }] of traces) {
    if (!s.length) continue;
    const rows = downsample(s, v, points);
    kept.set(name, { s: rows.map((row) => s[row] as number), v: rows.map((row) => v[row] as number) });
  }
  return kept;
}

/** The samples to keep: smallest and largest of every time bin, the first and the last. */
function downsample(s: number[], v: number[], points: number): number[] {
  if (v.length <= points) return v.map((_, row) => row);
  const bins = Math.max(Math.floor(points / 2), 1);
  const first = s[0] as number;
  const length = Math.max((s.at(-1) as number) - first, 1e-300);
  const least = new Map<number, number>();
  const most = new Map<number, number>();
  v.forEach((value, row) => {
    const bin = Math.min(Math.floor((((s[row] as number) - first) / length) * bins), bins - 1);
    const [low, high] = [least.get(bin), most.get(bin)];
    if (low === undefined || value < (v[low] as number)) least.set(bin, row);
    if (high === undefined || value >= (v[high] as number)) most.set(bin, row);
  });
  const kept = new Set([...least.values(), ...most.values(), 0, v.length - 1]);
  return [...kept].sort((one, other) => one - other);
}

/** Rows of a queue's known samples of a column: times in ns, values. */
export function queueSamples({ run }: Measured, queue: string, column: string): Trace {
  const table: Table = run.queues;
  const [time, value, name] = [table.columns.time_ns, table.columns[column], table.columns.queue];
  const code = name?.names?.indexOf(queue) ?? -1;
  const found: Trace = { s: [], v: [] };
  if (!time || !value || !name || code < 0) return found;
  const [times, values, codes] = [numbers(time), numbers(value), numbers(name)];
  for (let row = 0; row < table.rows; row++) {
    if (codes[row] !== code || Number.isNaN(values[row])) continue;
    found.s.push(times[row] as number);
    found.v.push(values[row] as number);
  }
  return found;
}

/** When (in seconds) a counter grew; one mark per pixel. */
export function grown({ s, v }: Trace, { duration_s, points }: Measured): number[] {
  const bin = Math.max(Math.round(((duration_s * NS) / points) * 2), 1);
  const marks = new Map<number, number>();
  v.forEach((reading, row) => {
    const at = Math.floor((s[row] as number) / bin);
    if (reading > (v[row - 1] ?? 0) && !marks.has(at)) marks.set(at, (s[row] as number) / NS);
  });
  return [...marks.values()];
}
