// Downloads without a server: the experiment, the shown figure, the tables of its run.

import { strToU8, zipSync } from "fflate";
import { needsServer, RequestError } from "../protocol";
import type { FigureData, Start } from "../types";
import { runOf } from "./figures";
import { numbers, type Table } from "./simulator";
import { pngOf, svgOf } from "./svg";

interface Shown {
  toml: string;
  seed: number;
  title: string;
  figure: FigureData | null;
}

export interface Saved {
  name: string;
  content: Blob;
}

/** Make a file. Throws `RequestError` for a kind that only the server makes. */
export async function fileOf(start: Start, what: string, shown: Shown): Promise<Saved> {
  const [kind, form = ""] = what.split(".");
  const stem = `${stemOf(shown.title)}-seed${shown.seed}`;
  if (what === "experiment.toml") return { name: `${stem}.toml`, content: new Blob([shown.toml]) };
  if (what === "data.csv") {
    const folder = `${stem}-csv`;
    return { name: `${folder}.zip`, content: new Blob([await tablesOf(start, folder, shown)]) };
  }
  if (kind !== "figure" || form === "pdf" || !shown.figure) throw new RequestError(needsServer("This download"));
  const svg = svgOf(shown.figure, shown.title);
  return { name: `${stem}.${form}`, content: form === "png" ? await pngOf(svg) : new Blob([svg]) };
}

function stemOf(title: string): string {
  const plain = title.toLowerCase().replace(/[^a-z0-9.]+/g, "-");
  return plain.slice(0, 60).replace(/^[-.]+|[-.]+$/g, "") || "experiment";
}

async function tablesOf(start: Start, folder: string, { toml, seed }: Shown) {
  const { flows, queues, probes } = await runOf(start, toml, seed);
  const files = Object.entries({ flows, queues, probes }).map(([name, table]) => [
    `${folder}/${name}.csv`,
    strToU8(csvOf(table)),
  ]);
  return zipSync(Object.fromEntries(files), { mtime: "1980-01-01" }) as Uint8Array<ArrayBuffer>;
}

/** A table as CSV; an unknown value is an empty cell. */
function csvOf({ rows, columns }: Table): string {
  const cells = Object.values(columns).map((column) => {
    const values = numbers(column);
    return (row: number) => {
      if (Number.isNaN(values[row])) return "";
      return column.names ? cell(column.names[values[row] as number] ?? "") : String(column.values[row]);
    };
  });
  const lines = Array.from({ length: rows }, (_, row) => cells.map((each) => each(row)).join(","));
  return `${[Object.keys(columns).join(","), ...lines].join("\n")}\n`;
}

/** A name as a cell: quoted if needed, and never a formula of a spreadsheet. */
function cell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
