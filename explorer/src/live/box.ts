// The box for another input: what is written there is run in this page, by a worker, and can be stopped.

import type { Buffers, PageData } from "../data";
import { Circuit } from "../circuit";
import { el, set } from "../dom";
import { count } from "../words";
import type { Decoder } from "./decoder";
import { shelved } from "./document";
import { hint, stepsOf, stepsRefused, wordOf } from "./inputs";
import { Refused } from "./refusals";
import type { Gates } from "./truth/circuit";
import { type Finished, ordered, type Running, weightsOf } from "./worker";

/** Shows another run, or the recorded one. */
export type Show = (data: PageData, buffers: Buffers) => void;

export class Box {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly steps: HTMLInputElement;
  private readonly start: HTMLButtonElement;
  private readonly stop: HTMLButtonElement;
  private readonly back: HTMLButtonElement;
  private readonly bar = el("progress", { hidden: true, "aria-label": "Positions done" });
  private readonly status = el("p", { class: "said-live", role: "status" });
  private readonly error = el("pre", { class: "live-error", role: "alert", id: "live-error" });
  private weights: (Decoder | string)[] | null = null;
  private running: Running | null = null;

  constructor(
    private readonly data: PageData,
    private readonly buffers: Buffers,
    private readonly script: string,
    private readonly show: Show,
  ) {
    const { box } = data;
    this.input = el("input", { type: "text", id: "live-input", class: "mono", value: box.word, spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-describedby": "live-hint live-error", list: box.examples.length ? "live-examples" : null });
    this.steps = el("input", { type: "number", id: "live-steps", min: 1, max: box.most, value: box.steps === null ? null : Math.min(box.steps, box.most), placeholder: "all" });
    this.start = el("button", { type: "submit", class: "small go" }, "Run");
    this.stop = el("button", { type: "button", class: "small", disabled: true, click: () => this.halt() }, "Stop");
    this.back = el("button", { type: "button", class: "small", hidden: true, click: () => this.recorded() }, "the recorded run");
    const units = data.circuit ? "gates" : "steps";
    this.element = el(
      "form",
      { class: "live", "aria-label": "Run in this page", submit: (event: SubmitEvent) => this.submit(event) },
      el("label", { for: "live-input" }, "another input"),
      this.input,
      el("datalist", { id: "live-examples" }, ...box.examples.map((word) => el("option", { value: word }))),
      el("label", { for: "live-steps", class: "most" }, "at most ", this.steps, ` ${units}`),
      this.start,
      this.stop,
      this.back,
      this.bar,
      el("p", { class: "hint", id: "live-hint" }, hint(box)),
      this.status,
      this.error,
    );
    const reason = this.reason();
    if (reason === null) return;
    this.element.replaceChildren(el("p", { class: "hint" }, `No other input can be run in this page: ${reason}.`));
  }

  /** Why the page cannot run its weights; null if it can. */
  private reason(): string | null {
    for (const { decoder, dtype } of this.data.runs) {
      if (decoder.none !== undefined) return decoder.none;
      if (dtype !== "float64") return `this run was computed in ${dtype}, and the page computes in float64`;
    }
    return null;
  }

  private submit(event: SubmitEvent): void {
    event.preventDefault();
    if (this.running) return;
    this.say("");
    try {
      this.run(wordOf(this.data.box, this.input.value), this.limit());
    } catch (error) {
      this.refuse(error);
    }
  }

  private limit(): number | null {
    const { most } = this.data.box;
    const limit = stepsOf(this.steps.value, most);
    if (limit === null && !this.data.circuit) throw stepsRefused(most);
    return limit;
  }

  private run(word: string[], maxSteps: number | null): void {
    this.weights ??= this.data.runs.map((spec) => weightsOf(spec, this.buffers));
    const runs = this.data.runs.map((spec, n) => ({ spec, decoder: this.weights![n] as Decoder }));
    const begun = performance.now();
    this.working(true);
    this.say("Running …");
    this.running = ordered({ runs, word, maxSteps, gates: gatesOf(this.data, this.buffers) }, this.script, (done) => this.say(`Running: ${count(done, "position")} …`));
    this.running.finished.then((finished) => this.finish(finished, begun)).catch((error: unknown) => {
      this.working(false);
      this.refuse(error);
    });
  }

  private finish({ runs, columns }: Finished, begun: number): void {
    this.working(false);
    this.show({ ...this.data, runs }, (place) => shelved(columns, place) ?? this.buffers(place));
    this.back.hidden = false;
    const positions = count(runs.reduce((sum, run) => sum + run.count, 0), "position");
    const seconds = ((performance.now() - begun) / 1000).toFixed(2);
    this.say(`Run in this page: ${positions} in ${seconds} s; ${runs.map((run) => (runs.length > 1 ? `${run.boundary}: ` : "") + compared(run)).join("; ")}.`);
  }

  private halt(): void {
    this.running?.stop();
    this.working(false);
    this.say("Stopped: the page shows the run before.");
  }

  private recorded(): void {
    this.show(this.data, this.buffers);
    this.back.hidden = true;
    this.input.value = this.data.box.word;
    this.say("This is the recorded run.");
  }

  private working(on: boolean): void {
    if (!on) this.running = null;
    const focused = document.activeElement;
    set(this.start, { disabled: on });
    set(this.stop, { disabled: !on });
    this.bar.hidden = !on;
    set(this.element, { "aria-busy": on ? "true" : null });
    if (focused === this.start && on) this.stop.focus();
    if (focused === this.stop && !on) this.start.focus();
  }

  private say(text: string): void {
    this.status.textContent = text;
    this.error.textContent = "";
    set(this.input, { "aria-invalid": null });
  }

  private refuse(error: unknown): void {
    this.status.textContent = "";
    this.error.textContent = error instanceof Refused ? error.message : `This input cannot be run here: ${error instanceof Error ? error.message : String(error)}`;
    set(this.input, { "aria-invalid": "true" });
    this.input.focus();
  }
}

/** What a run was compared with, in words. */
export function compared({ agrees, compared, reference, noun, divergence }: PageData["runs"][number]): string {
  if (agrees === null) return `nothing was compared: there is no ${noun} to compare with`;
  const cells = `${count(compared, "cell")} compared with the ${reference}`;
  return agrees ? `${cells}, all agree` : `${cells}, and it differs at position ${divergence!.position}`;
}

/** What the evaluator needs of a circuit. */
function gatesOf({ circuit, runs, box }: PageData, buffers: Buffers): Gates | null {
  if (!circuit || !box.circuit) return null;
  const found = new Circuit(circuit, buffers);
  const nets = Array.from({ length: found.size - circuit.inputs }, (_, n) => circuit.inputs + n);
  return {
    inputs: circuit.inputs,
    gates: nets.map((net) => ({ table: found.table(net), operands: found.operands(net) })),
    outputs: circuit.outputs.map(([, net]) => net),
    buses: box.circuit.outputs,
    encoding: box.circuit.encoding,
    names: runs[0]!.live.readout[runs[0]!.columns.findIndex(({ name }) => name === "gate")]?.names ?? {},
  };
}
