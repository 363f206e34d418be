// Workers that wait for requests: a new one costs the compilation of the module, so each serves many.

import type { Answer, Progress, Request } from "./messages.js";
import { open, type Thread } from "./threads.js";

/** Workers without work. */
const idle: Thread[] = [];
/** As many wait at most. */
const MOST_IDLE = 4;

/** Has a request done by a worker. Is rejected with mistakes, with a signal's reason, or with a failure. */
export async function submit(
  request: Request,
  onProgress?: (progress: Progress) => void,
  signal?: AbortSignal,
): Promise<unknown> {
  signal?.throwIfAborted();
  const thread = idle.pop() ?? open();
  return new Promise((resolve, reject) => {
    const over = (canServeOn: boolean) => {
      signal?.removeEventListener("abort", cancel);
      if (!canServeOn || idle.length >= MOST_IDLE) return thread.end();
      thread.hold(false);
      idle.push(thread);
    };
    const fail = (reason: unknown) => {
      over(false);
      reject(reason);
    };
    // The worker computes and reads no message meanwhile, so it is ended.
    const cancel = () => fail(signal?.reason);
    signal?.addEventListener("abort", cancel);
    if (signal?.aborted) return cancel();
    thread.listen((message) => {
      const answer = message as Answer;
      if (answer.is === "progress") return report(answer.progress);
      if (answer.is === "failed") return fail(new Error(`the simulator stopped: ${answer.problem}`));
      over(true);
      if (answer.is === "done") resolve(answer.result);
      else reject(answer.mistakes);
    }, fail);
    const report = (progress: Progress) => {
      try {
        onProgress?.(progress);
      } catch (error) {
        fail(error);
      }
    };
    thread.hold(true);
    thread.post(request);
  });
}
