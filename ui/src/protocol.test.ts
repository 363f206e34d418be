import { expect, test } from "vitest";
import { unpacked } from "./protocol";

function packed(header: unknown, numbers: number[]): ArrayBuffer {
  let said = JSON.stringify(header);
  said += " ".repeat((8 - ((said.length + 4) % 8)) % 8);
  const bytes = new ArrayBuffer(4 + said.length + 8 * numbers.length);
  new DataView(bytes).setUint32(0, said.length, true);
  new Uint8Array(bytes, 4, said.length).set(new TextEncoder().encode(said));
  new Float64Array(bytes, 4 + said.length).set(numbers);
  return bytes;
}

test("a picture's columns are the numbers behind its header", () => {
  const header = { toml: "a = 1", controls: null, problem: null, panels: [], duration_s: 1 };
  const { state, figureData } = unpacked(packed(header, [1, 2, 3, 4]));
  expect(state).toEqual({ toml: "a = 1", controls: null, problem: null });
  expect([...(figureData?.column([1, 2]) ?? [])]).toEqual([2, 3]);
});

test("an answer without panels has no picture", () => {
  const problem = { text: "not TOML", key: "", right: "", line: 3 };
  expect(unpacked(packed({ toml: "[", controls: null, problem }, []))).toEqual({
    state: { toml: "[", controls: null, problem },
    figureData: null,
  });
});
