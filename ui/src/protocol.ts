// Requests to the server. A figure is a header in JSON, followed by numbers (`plots/panels.py`). Without a server,
// `local` answers: the page then runs the simulator in a Web Worker.

import { controlsOf } from "./local/controls";
import type { Case, Drawn, Edit, FigureData, Span, Start, State } from "./types";

/** The maximum of points per line. */
export const POINTS = 900;

/** A request for the figures of a text. */
export interface TextRequest {
  toml: string;
  seed: number;
  panels: string[];
  points: number;
  /** Patterns of metric names. */
  numbers: string[];
  /** Numeric columns of the first flow's samples. */
  samples?: string[];
}

/** A request for the figures of a text after these edits. */
export interface FigureRequest extends TextRequest {
  edits: Edit[];
}

export interface FigureResponse {
  state: State;
  figureData: FigureData | null;
}

/** A request failed. The message is for the user. */
export class RequestError extends Error {}

let started: Start | null = null;

export async function start(): Promise<Start> {
  started = (await (await checked(await request("api/start"))).json()) as Start;
  return started;
}

/** What the page began with, if no server is behind it. */
export function alone(): Start | null {
  return started?.server === false ? started : null;
}

/** What needs a server says so. */
export function needsServer(what: string): string {
  return `${what} needs Dumbbell on your computer: install it and run dumbbell ui.`;
}

/** Edit the text, and request its figures; `signal` cancels. */
export async function figureData({ edits, ...body }: FigureRequest, signal: AbortSignal): Promise<FigureResponse> {
  if (edits.length) {
    const { applyEdits, problemOfEdit } = await import("./local/text");
    try {
      body.toml = applyEdits(body.toml, edits);
    } catch (error) {
      return { state: { toml: body.toml, controls: null, problem: problemOfEdit(error) }, figureData: null };
    }
  }
  const own = alone();
  if (own) return (await import("./local/figures")).figuresOf(own, body, signal);
  return parseFigure(await (await checked(await post("api/figures", body, signal))).arrayBuffer());
}

export function parseFigure(bytes: ArrayBuffer): FigureResponse {
  const { header, column } = parseResponse<Omit<State, "controls"> & { case: Case | null } & Partial<Drawn>>(bytes);
  const { toml, case: shown, problem, ...drawn } = header;
  const controls = shown && controlsOf(shown);
  return { state: { toml, controls, problem }, figureData: drawn.panels ? { ...(drawn as Drawn), column } : null };
}

/** Parse a response: its header, and a function that returns the column of a span. */
export function parseResponse<Header>(bytes: ArrayBuffer): { header: Header; column(span: Span): Float64Array } {
  const length = new DataView(bytes).getUint32(0, true);
  const header: Header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  const numbers = new Float64Array(bytes, 4 + length);
  return { header, column: ([offset, count]) => numbers.subarray(offset, offset + count) };
}

export function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body), signal: signal ?? null });
}

/** Return a successful response. Throws `RequestError`. */
export async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const reply = await response.json().catch(() => ({}));
  throw new RequestError(reply.error || `the server responded with status ${response.status}`);
}

export async function request(path: string, options?: RequestInit): Promise<Response> {
  try {
    return await fetch(path, options);
  } catch {
    throw new RequestError("the server doesn't respond: is dumbbell ui still running?");
  }
}
