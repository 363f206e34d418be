// Measures the module: speed.mjs PACKAGE FILE SEED RUNS prints the lowest time of a run of the first case, in seconds.
// The counterpart of crates/dumbbell/examples/speed.rs: the time of this thread on a processor.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [built, file, seed, runs] = process.argv.slice(2);
const { initSync, parse, Simulation } = await import(pathToFileURL(resolve(built, "dumbbell_wasm.js")));
initSync({ module: readFileSync(join(built, "dumbbell_wasm_bg.wasm")) });
const text = readFileSync(file, "utf8");
const [{ name }] = JSON.parse(parse(text)).cases;
const seconds = () => Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e9;
let least = Number.POSITIVE_INFINITY;
for (let run = 0; run < Number(runs); run++) {
  const began = seconds();
  const simulation = new Simulation(text, name, BigInt(seed), "{}", 2 ** 31);
  while (!simulation.advance());
  simulation.finish().free();
  least = Math.min(least, seconds() - began);
}
console.log(least.toFixed(3));
