// Results, sweeps and experiment files that are open; logs that are imported; what of them goes on the screen.

import { signal } from "@preact/signals";
import { write } from "../live";
import { answered, post, request, Unanswered } from "../protocol";
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

/** The report of a thing, or of one run that a sweep kept. */
export interface Read {
  thing: Thing;
  run?: SweptRun | undefined;
}

export const things = signal<Thing[]>([]);
/** The folder below which a path may be typed. */
export const below = signal("");
/** What went wrong last. */
export const problemText = signal("");
/** What the dialog shows: the list, the report of a thing, or nothing. */
export const shown = signal<"list" | Read | null>(null);

const TEXT_MAX = 1_000_000;

export function list(): Promise<void> {
  return safely(async () => {
    const told = await (await answered(await request("api/results"))).json();
    below.value = told.below;
    things.value = told.things;
  });
}

export function add(path: string): Promise<void> {
  return safely(async () => {
    await answered(await post("api/results", { path }));
    await list();
  });
}

/** An experiment goes on the screen, anything else is read as a log. */
export async function take(files: Iterable<File>): Promise<void> {
  for (const file of files) await (file.name.endsWith(".toml") ? experiment(file) : log(file));
}

/** Put its experiment on the screen; of a sweep, that of one run. */
export function play(thing: Thing, run?: SweptRun): Promise<void> {
  return safely(async () => {
    const told = await (await answered(await request(`api/results/${thing.name}/experiment${query(run)}`))).json();
    seed.value = told.seed;
    write(told.toml);
    shown.value = null;
  });
}

export function query(run?: SweptRun): string {
  return run ? `?point=${run.point}&seed=${run.seed}` : "";
}

async function experiment(file: File): Promise<void> {
  if (file.size > TEXT_MAX) {
    problemText.value = `${file.name}: too long for an experiment`;
    return;
  }
  write(await file.text());
}

function log(file: File): Promise<void> {
  return safely(async () => {
    const headers = { "Content-Type": "application/octet-stream" };
    const how = { method: "POST", headers, body: file };
    const told = await (await answered(await request(`api/import?name=${encodeURIComponent(file.name)}`, how))).json();
    await list();
    shown.value = told.things[0] ? { thing: told.things[0] } : "list";
  });
}

async function safely(work: () => Promise<void>): Promise<void> {
  problemText.value = "";
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    problemText.value = error.message;
    if (shown.value === null) shown.value = "list";
  }
}
