import { expect, test } from "vitest";
import { Broken, fragment, shared } from "./link";

const TEXT = 'title = "Ü → 东, # no comment"\n\n[path]\nrtt = "40ms"  # + / =\n';

test("a link holds the text and the seed, in letters that an address may have", async () => {
  for (const text of [TEXT, "", "x".repeat(100_000)]) {
    const link = await fragment({ text, seed: 4294967295 });
    expect(link).toMatch(/^#e=[A-Za-z0-9_-]+&seed=4294967295$/);
    expect(await shared(link)).toEqual({ text, seed: 4294967295 });
  }
});

test("what repeats takes little room", async () => {
  expect((await fragment({ text: TEXT.repeat(50), seed: 1 })).length).toBeLessThan(TEXT.length * 6);
});

test("an address without an experiment is none of ours", async () => {
  for (const hash of ["", "#", "#tour-3", "#x=1"]) expect(await shared(hash)).toBeNull();
});

test("a link that lost or changed a letter says so", async () => {
  const link = await fragment({ text: TEXT, seed: 1 });
  const [, letters = ""] = /^#e=([\w-]+)/.exec(link) ?? [];
  for (let place = 0; place < letters.length; place++) {
    const other = letters[place] === "A" ? "B" : "A";
    const changed = `#e=${letters.slice(0, place)}${other}${letters.slice(place + 1)}&seed=1`;
    // The last letter has bits that no byte uses.
    const same = await shared(changed).then(
      (one) => one?.text === TEXT,
      (error) => error instanceof Broken,
    );
    expect(same).toBe(true);
  }
  for (const bad of ["#e=", "#e=&seed=1", `#e=${letters}&seed=x`, `#e=${letters}&seed=4294967296`, `${link}%20`])
    await expect(shared(bad)).rejects.toThrow("broken");
  for (let length = 1; length < letters.length - 1; length += 7)
    await expect(shared(`#e=${letters.slice(0, length)}`)).rejects.toThrow(Broken);
});

test("a small link that would become a huge text is broken too", async () => {
  const link = await fragment({ text: "0".repeat(1_100_000), seed: 1 });
  expect(link.length).toBeLessThan(3000);
  await expect(shared(link)).rejects.toThrow(Broken);
});
