// Writes the tables of experiments as Firefox computes them: firefox.mjs PROGRAM ADDRESS FOLDER SEED SLICES FILE...
// ADDRESS serves the checkout. WebDriver BiDi drives the browser; Playwright needs a Firefox of its own.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import puppeteer from "puppeteer-core";

const [executablePath, address, folder, seed, slices, ...files] = process.argv.slice(2);
const NAMED = [".trace", ".sh"];

async function tablesIn(page, file) {
  const names = readdirSync(dirname(file)).filter((name) => NAMED.includes(extname(name)));
  const near = Object.fromEntries(names.map((name) => [name, readFileSync(join(dirname(file), name), "utf8")]));
  await page.goto(`${address}/LICENSE`); // A new page, because the memory of a module never shrinks.
  const inPage = async (text, texts, seed, slices) => {
    const module = await import("/target/npm/dumbbell/dumbbell_wasm.js");
    await module.default({ module_or_path: "/target/npm/dumbbell/dumbbell_wasm_bg.wasm" });
    const { experimentTables } = await import("/crates/wasm/package/test/experiment-tables.mjs");
    return experimentTables(module, text, (name) => texts[name], seed, slices);
  };
  return await page.evaluate(inPage, readFileSync(file, "utf8"), near, seed, slices);
}

const browser = await puppeteer.launch({
  ...{ browser: "firefox", executablePath, headless: true },
  protocolTimeout: 600_000,
});
try {
  const page = await browser.newPage();
  for (const file of files) {
    const tables = await tablesIn(page, file);
    writeFileSync(join(folder, `${basename(file, ".toml")}.txt`), `${tables.join("\n\n")}\n`);
  }
} finally {
  await browser.close();
}
