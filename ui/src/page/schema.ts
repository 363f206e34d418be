// What the schema of experiments says about a place of the text: the meaning of a key, its values, the keys of a table.
// Pure functions; `Editor` shows them as completion and hover help.

/** A JSON schema, as far as experiments use it. */
export interface Schema {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  examples?: unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  $ref?: string;
  definitions?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
}

const HEADER = /^\s*\[\[?\s*([\w."-]+)\s*\]\]?/;
const KEY = /^\s*([\w."-]+)\s*=/;

/** The dotted path of the table around a line, and of the key that the line sets; lines count from 0. */
export function placeOf(lines: readonly string[], line: number): { table: string[]; key: string | null } {
  const header = lines.slice(0, line + 1).findLastIndex((text) => HEADER.test(text));
  const table = parts(HEADER.exec(lines[header] ?? "")?.[1] ?? "");
  const key = header === line ? null : (KEY.exec(lines[line] ?? "")?.[1] ?? null);
  return { table, key };
}

/** The schema of a path; null if the schema has no such key. */
export function schemaAt(root: Schema, path: readonly string[]): Schema | null {
  let found: Schema[] = [root];
  for (const name of path) {
    found = found.flatMap((each) => variants(root, each)).flatMap((each) => child(each, name));
    if (!found.length) return null;
  }
  const all = found.flatMap((each) => variants(root, each));
  return all.length ? merged([...found, ...all]) : null;
}

/** The keys of a table, with their schemas. */
export function keysOf(root: Schema, path: readonly string[]): [string, Schema][] {
  const table = schemaAt(root, path);
  return Object.entries(table?.properties ?? {}).map(([name]) => [name, schemaAt(root, [...path, name]) ?? {}]);
}

/** Values that a key can have: its choices, or examples. */
export function valuesOf(schema: Schema): string[] {
  const known = [...(schema.enum ?? []), ...(schema.examples ?? [])].filter((each) => typeof each === "string");
  return [...new Set(known as string[])];
}

function parts(name: string): string[] {
  return name ? name.split(".").map((part) => part.replaceAll('"', "")) : [];
}

/** A schema's alternatives, with its references resolved; of a list the elements. */
function variants(root: Schema, schema: Schema, depth = 0): Schema[] {
  if (depth > 8) return [];
  const resolved = schema.$ref ? root.definitions?.[schema.$ref.split("/").at(-1) ?? ""] : schema;
  if (!resolved) return [];
  const below = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? []), ...(resolved.allOf ?? [])];
  const elements = resolved.items ? [resolved.items] : [];
  return [resolved, ...[...below, ...elements].flatMap((each) => variants(root, each, depth + 1))];
}

function child(schema: Schema, name: string): Schema[] {
  const own = schema.properties?.[name];
  const other = schema.additionalProperties;
  return own ? [own] : typeof other === "object" ? [other] : [];
}

function merged(all: readonly Schema[]): Schema {
  const description = all.find((each) => each.description)?.description;
  return {
    ...(description ? { description } : {}),
    enum: all.flatMap((each) => each.enum ?? []),
    examples: all.flatMap((each) => each.examples ?? []),
    properties: Object.assign({}, ...all.map((each) => each.properties ?? {})),
  };
}
