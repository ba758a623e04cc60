// The input of a run, those that the source suggests, and the options.

import { el, set } from "../dom";
import type { Answer, Options } from "./api";
import { sentence } from "./editor";

/** The most suggestions that are shown. */
const MOST = 10;
const LONGEST = 24;

export interface Chosen {
  input: string | null;
  options: Options;
}

export class Inputs {
  readonly element: HTMLElement;
  private readonly field: HTMLInputElement;
  private readonly suggestions = el("ul", { class: "suggestions", "aria-label": "Suggested inputs" });
  private readonly about = el("p", { class: "about-input", id: "about-input", role: "status" });
  private readonly steps: HTMLInputElement;
  private readonly boundary: HTMLSelectElement;
  private readonly stepsLabel: HTMLElement;
  private readonly boundaryLabel: HTMLElement;
  private chosen: Chosen = { input: null, options: {} };

  constructor(private readonly changed: (chosen: Chosen) => void) {
    this.field = el("input", {
      id: "input",
      class: "mono",
      type: "text",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      placeholder: "(empty)",
      "aria-describedby": "about-input",
      input: () => this.say({ input: this.field.value }),
    });
    const number = () => {
      const said = this.steps.value.trim();
      const { max_steps: _, ...others } = this.chosen.options;
      this.say({ options: /^[1-9]\d*$/.test(said) ? { ...others, max_steps: Number(said) } : others });
    };
    this.steps = el("input", { type: "number", min: 1, step: 1, placeholder: "auto", input: number });
    this.stepsLabel = el("label", { title: "the most steps that a run may take" }, "step limit ", this.steps);
    this.boundary = el(
      "select",
      { change: () => this.say({ options: { ...this.chosen.options, left_boundary: this.boundary.value } }) },
      el("option", { value: "repaired" }, "repaired"),
      el("option", { value: "chapter" }, "as in the chapter"),
    );
    this.boundaryLabel = el("label", { title: "what happens when the head moves left at cell 0" }, "left boundary ", this.boundary);
    this.element = el(
      "section",
      { class: "inputs", "aria-label": "Input and options" },
      el("div", { class: "input-row" }, el("label", { for: "input" }, "Input"), this.field, this.stepsLabel, this.boundaryLabel),
      this.about,
      this.suggestions,
    );
  }

  /** Show what is chosen for a source. */
  show(chosen: Chosen): void {
    this.chosen = chosen;
    this.fill(this.field, chosen.input ?? "");
    this.fill(this.steps, chosen.options.max_steps === undefined ? "" : String(chosen.options.max_steps));
    this.boundary.value = chosen.options.left_boundary ?? "repaired";
  }

  /** Forget what was suggested for another source, and said of its input. */
  clear(): void {
    this.suggestions.replaceChildren();
    this.unsaid();
  }

  /** Forget what was said of another input. */
  unsaid(): void {
    this.about.textContent = "";
    set(this.field, { "aria-invalid": null });
  }

  /** Show what the server says of it. */
  answered({ kind, inputs, about_input: about, diagnostics, options }: Answer, input: string | null): void {
    const wrong = diagnostics.some(({ severity }) => severity === "error");
    this.stepsLabel.hidden = kind === "rasp" || kind === "logic" || kind === "automaton"; // they answer at once
    if (options.length || !wrong) this.boundaryLabel.hidden = !options.includes("left_boundary");
    if (this.chosen.input === null && input !== null) this.fill(this.field, input);
    set(this.field, { "aria-invalid": about?.severity === "error" ? "true" : null });
    this.about.textContent = about ? sentence(about) : "";
    this.about.classList.toggle("error", about?.severity === "error");
    if (!inputs.length && wrong) return; // those of the last valid source
    const now = this.chosen.input ?? input;
    const buttons = inputs.slice(0, MOST).map((each) => {
      const shown = each === "" ? "(empty)" : (each.length > LONGEST ? `${each.slice(0, LONGEST)}…` : each).replaceAll(" ", "␣");
      return el("li", {}, el("button", { type: "button", class: "small mono", title: each, "aria-pressed": String(each === now), click: () => this.say({ input: each }) }, shown));
    });
    this.suggestions.replaceChildren(...buttons);
  }

  private say(change: Partial<Chosen>): void {
    this.show({ ...this.chosen, ...change });
    for (const button of this.suggestions.querySelectorAll("button")) set(button, { "aria-pressed": String(button.title === this.chosen.input) });
    this.changed(this.chosen);
  }

  /** Somebody who types keeps the cursor where it is. */
  private fill(field: HTMLInputElement, text: string): void {
    if (field.value !== text) field.value = text;
  }
}
