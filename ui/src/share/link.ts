// An experiment as a link: its text, compressed (zlib, base64url), and its seed. Browsers send no part of a URL after
// the # to a server.

const TEXT_MAX = 1_000_000;
const SEED_MAX = 2 ** 32 - 1;

export interface Shared {
  text: string;
  seed: number;
}

/** The link contains no valid experiment. The message is for the user. */
export class BrokenLink extends Error {
  constructor() {
    super("This link is broken: a part of it is missing or was changed. Request it again from its sender.");
  }
}

export async function linkFragment({ text, seed }: Shared): Promise<string> {
  const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(compressed).arrayBuffer());
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#e=${letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}&seed=${seed}`;
}

/**
 * The built-in experiment that a link names, with its case: `#s=cyclic`, `#s=two-classes:plain`; null if it names none.
 * Throws `BrokenLink`.
 */
export function scenarioOf(hash: string): { name: string; case: string } | null {
  const found = /^#s=([\w.-]+)(?::(.+))?$/.exec(hash);
  if (!found) return null;
  try {
    return { name: found[1] as string, case: decodeURIComponent(found[2] ?? "") };
  } catch {
    throw new BrokenLink();
  }
}

/** The experiment of a link; null if the link contains none. Throws `BrokenLink`. */
export async function parseLink(hash: string): Promise<Shared | null> {
  if (!hash.startsWith("#e=")) return null;
  const found = /^#e=([\w-]+)(?:&seed=(\d{1,10}))?$/.exec(hash);
  const seed = Number(found?.[2] ?? 1);
  if (!found?.[1] || seed > SEED_MAX) throw new BrokenLink();
  try {
    const letters = atob(found[1].replaceAll("-", "+").replaceAll("_", "/"));
    return { text: await decompress(Uint8Array.from(letters, (letter) => letter.charCodeAt(0))), seed };
  } catch {
    throw new BrokenLink();
  }
}

/** Decompress block by block, so that a small link can't become a huge text. */
async function decompress(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > TEXT_MAX) throw new BrokenLink();
  }
}
