import { expect, test } from "vitest";
import { applyEdits, problemOfEdit, TextError } from "./text";

const TEXT = `# first line
duration = "30s" # long

[path]
rtt = "40ms"   # there and back

[path.bottleneck]
rate = "50mbit"

[[flows]]
cc = "bbr"

# the other
[[flows]]
cc = "cubic"
`;

test("an edit changes its value and keeps every other character", () => {
  const edited = applyEdits(TEXT, [{ key: "path.rtt", value: "20ms" }]);
  expect(edited).toBe(TEXT.replace("40ms", "20ms"));
});

test("edits set, add and remove keys and tables", () => {
  const edited = applyEdits(TEXT, [
    { key: "path.loss", value: "1%" },
    { do: "add", key: "flows", value: { cc: "reno" } },
    { key: "flows.1.start", value: "5s" },
    { do: "remove", key: "flows.0" },
  ]);
  expect(edited).toContain('loss = "1%"');
  expect(edited).toContain('cc = "cubic"\nstart = "5s"');
  expect(edited).toContain('[[flows]]\ncc = "reno"');
  expect(edited).not.toContain("bbr");
  expect(applyEdits(edited, [{ key: "path.loss", value: null }])).not.toContain("loss");
});

test("a list of inline tables stays one", () => {
  const inline = 'flows = [{ cc = "bbr" }]\n';
  const edited = applyEdits(inline, [{ do: "add", key: "flows", value: { cc: "cubic" } }]);
  expect(edited).toMatch(/^flows = \[.*bbr.*cubic.*\]\n$/);
});

test("a missing table is created", () => {
  expect(applyEdits('duration = "1s"\n', [{ key: "path.rtt", value: "1ms" }])).toMatch(/^\[path\]\nrtt = "1ms"$/m);
});

test("a text that is no TOML is an error with its line", () => {
  const broken = () => applyEdits("a = 1\n[[", [{ key: "path.rtt", value: "1ms" }]);
  expect(broken).toThrow();
  try {
    broken();
  } catch (error) {
    expect(problemOfEdit(error).line).toBe(2);
  }
});

test.each(["flows.7.cc", "flows.x.cc", "title.deeper", "duration.0"])("%s is no key of the text", (key) => {
  const text = `title = "A"\n${TEXT}`;
  expect(() => applyEdits(text, [{ key, value: "1s" }])).toThrow(TextError);
});

test("a key that the text can't contain is an error", () => {
  expect(() => applyEdits(TEXT, [{ key: "duration.more.deep", value: 1 }])).toThrow(TextError);
});
