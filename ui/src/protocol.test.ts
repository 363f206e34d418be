import { expect, test } from "vitest";
import { parseFigure } from "./protocol";

function packed(header: unknown, numbers: number[]): ArrayBuffer {
  let text = JSON.stringify(header);
  text += " ".repeat((8 - ((text.length + 4) % 8)) % 8);
  const bytes = new ArrayBuffer(4 + text.length + 8 * numbers.length);
  new DataView(bytes).setUint32(0, text.length, true);
  new Uint8Array(bytes, 4, text.length).set(new TextEncoder().encode(text));
  new Float64Array(bytes, 4 + text.length).set(numbers);
  return bytes;
}

test("a figure's columns are the numbers after its header", () => {
  const header = { toml: "a = 1", case: null, problem: null, panels: [], duration_s: 1 };
  const { state, figureData } = parseFigure(packed(header, [1, 2, 3, 4]));
  expect(state).toEqual({ toml: "a = 1", controls: null, problem: null });
  expect([...(figureData?.column([1, 2]) ?? [])]).toEqual([2, 3]);
});

test("a response without panels has no figure", () => {
  const problem = { text: "not TOML", key: "", right: "", line: 3 };
  expect(parseFigure(packed({ toml: "[", case: null, problem }, []))).toEqual({
    state: { toml: "[", controls: null, problem },
    figureData: null,
  });
});
