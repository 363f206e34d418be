// Tables of a result: columns as typed arrays.

import type { Table as Inner } from "./dumbbell_wasm.js";

/** A column; `values` of rows that are not known are 0. */
export interface Column {
  /** Integers of 64 bits, of 32 bits, of 8 bits; floats; or indices into `names`. */
  values: BigInt64Array | Uint32Array | Uint8Array | Float64Array;
  /** A bit per row, least significant first: whether its value is known. Missing: all are. */
  known?: Uint8Array;
  /** The texts of a column of names. */
  names?: string[];
}

/** Columns of equal length; the documentation of results describes them. */
export interface Table {
  rows: number;
  columns: Record<string, Column>;
}

/** A column's values as numbers, NaN where a value is not known. Integers above 2^53 are rounded. */
export function numbers(column: Column): Float64Array {
  const { values, known } = column;
  return Float64Array.from({ length: values.length }, (_, row) =>
    known && !((known[row >> 3] ?? 0) & (1 << (row & 7))) ? Number.NaN : Number(values[row]),
  );
}

/** Copies a table out of the module's memory, and frees it there. */
export function copied(table: Inner): Table {
  const columns = Object.fromEntries(table.columns().map((name) => [name, column(table, name)]));
  const result = { rows: table.rows, columns };
  table.free();
  return result;
}

function column(table: Inner, name: string): Column {
  const values = table.i64(name) ?? table.u32(name) ?? table.u8(name) ?? table.f64(name);
  if (!values) throw new Error(`a column of an unknown kind: ${name}`);
  const [known, names] = [table.known(name), table.names(name)];
  return { values, ...(known && { known }), ...(names && { names }) };
}

/** The memory of a table, to hand over to another thread without a copy. */
export function buffers(table: Table): ArrayBuffer[] {
  const arrays = Object.values(table.columns).flatMap(({ values, known }) => (known ? [values, known] : [values]));
  return arrays.map((array) => array.buffer as ArrayBuffer);
}
