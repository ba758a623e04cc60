// The open sources, one of them current.

import { el } from "../dom";
import { isDirty, type Opened } from "./documents";

export class Tabs {
  readonly element: HTMLElement;
  private readonly list = el("ul", {});

  constructor(
    private readonly choose: (source: Opened) => void,
    private readonly close: (source: Opened) => void,
  ) {
    this.element = el("nav", { class: "tabs", "aria-label": "Open sources" }, this.list);
  }

  show(sources: Opened[], current: Opened): void {
    const focused = this.list.contains(document.activeElement);
    this.list.replaceChildren(...sources.map((source) => this.tab(source, source === current)));
    const now = this.list.querySelector<HTMLElement>("[aria-current]");
    if (focused) now?.focus();
    now?.parentElement?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Mark the current source as changed or not, as one types. */
  mark(source: Opened): void {
    this.list.querySelector(".tab.current")?.classList.toggle("dirty", isDirty(source));
  }

  private tab(source: Opened, current: boolean): HTMLElement {
    const { name } = source;
    return el(
      "li",
      { class: `tab${current ? " current" : ""}${isDirty(source) ? " dirty" : ""}` },
      el("button", { type: "button", class: "tab-name", "aria-current": current ? "true" : null, title: name, click: () => this.choose(source) }, name, el("span", { class: "dot", title: "changed" }, el("span", { class: "said" }, " changed"))),
      el("button", { type: "button", class: "tab-close", "aria-label": `Close ${name}`, title: "Close", click: () => this.close(source) }, "×"),
    );
  }
}
