// Another run of the weights of a page, or of changed ones, by a worker that can be stopped.

import type { Broken } from "../broken/broken";
import type { Buffers, PageData } from "../data";
import { Circuit } from "../circuit";
import { set } from "../dom";
import { count, stoppedAfter, uncompared } from "../words";
import type { About, Decoder } from "./decoder";
import { shelved } from "./document";
import type { Gates } from "./truth/circuit";
import { type Order, ordered, type Running, weightsOf } from "./worker";

/** A run as a page shows it, and what came out in words. */
export interface Again {
  data: PageData;
  buffers: Buffers;
  said: string;
}

export class Rerun {
  private weights: { decoder: Decoder; about: About }[] | null = null;
  private running: Running | null = null;

  /** worker: starts a worker that serves orders. */
  constructor(
    private readonly data: PageData,
    private readonly buffers: Buffers,
    private readonly worker: () => Worker,
    private readonly broken: Broken | null,
  ) {}

  /** Why the page cannot run its weights; null if it can. */
  static refusal({ runs }: PageData): string | null {
    for (const { decoder, dtype } of runs) {
      if (decoder.none !== undefined) return decoder.none;
      if (dtype !== "float64") return `this run was computed in ${dtype}, and the page computes in float64`;
    }
    return null;
  }

  /** Run the weights on a word, and stop a run that has not finished; text: see `Order`; progress: called with the number of positions done. */
  begin(word: string[], text: string | null, maxSteps: number | null, progress: (done: number) => void): { finished: Promise<Again>; stop(): void } {
    const { data, buffers, broken } = this;
    const weights = broken?.current;
    this.stop();
    this.weights ??= data.runs.map((spec) => {
      const [decoder, about] = weightsOf(spec, buffers);
      return { decoder, about };
    });
    const begun = performance.now();
    const order = orderOf(data, buffers, this.weights.map((each) => ({ ...each, broken: weights ?? each.decoder })), { word, text, maxSteps });
    const running = (this.running = ordered(order, this.worker(), progress));
    const finished = running.finished.then(({ runs, columns }): Again => {
      const positions = count(runs.reduce((sum, run) => sum + run.count, 0), "position");
      const seconds = ((performance.now() - begun) / 1000).toFixed(2);
      const said = runs.map((run) => (runs.length > 1 ? `${run.boundary}: ` : "") + compared(run)).join("; ");
      if (weights) broken!.shows(weights);
      const since = broken?.stale ? " A weight was changed since: run again." : "";
      return { data: { ...data, runs, searched: null }, buffers: (place) => shelved(columns, place) ?? buffers(place), said: `Run in this page: ${positions} in ${seconds} s; ${said}.${since}` };
    });
    return { finished, stop: () => running.stop() };
  }

  /** Stop a run that has not finished. */
  stop(): void {
    this.running?.stop();
  }
}

/** What a worker is told: to run the weights of each run of a page, or changed ones, on an input. */
export function orderOf(data: PageData, buffers: Buffers, weights: { decoder: Decoder; about: About; broken: Decoder }[], input: Pick<Order, "word" | "text" | "maxSteps">): Order {
  const { tokens } = data.box;
  const runs = data.runs.map((spec, n) => ({ spec, decoder: weights[n]!.broken, right: weights[n]!.decoder, about: weights[n]!.about }));
  return { runs, ...input, ends: tokens && { before: tokens.before, after: tokens.after }, gates: gatesOf(data, buffers), sequence: data.sequence };
}

/** What a run was compared with, in words. */
function compared(run: PageData["runs"][number]): string {
  const { agrees, compared, reference, divergence, stopped } = run;
  if (agrees === null) return `nothing was compared: ${uncompared(run)}`;
  const cells = `${count(compared, "cell")} compared with the ${reference}`;
  return agrees ? `${cells}, all agree` : `${cells}, and it differs at position ${divergence!.position}${stopped ? `; ${stoppedAfter(run)}` : ""}`;
}

/** What the evaluator needs of a circuit. */
function gatesOf({ circuit, runs, box }: PageData, buffers: Buffers): Gates | null {
  if (!circuit || !box.circuit) return null;
  const found = new Circuit(circuit, buffers);
  const nets = Array.from({ length: found.size - circuit.inputs }, (_, n) => circuit.inputs + n);
  return {
    inputs: circuit.inputs,
    gates: nets.map((net) => ({ table: found.table(net), operands: found.operands(net), kind: found.kind(net).replace(/^table /, "") })),
    nets: circuit.nets,
    outputs: circuit.outputs.map(([, net]) => net),
    buses: box.circuit.outputs,
    encoding: box.circuit.encoding,
    names: runs[0]!.live.readout[runs[0]!.columns.findIndex(({ name }) => name === "gate")]?.names ?? {},
  };
}

/** What shows that weights are run: the form, its two buttons, and the bar. */
interface Form {
  readonly element: HTMLElement;
  readonly start: HTMLButtonElement;
  readonly stop: HTMLButtonElement;
  readonly bar: HTMLElement;
}

/** Show whether a run is under way; the focus goes from the button that was pressed to the one that can be. */
export function busy({ element, start, stop, bar }: Form, on: boolean): void {
  const focused = document.activeElement;
  set(start, { disabled: on });
  set(stop, { disabled: !on });
  bar.hidden = !on;
  set(element, { "aria-busy": on ? "true" : null });
  if (focused === start && on) stop.focus();
  if (focused === stop && !on) start.focus();
}

/** A worker with the script of a page. */
export function workerOf(script: string): Worker {
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const worker = new Worker(address);
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  return worker;
}
