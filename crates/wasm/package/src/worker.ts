// The worker: one request at a time, in slices so that it can report its progress.

import init, { initSync, parse, type Run, Simulation } from "./dumbbell_wasm.js";
import type { Answer, Figure, FigureOptions, Mistake, Request, Series } from "./messages.js";
import { buffers, copied } from "./tables.js";
import { ownPort, readFile } from "./threads.js";

const port = ownPort();
// Browsers deliver messages as soon as this script has run, so it listens before the module is there.
const ready = load();
port.listen((message) => void ready.then(() => done(message as Request)).catch(failed));

async function load(): Promise<void> {
  const url = new URL("dumbbell_wasm_bg.wasm", import.meta.url);
  // Node's fetch reads no files.
  if (url.protocol === "file:") initSync({ module: readFile(url) });
  else await init({ module_or_path: url });
}

function failed(error: unknown): void {
  // The module throws texts: mistakes in JSON. Anything else is its end: it has no memory left, or has a fault.
  if (typeof error === "string") answer({ is: "refused", mistakes: JSON.parse(error) as Mistake[] });
  else answer({ is: "failed", problem: `${error}` });
}

function done(request: Request): void {
  if (request.do === "parse") {
    answer({ is: "done", result: parse(request.toml) });
    return;
  }
  const { toml, seed, files, mostBytes } = request;
  const simulation =
    request.do === "run"
      ? new Simulation(toml, request.case, seed, files, mostBytes)
      : Simulation.recording(toml, request.case, seed, files, mostBytes, request.from, request.to, request.mostRows);
  const result = finished(simulation);
  if (request.do === "run") {
    const [flows, queues, probes] = [copied(result.flows()), copied(result.queues()), copied(result.probes())];
    const figure = request.figure && figureOf(result, request.figure);
    const moved = [...[flows, queues, probes].flatMap(buffers), ...(figure ? [figure.numbers.buffer as ArrayBuffer] : [])];
    const [metrics, description] = [result.metrics(), result.description()];
    const stepNs = request.bins ? result.step_ns(request.bins) : request.stepNs;
    const step = stepNs && { series: seriesOf(result, stepNs, JSON.parse(description).flows.length) };
    answer({ is: "done", result: { metrics, description, ...step, ...(figure && { figure }), flows, queues, probes } }, moved);
  } else {
    const recorded = result.packets();
    if (!recorded) throw new Error("packets were not recorded");
    const packets = copied(recorded);
    answer({ is: "done", result: { packets, leftOut: result.left_out, limits: JSON.parse(result.limits()) } }, buffers(packets));
  }
  result.free();
}

/** Points of a line, two for each pixel of a wide figure. */
const POINTS = 1400;

function figureOf(result: Run, { panels, points = POINTS, samples = [] }: FigureOptions): Figure {
  const figure = result.figure(panels, points, samples);
  const found = { ...JSON.parse(figure.description()), numbers: figure.numbers() };
  figure.free();
  return found;
}

function seriesOf(result: Run, stepNs: number, flows: number): Series {
  const numbers = result.series(stepNs);
  const bins = flows ? numbers.length / flows / 2 : 0;
  const bySeries = (index: number) => numbers.slice(index * bins, (index + 1) * bins);
  const all = Array.from({ length: 2 * flows }, (_, index) => bySeries(index));
  return { stepNs, goodput: all.slice(0, flows), retransmits: all.slice(flows) };
}

function finished(simulation: Simulation): Run {
  try {
    while (!simulation.advance()) answer({ is: "progress", progress: { seconds: simulation.seconds } });
  } catch (error) {
    if (typeof error === "string") simulation.free();
    throw error;
  }
  return simulation.finish();
}

function answer(message: Answer, moved: ArrayBuffer[] = []): void {
  port.post(message, moved);
}
