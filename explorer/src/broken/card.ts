// The weights of a layer, as the listing has them, in which each number can be clicked and changed.

import { el, set } from "../dom";
import { Refused } from "../live/refusals";
import type { Broken } from "./broken";
import { embeddingListing, layerListing, type Line, type Piece, termText, unembeddingListing } from "./listing";
import { placeText, weightText } from "./weights";

export class WeightsCard {
  /** The button that opens and closes them, and what it opens. */
  readonly button: HTMLButtonElement;
  readonly element: HTMLElement;
  private readonly listing = el("pre", { class: "terms", tabindex: 0 });
  private readonly field: HTMLInputElement;
  private readonly run: HTMLButtonElement;
  private readonly error: HTMLElement;
  private drawn: Broken["listed"] | null = null;

  /** number: 0 is the embedding, one more than the last layer the unembedding; called: what it is called; before: what stands above the listing. */
  constructor(
    private readonly broken: Broken,
    private readonly number: number,
    called: string,
    before: Node[],
  ) {
    const id = `weight-${number}`;
    this.field = el("input", { type: "text", class: "mono", id, spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-describedby": `${id}-hint ${id}-error`, placeholder: this.example() });
    this.run = el("button", { type: "button", class: "small go", id: `${id}-run`, click: () => broken.start() }, "Run");
    this.error = el("p", { class: "weight-error", role: "alert", id: `${id}-error` });
    this.listing.addEventListener("click", (event) => this.chosen(event.target as HTMLElement));
    this.listing.addEventListener("keydown", (event) => this.moved(event));
    const form = el(
      "form",
      { class: "change", submit: (event: SubmitEvent) => this.submit(event) },
      el("p", { class: "hint", id: `${id}-hint` }, "Break it: click a number, or write a weight and its new value. Then run: the check names the wrong layer."),
      el("label", { for: id }, "change "),
      this.field,
      el("button", { type: "submit", class: "small" }, "Set"),
      this.run,
      this.error,
    );
    set(this.listing, { "aria-label": `the weights of ${called}` });
    this.element = el("div", { class: "weights", hidden: true }, ...before, form, this.listing);
    this.button = el("button", { type: "button", class: "small", "aria-expanded": "false", "aria-label": `the weights of ${called}`, click: () => this.toggle(!broken.open.has(number)) }, "weights");
    if (broken.open.has(number)) this.toggle(true);
  }

  toggle(open: boolean): void {
    if (open) this.broken.open.add(this.number);
    else this.broken.open.delete(this.number);
    this.element.hidden = !open;
    set(this.button, { "aria-expanded": String(open) });
    this.draw();
  }

  /** Open it, and let a weight be written. */
  invite(): void {
    this.toggle(true);
    this.element.closest("li")?.scrollIntoView({ block: "nearest" });
    this.field.focus();
  }

  draw(): void {
    const { broken } = this;
    this.run.classList.toggle("wanted", broken.stale);
    if (this.element.hidden || this.drawn === broken.listed) return;
    const focused = (document.activeElement as HTMLElement | null)?.dataset["place"];
    this.drawn = broken.listed;
    const lines = this.lines().map((line) => el("span", { class: "line" }, ...line.flatMap((piece) => this.nodes(piece)), "\n"));
    this.listing.replaceChildren(...lines);
    const terms = this.terms();
    set(terms[0] ?? this.listing, { tabindex: 0 });
    if (focused !== undefined) terms.find((term) => term.dataset["place"] === focused)?.focus({ preventScroll: true });
  }

  private lines(): Line[] {
    const { listed, about } = this.broken;
    if (this.number === 0) return embeddingListing(listed);
    return this.number > listed.layers.length ? unembeddingListing(listed) : layerListing(listed, about, this.number);
  }

  private nodes({ before, text, name, weight }: Piece): (Node | string)[] {
    if (weight === null) return [text];
    const { broken } = this;
    const place = placeText(broken.right, weight, this.number);
    const change = broken.changeOf(weight);
    const term = (shown: string, value: number) =>
      el("button", { type: "button", class: "term", tabindex: -1, "data-place": place, "data-value": weightText(value), title: `${place} = ${weightText(value)}: click to change it` }, shown);
    if (!change) return [before ?? "", term(text, weight.value)];
    const old = broken.old(weight);
    return [
      before ? " + " : "",
      ...(old === 0 ? [] : [el("del", {}, termText(old, name!)), " "]),
      el("ins", {}, term(change.value === 0 ? "0" : termText(change.value, name!), change.value)),
    ];
  }

  private terms(): HTMLElement[] {
    return [...this.listing.querySelectorAll<HTMLElement>(".term")];
  }

  /** Put the weight that is clicked into the field, with its value selected. */
  private chosen(target: HTMLElement): void {
    const term = target.closest<HTMLElement>(".term");
    if (!term) return;
    const place = `${term.dataset["place"]!} = `;
    this.field.value = place + term.dataset["value"]!;
    this.field.focus();
    this.field.setSelectionRange(place.length, this.field.value.length);
    this.complain("");
  }

  /** Among the terms the arrows go from one to the next. */
  private moved(event: KeyboardEvent): void {
    const terms = this.terms();
    const here = terms.indexOf(document.activeElement as HTMLElement);
    const step: Record<string, number> = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: terms.length - 1 };
    const next = step[event.key];
    if (here < 0 || next === undefined) return;
    event.preventDefault();
    const term = terms[Math.max(0, Math.min(terms.length - 1, next))]!;
    set(terms[here]!, { tabindex: -1 });
    set(term, { tabindex: 0 });
    term.focus();
  }

  private submit(event: SubmitEvent): void {
    event.preventDefault();
    try {
      this.broken.write(this.field.value, this.number <= this.broken.right.layers.length ? this.number : 0);
      this.complain("");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.complain(error.message);
    }
  }

  private complain(text: string): void {
    this.error.textContent = text;
    set(this.field, { "aria-invalid": text ? "true" : null });
  }

  private example(): string {
    const weight = this.lines().flat().find((piece) => piece.weight)?.weight;
    return weight ? `${placeText(this.broken.right, weight, this.number)} = ${weightText(-weight.value)}` : "";
  }
}
