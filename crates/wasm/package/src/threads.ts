// Workers of browsers and of Node, behind one interface.

/** A worker as its owner sees it. */
export interface Thread {
  post(message: unknown): void;
  /** Sets who gets messages, and who gets the reason if the worker fails. */
  listen(message: (message: unknown) => void, failure: (reason: Error) => void): void;
  end(): void;
  /** Whether the program must stay alive for it; only Node ends by itself. */
  hold(isBusy: boolean): void;
}

/** The owner as the worker sees it. */
export interface Port {
  post(message: unknown, moved: ArrayBuffer[]): void;
  listen(message: (message: unknown) => void): void;
}

/** What is used of Node, whose types are not in every program. */
interface NodeThreads {
  Worker: new (url: URL) => NodeWorker;
  parentPort: { postMessage(message: unknown, moved: ArrayBuffer[]): void; on: On };
}
type On = (event: string, listener: (value: never) => void) => void;
interface NodeWorker {
  on: On;
  removeAllListeners(event: string): void;
  postMessage(message: unknown): void;
  terminate(): Promise<number>;
  ref(): void;
  unref(): void;
}

declare const process: { getBuiltinModule(name: string): unknown };

/** Starts a worker. */
export function open(): Thread {
  if (typeof Worker !== "undefined") {
    return inBrowser(new Worker(new URL("./worker.js", import.meta.url), { type: "module" }));
  }
  const { Worker: NodeWorker } = process.getBuiltinModule("node:worker_threads") as NodeThreads;
  return inNode(new NodeWorker(new URL("./worker.js", import.meta.url)));
}

function inBrowser(worker: Worker): Thread {
  return {
    post: (message) => worker.postMessage(message),
    listen: (message, failure) => {
      worker.onmessage = (event) => message(event.data);
      worker.onerror = (event) => failure(new Error(event.message || "the worker could not be loaded"));
    },
    end: () => worker.terminate(),
    hold: () => {},
  };
}

function inNode(worker: NodeWorker): Thread {
  return {
    post: (message) => worker.postMessage(message),
    listen: (message, failure) => {
      for (const event of ["message", "error"]) worker.removeAllListeners(event);
      worker.on("message", message as (value: never) => void);
      worker.on("error", failure as (value: never) => void);
    },
    end: () => void worker.terminate(),
    hold: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
  };
}

/** Within a worker: the way to its owner. */
export function ownPort(): Port {
  if (typeof self !== "undefined" && typeof self.postMessage === "function") {
    const post = self.postMessage.bind(self) as (message: unknown, moved: Transferable[]) => void;
    return { post, listen: (message) => self.addEventListener("message", (event) => message(event.data)) };
  }
  const { parentPort } = process.getBuiltinModule("node:worker_threads") as NodeThreads;
  return {
    post: (message, moved) => parentPort.postMessage(message, moved),
    listen: (message) => parentPort.on("message", message as (value: never) => void),
  };
}

/** The content of a file, in Node. */
export function readFile(url: URL): BufferSource {
  const files = process.getBuiltinModule("node:fs") as { readFileSync(url: URL): Uint8Array<ArrayBuffer> };
  return files.readFileSync(url);
}
