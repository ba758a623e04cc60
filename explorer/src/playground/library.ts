// All shipped sources, in groups, searched by name and description.

import { el } from "../dom";
import type { Kind, Shipped } from "./api";

const GROUPS: [Kind, string][] = [
  ["turing", "Turing machines"],
  ["circuit", "Boolean circuits"],
  ["rasp", "RASP programs"],
  ["logic", "Formulas of temporal logic"],
  ["automaton", "Finite automata"],
];

export class Library {
  readonly element: HTMLDialogElement;
  private readonly search = el("input", { type: "search", "aria-label": "Search the shipped sources", placeholder: "Search by name or description", input: () => this.filter(), keydown: (event: KeyboardEvent) => this.key(event) });
  private readonly list = el("div", { class: "library-list" });
  private readonly count = el("p", { class: "library-count", role: "status" }, "fetching the list …");
  private items: { element: HTMLElement; button: HTMLButtonElement; words: string }[] = [];

  constructor(private readonly choose: (source: Shipped) => void) {
    this.element = el(
      "dialog",
      { class: "library", "aria-label": "Shipped sources" },
      el("div", { class: "library-top" }, el("h2", {}, "Shipped sources"), el("button", { type: "button", class: "small", click: () => this.element.close() }, "close")),
      this.search,
      this.count,
      this.list,
    );
    // a click beside it
    this.element.addEventListener("click", (event) => {
      if (event.target === this.element) this.element.close();
    });
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  fill(shipped: Shipped[]): void {
    this.items = [];
    this.list.replaceChildren(
      ...GROUPS.flatMap(([kind, title]) => {
        const members = shipped.filter((source) => source.kind === kind);
        if (!members.length) return [];
        const items = members.map((source) => {
          const button = el("button", { type: "button", click: () => this.take(source) }, el("b", {}, source.name), el("span", {}, source.description));
          const element = el("li", {}, button);
          this.items.push({ element, button, words: `${source.name} ${source.description}`.toLowerCase() });
          return element;
        });
        return [el("section", { "aria-label": title }, el("h3", {}, title), el("ul", {}, ...items))];
      }),
    );
    this.filter();
  }

  open(): void {
    this.search.value = "";
    this.filter();
    this.element.showModal();
    this.search.focus();
  }

  private take(source: Shipped): void {
    this.element.close();
    this.choose(source);
  }

  private filter(): void {
    if (!this.items.length) return;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { element, words: all } of this.items) element.hidden = !words.every((word) => all.includes(word));
    for (const group of this.list.querySelectorAll("section")) group.hidden = !group.querySelector("li:not([hidden])");
    const found = this.visible().length;
    this.count.textContent = words.length ? `${found} of ${this.items.length}` : `${found} sources`;
  }

  private visible(): HTMLButtonElement[] {
    return this.items.filter(({ element }) => !element.hidden).map(({ button }) => button);
  }

  /** The source whose name is what was typed, or begins with it; otherwise the first. */
  private best(found: HTMLButtonElement[]): HTMLButtonElement | undefined {
    const typed = this.search.value.trim().toLowerCase();
    const name = (button: HTMLButtonElement) => button.firstChild!.textContent!;
    return found.find((each) => name(each) === typed) ?? found.find((each) => name(each).startsWith(typed)) ?? found[0];
  }

  /** The arrow keys go through what was found; Enter in the search takes the best. */
  private key(event: KeyboardEvent): void {
    const found = this.visible();
    const at = found.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) (found[at + step] ?? this.search).focus();
    else if (event.key === "Enter" && event.target === this.search) this.best(found)?.click();
    else return;
    event.preventDefault();
  }
}
