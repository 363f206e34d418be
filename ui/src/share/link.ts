// An experiment as a link: its text, packed (zlib), in letters that an address may hold, and its seed. No server hears
// of it: what stands behind a # is never sent.

const TEXT_MAX = 1_000_000;
const SEED_MAX = 2 ** 32 - 1;

export interface Shared {
  text: string;
  seed: number;
}

/** A link that holds no experiment; its text is for people. */
export class Broken extends Error {
  constructor() {
    super("This link is broken: a part of it is missing or was changed on the way. Ask for it again.");
  }
}

export async function fragment({ text, seed }: Shared): Promise<string> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#e=${letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}&seed=${seed}`;
}

/** What a link holds; null where it isn't one of ours. Throws `Broken`. */
export async function shared(hash: string): Promise<Shared | null> {
  if (!hash.startsWith("#e=")) return null;
  const found = /^#e=([\w-]+)(?:&seed=(\d{1,10}))?$/.exec(hash);
  const seed = Number(found?.[2] ?? 1);
  if (!found?.[1] || seed > SEED_MAX) throw new Broken();
  try {
    const letters = atob(found[1].replaceAll("-", "+").replaceAll("_", "/"));
    return { text: await unpacked(Uint8Array.from(letters, (letter) => letter.charCodeAt(0))), seed };
  } catch {
    throw new Broken();
  }
}

/** Piece by piece, so that a small link never becomes a huge text. */
async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > TEXT_MAX) throw new Broken();
  }
}
