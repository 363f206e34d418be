// Asking the server. A figure is a header in JSON and the numbers behind it (`plots/panel_data.py`).

import type { Drawn, Edit, FigureData, Span, Start, State } from "./types";

/** Of a line on the screen. */
export const POINTS = 900;

export interface FigureRequest {
  toml: string;
  edits: Edit[];
  seed: number;
  panels: string[];
  points: number;
  /** Patterns of the numbers' names. */
  numbers: string[];
}

export interface Answer {
  state: State;
  figureData: FigureData | null;
}

/** Something between us and the server went wrong; its text is for people. */
export class Unanswered extends Error {}

export async function start(): Promise<Start> {
  return (await answered(await request("api/start"))).json();
}

/** `gone`: no one waits for the answer any more. */
export async function figureData(asked: FigureRequest, gone: AbortSignal): Promise<Answer> {
  return unpacked(await (await answered(await post("api/figures", asked, gone))).arrayBuffer());
}

export function unpacked(bytes: ArrayBuffer): Answer {
  const { header, column } = opened<State & Partial<Drawn>>(bytes);
  const { toml, controls, problem, ...drawn } = header;
  return { state: { toml, controls, problem }, figureData: drawn.panels ? { ...(drawn as Drawn), column } : null };
}

/** A header, and what its spans mean. */
export function opened<Header>(bytes: ArrayBuffer): { header: Header; column(span: Span): Float64Array } {
  const length = new DataView(bytes).getUint32(0, true);
  const header: Header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  const numbers = new Float64Array(bytes, 4 + length);
  return { header, column: ([offset, count]) => numbers.subarray(offset, offset + count) };
}

export function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body), signal: signal ?? null });
}

export async function answered(response: Response): Promise<Response> {
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Unanswered(said.error || `the server answered ${response.status}`);
}

export async function request(path: string, how?: RequestInit): Promise<Response> {
  try {
    return await fetch(path, how);
  } catch {
    throw new Unanswered("the server doesn't answer: is dumbbell ui still running?");
  }
}
