// What the keys do.

import { el } from "../dom";

const KEYS: [string, string][] = [
  ["Tab", "in the text: indent"],
  ["Escape, then Tab", "leave the text"],
  ["Ctrl Z, Ctrl Y", "undo, redo; each source has its own history"],
  ["Ctrl F", "search in the text"],
  ["F8, Shift F8", "the next problem, the previous one"],
  ["↓ ↑", "in the list of sources: go through the results"],
  ["← →", "between source and run: move the border"],
  ["?", "outside the text: the terms and the keys of the run"],
];

export class Keys {
  readonly element = el(
    "dialog",
    { class: "help", "aria-label": "Keys of the playground" },
    el("h2", {}, "Keys"),
    el("dl", {}, ...KEYS.flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)])),
    el("form", { method: "dialog" }, el("button", { class: "small" }, "Close")),
  );

  open(): void {
    this.element.showModal();
  }
}
