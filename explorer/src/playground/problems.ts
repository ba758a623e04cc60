// The problems of a source as a list, which screen readers can read and which says what has no place in the text.

import { el } from "../dom";
import { count } from "../words";
import type { Diagnostic, Fix } from "./api";

const SIGNS: Record<string, string> = { error: "✗", warning: "!", info: "i" };

export class Problems {
  readonly element: HTMLElement;
  private readonly list = el("ol", {});
  private readonly title = el("h2", {});
  private readonly recognised = el("span", { class: "recognised" });
  private readonly said = el("p", { class: "said", role: "status" });
  private timer = 0;

  constructor(
    private readonly go: (found: Diagnostic) => void,
    private readonly apply: (fix: Fix) => void,
  ) {
    this.element = el("section", { class: "problems", "aria-label": "Problems" }, el("div", { class: "problems-top" }, this.title, this.recognised), this.said, el("div", { class: "problems-list", tabindex: 0, role: "group", "aria-label": "List of problems" }, this.list));
    this.show(null);
  }

  /** Show what was found in a source, and what it was taken for; null: it was not looked at, and why. */
  show(answered: Diagnostic[] | null, recognised = ""): void {
    const found = answered ?? [];
    const errors = found.filter(({ severity }) => severity === "error").length;
    const others = found.length - errors;
    const summary = found.length ? [errors ? count(errors, "error") : "", others ? count(others, "remark") : ""].filter(Boolean).join(", ") : answered ? "No problems" : "Not checked";
    this.recognised.textContent = recognised;
    this.element.classList.toggle("none", !found.length);
    this.element.classList.toggle("unchecked", !answered);
    this.element.classList.toggle("bad", errors > 0);
    this.title.textContent = summary;
    this.list.replaceChildren(...found.map((each) => this.item(each)));
  }

  /** Tell those who cannot see it, once typing pauses: how many problems there are, and how the run ends. */
  say(outcome: string): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      const said = [this.title.textContent, outcome].filter(Boolean).join(". ");
      if (this.said.textContent !== said) this.said.textContent = said;
    }, 700);
  }

  private item(found: Diagnostic): HTMLElement {
    const { severity, what, remedy, line, column, fixes } = found;
    const place = line === null ? null : el("span", { class: "place" }, column === null ? `line ${line}` : `${line}:${column}`);
    const words = [el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[severity] ?? "i"), place, el("span", { class: "what" }, what, remedy ? ": " : "", remedy ? el("span", { class: "remedy" }, remedy) : null)];
    const problem = line === null ? el("span", { class: "problem" }, ...words) : el("button", { type: "button", class: "problem", click: () => this.go(found) }, ...words);
    const buttons = fixes.map((fix) => el("button", { type: "button", class: "small fix", click: () => this.apply(fix) }, fix.label));
    return el("li", { class: severity }, problem, ...buttons);
  }
}
