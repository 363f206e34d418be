// Measures how long a cancelled run goes on: cancel.mjs PACKAGE TIMES prints the longest time until its thread has ended, in ms.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

const [built, times] = process.argv.slice(2);
const { run } = await import(pathToFileURL(resolve(built, "index.js")));

let ended;
const { terminate } = Worker.prototype;
Worker.prototype.terminate = function () {
  ended = terminate.call(this);
  return ended;
};

const text = `duration = "600s"\n[path]\nrtt = "20ms"\n[path.bottleneck]\nrate = "100mbit"\n[[flows]]\ncc = "bbr"\n`;
let longest = 0;
for (let time = 0; time < Number(times); time++) {
  const controller = new AbortController();
  let began = 0;
  const onProgress = () => {
    began ||= performance.now();
    controller.abort();
  };
  await run(text, { signal: controller.signal, onProgress }).catch(() => ended);
  longest = Math.max(longest, performance.now() - began);
}
console.log(longest.toFixed(1));
