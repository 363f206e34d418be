// Writes the tables of experiments as text: tables.mjs PACKAGE FOLDER SEED SLICES FILE...
// The counterpart of crates/dumbbell/examples/tables.rs, line by line.

import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { experimentTables } from "./experiment-tables.mjs";

const [built, folder, seed, slices, ...files] = process.argv.slice(2);
const module = await import(pathToFileURL(resolve(built, "dumbbell_wasm.js")));
module.initSync({ module: readFileSync(join(built, "dumbbell_wasm_bg.wasm")) });

for (const file of files) {
  const near = (name) => readFileSync(join(dirname(file), name), "utf8");
  const tables = experimentTables(module, readFileSync(file, "utf8"), near, seed, slices);
  writeFileSync(join(folder, `${basename(file, ".toml")}.txt`), `${tables.join("\n\n")}\n`);
}
