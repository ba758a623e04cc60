// The box for another input: what is written there is run in this page, by a worker, and can be stopped.

import type { Buffers, PageData } from "../data";
import type { Broken } from "../broken/broken";
import { el, set } from "../dom";
import { count } from "../words";
import { hint, stepsOf, stepsRefused, wordOf } from "./inputs";
import { Refused } from "./refusals";
import { type Again, busy, Rerun, workerOf } from "./rerun";

/** Shows another run, or the recorded one. */
export type Show = (data: PageData, buffers: Buffers) => void;

export class Box {
  readonly element: HTMLFormElement;
  private readonly input: HTMLInputElement;
  private readonly steps: HTMLInputElement;
  private readonly start: HTMLButtonElement;
  private readonly stop: HTMLButtonElement;
  private readonly back: HTMLButtonElement;
  private readonly bar = el("progress", { hidden: true, "aria-label": "Positions done" });
  private readonly status = el("p", { class: "said-live", role: "status" });
  private readonly error = el("pre", { class: "live-error", role: "alert", id: "live-error" });
  private running: ReturnType<Rerun["begin"]> | null = null;
  private readonly rerun: Rerun;

  constructor(
    private readonly data: PageData,
    private readonly buffers: Buffers,
    script: string,
    private readonly show: Show,
    private readonly broken: Broken | null,
  ) {
    const { box } = data;
    this.rerun = new Rerun(data, buffers, () => workerOf(script), broken);
    if (broken) broken.start = () => this.again();
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
      box.tokens ? null : el("label", { for: "live-steps", class: "most" }, "at most ", this.steps, ` ${units}`),
      this.start,
      this.stop,
      this.back,
      broken && el("button", { type: "button", class: "small invite", click: () => broken.invite() }, "break a weight …"),
      this.bar,
      el("p", { class: "hint", id: "live-hint" }, hint(box)),
      this.status,
      this.error,
    );
    const reason = Rerun.refusal(data);
    if (reason === null) return;
    this.element.replaceChildren(el("p", { class: "hint" }, `No other input can be run in this page: ${reason}.`));
  }

  /** Run what is in the box with the weights as they are now; without a change, the recorded run is that of its input. */
  private again(): void {
    if (this.broken?.changes.length === 0 && this.input.value === this.data.box.word) return this.recorded();
    this.end();
    this.element.requestSubmit();
  }

  /** Do something, and say why it is refused, if it is. */
  attempt(something: () => void): void {
    try {
      something();
    } catch (error) {
      this.refuse(error);
    }
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
    if (this.data.box.tokens) return null;
    const limit = stepsOf(this.steps.value, most);
    if (limit === null && !this.data.circuit) throw stepsRefused(most);
    return limit;
  }

  private run(word: string[], maxSteps: number | null): void {
    this.working(true);
    this.say("Running …");
    const text = this.data.box.tokens && this.input.value;
    this.running = this.rerun.begin(word, text, maxSteps, (done) => this.say(`Running: ${count(done, "position")} …`));
    this.running.finished.then((again) => this.finish(again)).catch((error: unknown) => {
      this.working(false);
      this.refuse(error);
    });
  }

  private finish({ data, buffers, said }: Again): void {
    this.working(false);
    this.show(data, buffers);
    this.back.hidden = false;
    this.say(said);
  }

  /** End a run that has not finished. */
  private end(): void {
    this.running?.stop();
    this.working(false);
  }

  private halt(): void {
    this.end();
    this.say("Stopped: the page shows the previous run.");
  }

  private recorded(): void {
    this.end();
    this.broken?.clear();
    this.broken?.shows(this.broken.right);
    this.show(this.data, this.buffers);
    this.back.hidden = true;
    this.input.value = this.data.box.word;
    this.say("This is the recorded run.");
  }

  private working(on: boolean): void {
    if (!on) this.running = null;
    const { element, start, stop, bar } = this;
    busy({ element, start, stop, bar }, on);
  }

  private say(text: string): void {
    this.status.textContent = this.broken?.changes.length ? "" : text;
    this.broken?.say(text);
    this.error.textContent = "";
    set(this.input, { "aria-invalid": null });
  }

  private refuse(error: unknown): void {
    this.status.textContent = "";
    const said = error instanceof Refused ? error.message : `This input cannot be run here: ${error instanceof Error ? error.message : String(error)}`;
    this.error.textContent = said;
    if (this.broken?.changes.length) this.broken.say(said, true); // the input is not to blame
    else {
      set(this.input, { "aria-invalid": "true" });
      this.input.focus();
    }
  }
}
