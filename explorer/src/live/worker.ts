// What a worker of the page runs: a generation, told of as it goes on. The page has this file's bundle as text.

import { generate } from "./generate";
import type { Job, News } from "./job";
import { Refused } from "./refusals";

export { unpacked } from "../data";
export { decoderOf } from "./decoder";
export { Dense, wholeRun } from "./dense";
export { generate, prompted } from "./generate";
export { carryOut };

/** How often progress is told, in milliseconds. */
const OFTEN = 100;

/** Run a job to its end; tell is called with its progress and, last of all, with its outcome. */
function carryOut(job: Job, tell: (news: News, transfer: Transferable[]) => void): void {
  const fed: number[] = [];
  const answers: number[] = [];
  let refused: string | null = null;
  let next = performance.now() + OFTEN;
  try {
    for (const step of generate(job.decoder, job.given, job.maxPositions)) {
      fed.push(step.fed);
      answers.push(step.answer);
      if (performance.now() < next) continue;
      next = performance.now() + OFTEN;
      tell({ kind: "progress", positions: fed.length }, []);
    }
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    refused = error.message;
  }
  const outcome = { fed: Int32Array.from(fed), answers: Int32Array.from(answers), refused };
  tell({ kind: "done", outcome }, [outcome.fed.buffer, outcome.answers.buffer]);
}

if ("DedicatedWorkerGlobalScope" in globalThis)
  addEventListener("message", ({ data }: MessageEvent<Job>) => carryOut(data, (news, transfer) => postMessage(news, { transfer })));
