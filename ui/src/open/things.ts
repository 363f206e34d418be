// Open results, sweeps and experiment files; importing logs; playing their experiments.

import { signal } from "@preact/signals";
import { write } from "../live";
import { alone, checked, needsServer, post, RequestError, request } from "../protocol";
import { seed } from "../state";

export interface Thing {
  name: string;
  kind: "run" | "sweep" | "experiment";
  title: string;
  path: string;
  about: string;
  playable: boolean;
}

/** A run of a sweep. */
export interface SweptRun {
  point: number;
  seed: number;
}

/** The report of a thing, or of one kept run of a sweep. */
export interface OpenReport {
  thing: Thing;
  run?: SweptRun | undefined;
}

export const things = signal<Thing[]>([]);
/** The folder below which a path may be typed. */
export const below = signal("");
/** The last error. */
export const problemText = signal("");
/** The content of the dialog: the list or a report; null: closed. */
export const shown = signal<"list" | OpenReport | null>(null);

const TEXT_MAX = 1_000_000;

export function list(): Promise<void> {
  return reportErrors(async () => {
    if (alone()) return;
    const reply = await (await checked(await request("api/results"))).json();
    below.value = reply.below;
    things.value = reply.things;
  });
}

export function add(path: string): Promise<void> {
  return reportErrors(async () => {
    await checked(await post("api/results", { path }));
    await list();
  });
}

/** Show an experiment file; import any other file as a log. */
export async function importFiles(files: Iterable<File>): Promise<void> {
  for (const file of files) await (file.name.endsWith(".toml") ? showExperiment(file) : importLog(file));
}

/** Show its experiment; of a sweep, that of one run. */
export function play(thing: Thing, run?: SweptRun): Promise<void> {
  return reportErrors(async () => {
    const reply = await (await checked(await request(`api/results/${thing.name}/experiment${query(run)}`))).json();
    seed.value = reply.seed;
    write(reply.toml);
    shown.value = null;
  });
}

export function query(run?: SweptRun): string {
  return run ? `?point=${run.point}&seed=${run.seed}` : "";
}

async function showExperiment(file: File): Promise<void> {
  if (file.size > TEXT_MAX) {
    problemText.value = `${file.name}: too large for an experiment`;
    return;
  }
  write(await file.text());
}

function importLog(file: File): Promise<void> {
  return reportErrors(async () => {
    if (alone()) throw new RequestError(needsServer("To import a log"));
    const headers = { "Content-Type": "application/octet-stream" };
    const options = { method: "POST", headers, body: file };
    const reply = await (
      await checked(await request(`api/import?name=${encodeURIComponent(file.name)}`, options))
    ).json();
    await list();
    shown.value = reply.things[0] ? { thing: reply.things[0] } : "list";
  });
}

async function reportErrors(work: () => Promise<void>): Promise<void> {
  problemText.value = "";
  try {
    await work();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    problemText.value = error.message;
    if (shown.value === null) shown.value = "list";
  }
}
