// One line below the bar: what went wrong, or that something worked.

import { el } from "../dom";

export class Message {
  readonly element = el("div", { class: "message", role: "status" });

  show(text: string, kind = "bad"): void {
    if (this.element.textContent === text) return;
    const close = el("button", { type: "button", class: "small", "aria-label": "Close this message", click: () => this.clear() }, "×");
    this.element.replaceChildren(el("p", { class: kind }, text), close);
  }

  /** Take it away; with a kind, only one of that kind. */
  clear(kind = ""): void {
    if (kind === "" || this.element.querySelector(`p.${kind}`)) this.element.replaceChildren();
  }
}
