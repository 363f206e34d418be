// The worker: one request at a time, in slices so that it can report its progress.

import init, { initSync, parse, type Run, Simulation } from "./dumbbell_wasm.js";
import type { Answer, Mistake, Request } from "./messages.js";
import { buffers, copied } from "./tables.js";
import type { Port } from "./threads.js";

const { ownPort, readFile } = await import("./threads.js");
const port: Port = await ownPort();
const url = new URL("dumbbell_wasm_bg.wasm", import.meta.url);
// Node's fetch reads no files.
if (url.protocol === "file:") initSync({ module: (await readFile(url)) as BufferSource });
else await init({ module_or_path: url });

port.listen((message) => {
  try {
    done(message as Request);
  } catch (error) {
    // The module throws texts: mistakes in JSON. Anything else is its end: it has no memory left, or has a fault.
    if (typeof error === "string") answer({ is: "refused", mistakes: JSON.parse(error) as Mistake[] });
    else answer({ is: "failed", problem: `${error}` });
  }
});

function done(request: Request): void {
  if (request.do === "parse") return answer({ is: "done", result: parse(request.toml) });
  const { toml, seed, files, mostBytes } = request;
  const simulation =
    request.do === "run"
      ? new Simulation(toml, request.case, seed, files, mostBytes)
      : Simulation.recording(toml, request.case, seed, files, mostBytes, request.from, request.to, request.mostRows);
  const result = finished(simulation);
  if (request.do === "run") {
    const [flows, queues, probes] = [copied(result.flows()), copied(result.queues()), copied(result.probes())];
    const moved = [flows, queues, probes].flatMap(buffers);
    answer({ is: "done", result: { metrics: result.metrics(), flows, queues, probes } }, moved);
  } else {
    const recorded = result.packets();
    if (!recorded) throw new Error("packets were not recorded");
    const packets = copied(recorded);
    answer({ is: "done", result: { packets, leftOut: result.left_out } }, buffers(packets));
  }
  result.free();
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
