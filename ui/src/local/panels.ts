// The panels of a run in the browser, in the form that the server sends (`python/dumbbell/plots/time_panels.py` makes the
// same for `dumbbell ui`, reports and downloads; tests compare both).

import type { FigureData, Layer, Line, Panel, Span } from "../types";
import { type Coloured, type Colours, dash } from "./colours";
import {
  binned,
  downsampled,
  groups,
  grown,
  isGrouped,
  legendFlows,
  type Measured,
  NS,
  queueSamples,
  samples,
  shownGroups,
  type Trace,
  type Traces,
} from "./samples";
import { type Column, numbers, type QueueDescription } from "./simulator";

const HEIGHT = 150;
const ROW = 20;
/** Ethernet 14, IPv4 20, TCP 20 with 12 of timestamps. */
const HEADERS_BYTES = 66;
const IN_BYTES = ["bfifo", "tbf", "red", "gred"];

/** Consecutive columns of numbers. */
class Columns {
  private readonly parts: number[] = [];

  constructor(private readonly end_s: number) {}

  add(values: readonly number[]): Span {
    const span: Span = [this.parts.length, values.length];
    for (const value of values) this.parts.push(value);
    return span;
  }

  addTimes(values: readonly number[]): Span {
    return this.add(values.map((value) => Math.min(Math.max(value, 0), this.end_s)));
  }

  column(): FigureData["column"] {
    const all = Float64Array.from(this.parts);
    return ([offset, count]) => all.subarray(offset, offset + count);
  }
}

interface Drawing extends Measured {
  colours: Colours;
  columns: Columns;
}

type LineLayer = Extract<Layer, { kind: "lines" }>;

/** The named panels for which the run has data, columns of the first flow's samples, and the function that returns both. */
export function panelsOf(of: Measured, names: readonly string[], colours: Colours, sampled: readonly string[] = []) {
  const columns = new Columns(of.duration_s);
  const drawing = { ...of, colours, columns };
  const panels = names.flatMap((name) => {
    const panel = PANELS[name]?.(drawing);
    return panel ? [{ ...panel, name }] : [];
  });
  return { panels, samples: samplesOf(of, sampled, columns), column: columns.column() };
}

function samplesOf({ run }: Measured, names: readonly string[], columns: Columns): Record<string, Span> {
  const { time_ns, flow, ...others } = run.flows.columns;
  if (!names.length || !time_ns || !flow) return {};
  const code = flow.names?.indexOf(run.description.flows[0]?.name ?? "") ?? -1;
  const codes = numbers(flow);
  const ofFirst = (column: Column) => [...numbers(column)].filter((_, row) => codes[row] === code);
  const known = names.flatMap((name) => (others[name] ? [[name, ofFirst(others[name])] as const] : []));
  const times = ofFirst(time_ns).map((ns) => ns / NS);
  return Object.fromEntries(
    [["time_s", times] as const, ...known].map(([name, values]) => [name, columns.add(values)]),
  );
}

type Draw = (of: Drawing) => Omit<Panel, "name"> | null;

const PANELS: Record<string, Draw> = {
  throughput: (of) => {
    const traces = binned(of, "goodput", 1e-6, isGrouped(of));
    const rate = rateSteps(of, 1e-6);
    const note = [binNote(of, traces), rate.s.length ? "dashed: link rate" : ""].filter(Boolean).join("; ");
    const layers = [flowLines(of, traces, "step"), ...reference(of, rate, "link rate")];
    return panel("Throughput in order, Mbit/s", layers, { note });
  },
  cwnd: (of) => sampled(of, "cwnd, packets", samples(of, "cwnd_packets", 1, true)),
  rtt: (of) => sampled(of, "Smoothed RTT, ms", samples(of, "rtt_ns", 1e6, false, false)),
  queue,
  inflight: (of) => {
    const traces = samples(of, "inflight_packets", 1, true);
    const bdp = bdpSteps(of);
    const note = bdp.s.length ? "dashed: BDP" : "";
    return traces.size
      ? panel("In flight, packets", [flowLines(of, traces), ...reference(of, bdp, "BDP")], { note })
      : null;
  },
  groups: (of) => {
    const [shown, traces] = [shownGroups(of), binned(of, "goodput", 1e-6, true)];
    const colours = of.colours.shades(shown);
    const lines = shown.map(({ name }, index) =>
      line(of, name, colours.get(name) as string, traces.get(name) as Trace, dash(index)),
    );
    const entries = [...colours].map(([name, colour]) => ({ name, ...of.colours.both(colour) }));
    const layer: LineLayer = { kind: "lines", of: "panel", curve: "step", width: 1.3, opacity: 1, lines };
    return panel("Groups, Mbit/s", [layer], { note: binNote(of, traces), legend: "group", entries });
  },
  retransmits: (of) => {
    const counted = of.run.flows.columns.retrans_packets;
    if (!counted || !numbers(counted).some(Number.isFinite)) return null;
    const traces = binned(of, "retransmits", NS / of.run.series.stepNs, isGrouped(of));
    return panel("Retransmits, packets/s", [flowLines(of, traces, "step")], { note: binNote(of, traces) });
  },
  states,
};

function panel(title: string, layers: Layer[], more: Partial<Panel>): Omit<Panel, "name"> {
  const y: Panel["y"] = { domain: null, zero: true, nice: true, type: "linear" };
  return { title, note: "", height: HEIGHT, y, rows: [], legend: null, entries: [], layers, ...more };
}

function sampled(of: Drawing, title: string, traces: Traces) {
  return traces.size ? panel(title, [flowLines(of, traces)], {}) : null;
}

function binNote({ run }: Measured, traces: Traces): string {
  if (![...traces.values()].some(({ s }) => s.length)) return "";
  return `bins of ${run.series.stepNs / NS} s`;
}

function flowLines(of: Drawing, traces: Traces, curve: LineLayer["curve"] = "linear"): LineLayer {
  const shown = legendFlows(of);
  const colours = of.colours.shades(shown);
  const lines = shown.flatMap(({ name }, index) => {
    const trace = traces.get(name) ?? { s: [], v: [] };
    return [line(of, name, colours.get(name) as string, trace, dash(index))];
  });
  return { kind: "lines", of: "flows", curve, width: 1.3, opacity: 0.9, lines };
}

function line({ columns, colours }: Drawing, name: string, colour: string, { s, v }: Trace, dashes: number[]): Line {
  const solid = dashes.length === 2 && !dashes[1];
  return { name, ...colours.both(colour), dash: solid ? [] : dashes, s: columns.addTimes(s), v: columns.add(v) };
}

function queue(of: Drawing): Omit<Panel, "name"> | null {
  const { queues, bottleneck } = of.run.description;
  const shown = queues.filter(({ name, under_test }) => under_test || name === bottleneck);
  const all: Traces = new Map(
    shown.map(({ name }) => {
      const { s, v } = queueSamples(of, name, "backlog_packets");
      return [name, { s: s.map((ns) => ns / NS), v }];
    }),
  );
  const traces = downsampled(all, of.points);
  if (!traces.size) return null;
  const largest = Math.max(...[...traces.values()].map(({ v }) => v.reduce((most, each) => Math.max(most, each), 0)));
  const limit = limitPackets(of);
  const drawn = limit && limit.packets <= 3 * Math.max(largest, 1) ? limit : null;
  const top = Math.max(largest, drawn?.packets ?? 0, 1) * 1.18;
  const colours = queueColours(of, [...traces.keys()]);
  const lines = [...traces].map(([name, trace], index) =>
    line(of, name, colours.get(name) as string, trace, dash(index)),
  );
  const { alarm, note } = of.colours.palette;
  const at = (column: string) => of.columns.addTimes(grown(queueSamples(of, bottleneck ?? "", column), of));
  const [drops, marks] = [at("drops_packets"), at("marks_packets")];
  const ticks = (s: Span, colour: string, height: number): Layer => ({
    ...{ kind: "ticks", top: height, ...of.colours.both(colour) },
    s,
  });
  const layers: Layer[] = [
    { kind: "lines", of: "panel", curve: "linear", width: 1, opacity: 1, lines },
    ...(drawn ? [{ kind: "rule", v: drawn.packets, dash: [4, 3], ...of.colours.both(alarm) } as Layer] : []),
    ticks(drops, alarm, 4),
    ticks(marks, note, 10),
  ];
  const several = lines.length > 1;
  return panel("Queue, packets", layers, {
    note: [
      drawn ? `dashed: ${drawn.text}` : "",
      drops[1] ? "red ticks: drops" : "",
      marks[1] ? "grey ticks: marks" : "",
    ]
      .filter(Boolean)
      .join("; "),
    y: { domain: [0, top], zero: true, nice: false, type: "linear" },
    legend: several ? "queue" : null,
    entries: several ? [...colours].map(([name, colour]) => ({ name, ...of.colours.both(colour) })) : [],
  });
}

function queueColours(of: Drawing, queues: string[]): Map<string, string> {
  const [own, { hues, ink }] = [of.colours.shades(groups(of)), of.colours.palette];
  const access = new Map([...own].map(([group, colour]) => [`access-${group}`, colour]));
  const taken = new Set(own.values());
  const free = [
    ink,
    ...hues
      .slice(0, -1)
      .reverse()
      .filter((hue) => !taken.has(hue)),
  ];
  const others = queues.filter((name) => !access.has(name));
  return new Map([...access, ...others.map((name, at) => [name, free[at % free.length] as string] as const)]);
}

function bottleneckOf({ run }: Measured): QueueDescription | undefined {
  return run.description.queues.find(({ name }) => name === run.description.bottleneck);
}

/** The bottleneck's limit in packets, and as a text; a byte limit is divided by the mean queued packet. */
function limitPackets(of: Measured): { packets: number; text: string } | null {
  const entry = bottleneckOf(of);
  if (!entry) return null;
  const [packets, bytes] = ["backlog_packets", "backlog_bytes"].map((column) => queueSamples(of, entry.name, column).v);
  const sum = (values: number[] = []) => values.reduce((total, value) => total + value, 0);
  const written = writtenLimit(entry.qdisc, sum(bytes) / Math.max(sum(packets), 1));
  if (!written) return null;
  const more = written.text.endsWith("B") ? `, ${written.text.replace(/^limit /, "")}` : "";
  return { packets: written.packets, text: `limit ${Math.round(written.packets)} packets${more}` };
}

/** A discipline's limit in packets and as configured. */
export function writtenLimit(qdisc: string, size_bytes: number): { packets: number; text: string } | null {
  const found = /\blimit (\d+)(k?b?)\b/.exec(qdisc);
  if (!found) return null;
  const limit = Number(found[1]) * (found[2]?.startsWith("k") ? 1024 : 1);
  if (!IN_BYTES.includes(qdisc.split(/\s+/)[0] ?? "")) return { packets: limit, text: `limit ${limit}` };
  if (!size_bytes) return null;
  const digits = String(limit).replace(/\B(?=(\d{3})+$)/g, "\u2009");
  return { packets: limit / size_bytes, text: `limit ${digits}\u00a0B` };
}

function bdpSteps(of: Measured): Trace {
  const { columns } = of.run.flows;
  const known = (name: string) => (columns[name] ? [...numbers(columns[name])].filter((value) => value > 0) : []);
  const rtt = known("min_rtt_ns").reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
  const mss = known("mss_bytes").reduce((most, value) => Math.max(most, value), 0);
  if (!mss || !Number.isFinite(rtt)) return { s: [], v: [] };
  return rateSteps(of, rtt / NS / (8 * (mss + HEADERS_BYTES)));
}

/** The bottleneck's rate times a factor, as steps up to the run's end; empty if it has none. */
function rateSteps(of: Measured, factor: number): Trace {
  const rates = bottleneckOf(of)?.rates ?? [];
  if (!rates.length) return { s: [], v: [] };
  const last = rates.at(-1)?.[1] ?? 0;
  return {
    s: [...rates.map(([ns]) => ns / NS), of.duration_s],
    v: [...rates.map(([, rate]) => rate * factor), last * factor],
  };
}

function reference(of: Drawing, steps: Trace, name: string): Layer[] {
  if (!steps.s.length) return [];
  const lines = [line(of, name, of.colours.palette.ink, steps, [5, 3])];
  return [{ kind: "lines", of: "none", curve: "step-after", width: 1.2, opacity: 1, lines }];
}

function states(of: Drawing): Omit<Panel, "name"> | null {
  const { flows, phases } = of.run.description;
  const names = [...new Set(phases.flat().map(([name]) => name))];
  if (!names.length) return null;
  const colours = phaseColours(names, of.colours);
  const least = Math.max(Math.round(((of.duration_s * NS) / of.points) * 2), 1);
  const bands = flows.flatMap(({ name }, index) => bandsOf(of, name, phases[index] ?? [], colours, least));
  const rows = flows.filter((_, index) => phases[index]?.length).map(({ name }) => name);
  const inferred = phases.some((each) => each.some(([, , , isInferred]) => isInferred));
  bands.sort((one, other) => other.spent - one.spent);
  return panel(
    "State",
    bands.map(({ layer }) => layer),
    {
      note: inferred ? "inferred from gains" : "",
      height: Math.max(ROW * (Math.min(flows.length, 30) + 2), 60),
      rows,
      legend: "state",
      entries: [...colours].map(([name, colour]) => ({ name, ...colour })),
    },
  );
}

/** Start and stop in ns. */
type Band = [number, number];

/** A flow's bands, one layer per state; those shorter than a pixel are merged and widened. */
function bandsOf(
  of: Drawing,
  row: string,
  phases: [string, number, number, boolean][],
  colours: Map<string, Coloured>,
  least: number,
): { layer: Layer; spent: number }[] {
  const newBands = () => ({ long: [] as Band[], short: new Map<number, Band>(), spent: 0 });
  const found = new Map<string, ReturnType<typeof newBands>>();
  for (const [phase, start, stop] of phases) {
    const bands = found.get(phase) ?? newBands();
    found.set(phase, bands);
    bands.spent += stop - start;
    if (stop - start >= least) {
      bands.long.push([start, stop]);
      continue;
    }
    const pixel = Math.floor(start / least);
    const [from, to] = bands.short.get(pixel) ?? [start, start + least];
    bands.short.set(pixel, [from, Math.max(to, stop)]);
  }
  return [...found].map(([phase, { long, short, spent }]) => {
    const bands = [...long, ...short.values()];
    const [s, e] = [0, 1].map((end) => of.columns.addTimes(bands.map((band) => (band[end] as number) / NS)));
    const layer = { kind: "bands", row, phase, ...(colours.get(phase) as Coloured), s, e } as Layer;
    return { spent, layer };
  });
}

function phaseColours(names: string[], colours: Colours): Map<string, Coloured> {
  const { states, pale } = colours.palette;
  const known = Object.entries(states).filter(([name]) => names.includes(name));
  const free = pale.filter((colour) => !known.some(([, taken]) => taken === colour));
  const others = names.filter((name) => !(name in states)).map((name, at) => [name, free[at % free.length] as string]);
  return new Map([...known, ...others].map(([name, colour]) => [name as string, colours.both(colour as string)]));
}
