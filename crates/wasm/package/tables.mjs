// Prints the tables of every case of an experiment as crates/dumbbell/examples/tables.rs does: tables.mjs GLUE FILE SEED.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const [glue, file, seed] = process.argv.slice(2);
const { initSync, parse, Simulation } = await import(pathToFileURL(join(glue, "dumbbell_wasm.js")));
initSync({ module: readFileSync(join(glue, "dumbbell_wasm_bg.wasm")) });
const text = readFileSync(file, "utf8");
const read = JSON.parse(parse(text));
if (read.errors) throw new Error(JSON.stringify(read.errors));
for (const { name, experiment } of read.cases) {
  const named = [experiment.path?.bottleneck?.trace, experiment.path?.tc?.script].filter(Boolean);
  const files = Object.fromEntries(named.map((one) => [one, readFileSync(join(dirname(file), one), "utf8")]));
  const lines = [];
  try {
    const run = simulate(text, name, files);
    for (const table of [run.flows(), run.queues(), run.probes()]) lines.push(table.text());
  } catch (error) {
    if (typeof error !== "string") throw error;
    lines.push(JSON.parse(error)[0].problem);
  }
  process.stdout.write(`${lines.join("\n")}\n`);
}

function simulate(text, name, files) {
  const simulation = new Simulation(text, name, BigInt(seed), JSON.stringify(files), 2 ** 30);
  while (!simulation.advance()) {}
  return simulation.finish();
}
