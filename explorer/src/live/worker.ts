// A run in a worker of its own, which can be stopped: the same script as the page's, told what to do by a message.

import { type About, aboutOf, decoderOf, type Decoder, isSoft } from "./decoder";
import type { Buffers, Heading, Numbers, RunSpec } from "../data";
import { documented, Extra } from "./document";
import { Refused } from "./refusals";
import { run } from "./run";
import type { SequenceSpec } from "../sequence/spec";
import type { Gates } from "./truth/circuit";
import { truthOf } from "./truth/reference";

/** Runs of one page on one input: of each its recorded run, the weights, the weights of the page, and what is said of these. */
export interface Order {
  runs: { spec: RunSpec; decoder: Decoder; right: Decoder; about: About }[];
  word: string[];
  /** The input as it was written, where that is how a page shows it; null: its tokens are shown. */
  text: string | null;
  ends: { before: string[]; after: string[] } | null;
  maxSteps: number | null;
  gates: Gates | null;
  sequence: SequenceSpec | null;
}

/** What came out: runs, with their columns. */
export interface Finished {
  runs: RunSpec[];
  columns: Numbers[];
}

/** Carry out an order; progress: called with the number of positions done in all runs. Throws `Refused`. */
export function carriedOut({ runs, word, text, ends, maxSteps, gates, sequence }: Order, progress: (done: number) => void): Finished {
  const extra = new Extra();
  let done = 0;
  const made = runs.map(({ spec, decoder, right, about }) => {
    const { columns, subspaces, live, tape } = spec;
    const names = columns.map(({ name }: Heading) => name);
    const truth = live.reference && truthOf(live.reference, { word, maxSteps, columns: names, gates, sequence });
    const search = live.claims && !isSoft(right) ? { right, about, claims: live.claims } : null;
    const ran = run({ decoder, columns, readout: live.readout, subspaces, tape, truth, word, ends, maxSteps, changed: decoder !== right, search }, (positions) => progress(done + positions));
    done += ran.rows.length;
    return documented(spec, ran, text === null ? word : [...text], truth?.result() ?? "", extra);
  });
  return { runs: made, columns: extra.columns };
}

type Message = { done: number } | { finished: Finished } | { refused: string } | { broken: string };

/** In a worker: wait for an order. */
export function serve(): void {
  addEventListener("message", ({ data }: MessageEvent<Order>) => {
    const say = (message: Message, transfer: Transferable[] = []) => postMessage(message, { transfer });
    let last = performance.now();
    try {
      const finished = carriedOut(data, (done) => {
        if (performance.now() - last < 50) return;
        last = performance.now();
        say({ done });
      });
      say({ finished }, finished.columns.map(({ buffer }) => buffer));
    } catch (error) {
      say(error instanceof Refused ? { refused: error.message } : { broken: String(error) });
    }
  });
}

/** An order that is being carried out. */
export interface Running {
  finished: Promise<Finished>;
  /** End it: then `finished` never comes. */
  stop(): void;
}

/** In the page: have an order carried out by a worker. */
export function ordered(order: Order, worker: Worker, progress: (done: number) => void): Running {
  const stop = () => worker.terminate();
  const finished = new Promise<Finished>((resolve, reject) => {
    worker.addEventListener("message", ({ data }: MessageEvent<Message>) => {
      if ("done" in data) return progress(data.done);
      stop();
      if ("finished" in data) resolve(data.finished);
      else reject("refused" in data ? new Refused(data.refused) : new Error(data.broken));
    });
    worker.addEventListener("error", (event) => {
      stop();
      reject(new Error(event.message || "this browser starts no worker here"));
    });
  });
  worker.postMessage(order);
  return { finished, stop };
}

/** The weights of a run of the page, which has them, and what is said of them. */
export function weightsOf({ decoder }: RunSpec, buffers: Buffers): [Decoder, About] {
  if (decoder.none !== undefined) throw new Error(decoder.none);
  return [decoderOf(decoder, buffers), aboutOf(decoder, buffers)];
}
