// Writes the tables of experiments as text: tables.mjs PACKAGE FOLDER SEED SLICES FILE...
// The counterpart of crates/dumbbell/examples/tables.rs, line by line.

import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [built, folder, seed, slices, ...files] = process.argv.slice(2);
const { initSync, parse, Simulation } = await import(pathToFileURL(resolve(built, "dumbbell_wasm.js")));
initSync({ module: readFileSync(join(built, "dumbbell_wasm_bg.wasm")) });

for (const file of files) {
  const text = readFileSync(file, "utf8");
  const lines = [];
  for (const { name, experiment } of JSON.parse(parse(text)).cases)
    lines.push(...tables(text, name, near(file, experiment)));
  writeFileSync(join(folder, `${basename(file, ".toml")}.txt`), `${lines.join("\n\n")}\n`);
}

/** The files that an experiment names, as JSON. */
function near(file, { path }) {
  const names = [path?.bottleneck?.trace, path?.tc?.script].filter(Boolean);
  return JSON.stringify(
    Object.fromEntries(names.map((name) => [name, readFileSync(join(dirname(file), name), "utf8")])),
  );
}

function tables(text, name, files) {
  try {
    const simulation = new Simulation(text, name, BigInt(seed), files, 2 ** 31);
    for (let slice = 0; slice < Number(slices) && !simulation.advance(); slice++);
    const run = simulation.finish();
    return [run.flows(), run.queues(), run.probes()].map((table) => table.text());
  } catch (error) {
    if (typeof error !== "string") throw error;
    return [JSON.parse(error)[0].problem];
  }
}
