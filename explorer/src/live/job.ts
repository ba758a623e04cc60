// A run in a worker, seen from the page: begun, followed, and stopped.

import type { Decoder } from "./decoder";

/** What is to be run: a decoder on the numbers of the tokens of a prompt, BOS among them. */
export interface Job {
  decoder: Decoder;
  given: number[];
  maxPositions: number;
}

export interface Outcome {
  /** (positions,) the numbers of the tokens fed and answered */
  fed: Int32Array;
  answers: Int32Array;
  /** Why the run could not go on, in the words of the dense engine; null if it ended by itself or at its limit. */
  refused: string | null;
}

export type News = { kind: "progress"; positions: number } | { kind: "done"; outcome: Outcome };

export interface Running {
  /** Null if the run was stopped. */
  readonly outcome: Promise<Outcome | null>;
  stop(): void;
}

/** Begin a job in a worker of its own; script: the text of what the worker runs, progress: called with the positions so far. */
export function begin(script: string, job: Job, progress: (positions: number) => void = () => undefined): Running {
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const worker = new Worker(address);
  let end = (_: Outcome | null): void => undefined;
  const outcome = new Promise<Outcome | null>((resolve, reject) => {
    end = resolve;
    worker.onerror = (event) => reject(new Error(event.message || "the worker cannot be started"));
    worker.onmessage = ({ data }: MessageEvent<News>) => (data.kind === "done" ? resolve(data.outcome) : progress(data.positions));
    worker.postMessage(job);
  }).finally(() => {
    worker.terminate();
    URL.revokeObjectURL(address);
  });
  return { outcome, stop: () => end(null) };
}

/** The text of what a worker runs, as the page has it. */
export function workerScript(): string {
  return document.querySelector("#live")!.textContent;
}
