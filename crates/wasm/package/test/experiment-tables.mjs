// The tables of an experiment as text, by the module itself: in Node.js and in browsers.

/** One text per table of each case, or what is wrong; `read` gives the files that the experiment names. */
export function experimentTables({ parse, Simulation }, text, read, seed, slices) {
  return JSON.parse(parse(text)).cases.flatMap(({ name, experiment }) => {
    const { path } = experiment;
    const names = [path?.bottleneck?.trace, path?.tc?.script].filter(Boolean);
    const files = JSON.stringify(Object.fromEntries(names.map((file) => [file, read(file)])));
    try {
      const simulation = new Simulation(text, name, BigInt(seed), files, 2 ** 31);
      for (let slice = 0; slice < Number(slices) && !simulation.advance(); slice++);
      const run = simulation.finish();
      return [run.flows(), run.queues(), run.probes()].map((table) => table.text());
    } catch (error) {
      if (typeof error !== "string") throw error;
      return [JSON.parse(error)[0].problem];
    }
  });
}
