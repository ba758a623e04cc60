// The help that an empty source shows in place of its text: the kinds of sources, and examples to begin with.

import { el } from "../dom";

/** What is offered -> the shipped source whose text it is. */
const STARTERS: [string, string][] = [
  ["machine", "binary-increment"],
  ["circuit", "full-adder"],
  ["RASP program", "histogram"],
  ["formula", "since-b"],
];

export function starters(begin: (name: string) => void): HTMLElement {
  const buttons = STARTERS.map(([noun, name]) => el("button", { type: "button", class: "small", title: name, click: () => begin(name) }, noun));
  return el("div", { class: "starters", hidden: true }, el("p", {}, "Write or paste a machine, a circuit, a RASP program or a formula, or begin with one:"), el("p", {}, ...buttons));
}
