import { expect, test } from "vitest";
import { BrokenLink, linkFragment, parseLink, scenarioOf } from "./link";

const TEXT = 'title = "Ü → 东, # no comment"\n\n[path]\nrtt = "40ms"  # + / =\n';

test("a link contains the text and the seed in characters that a URL permits", async () => {
  for (const text of [TEXT, "", "x".repeat(100_000)]) {
    const link = await linkFragment({ text, seed: 4294967295 });
    expect(link).toMatch(/^#e=[A-Za-z0-9_-]+&seed=4294967295$/);
    expect(await parseLink(link)).toEqual({ text, seed: 4294967295 });
  }
});

test("repeated text is compressed", async () => {
  expect((await linkFragment({ text: TEXT.repeat(50), seed: 1 })).length).toBeLessThan(TEXT.length * 6);
});

test("a URL without an experiment is not parsed", async () => {
  for (const hash of ["", "#", "#tour-3", "#x=1"]) expect(await parseLink(hash)).toBeNull();
});

test("a missing or changed character is an error", async () => {
  const link = await linkFragment({ text: TEXT, seed: 1 });
  const [, letters = ""] = /^#e=([\w-]+)/.exec(link) ?? [];
  for (let index = 0; index < letters.length; index++) {
    const other = letters[index] === "A" ? "B" : "A";
    const changed = `#e=${letters.slice(0, index)}${other}${letters.slice(index + 1)}&seed=1`;
    // The last letter has bits that no byte uses.
    const same = await parseLink(changed).then(
      (parsed) => parsed?.text === TEXT,
      (error) => error instanceof BrokenLink,
    );
    expect(same).toBe(true);
  }
  for (const bad of ["#e=", "#e=&seed=1", `#e=${letters}&seed=x`, `#e=${letters}&seed=4294967296`, `${link}%20`])
    await expect(parseLink(bad)).rejects.toThrow("broken");
  for (let length = 1; length < letters.length - 1; length += 7)
    await expect(parseLink(`#e=${letters.slice(0, length)}`)).rejects.toThrow(BrokenLink);
});

test("a small link that decompresses to a huge text is an error", async () => {
  const link = await linkFragment({ text: "0".repeat(1_100_000), seed: 1 });
  expect(link.length).toBeLessThan(3000);
  await expect(parseLink(link)).rejects.toThrow(BrokenLink);
});

test("a link names a built-in experiment and its case; half an escape is a broken link", () => {
  expect(scenarioOf("#s=two-classes:as%20reported")).toEqual({ name: "two-classes", case: "as reported" });
  expect(scenarioOf("#e=abc")).toBeNull();
  expect(() => scenarioOf("#s=cyclic:%E0%A4%A")).toThrow(BrokenLink);
});
