// Buttons that give what is here to the world: files, and a link.

import { el } from "../dom";
import type { Export } from "./api";

const FILES: [Export, string, string][] = [
  ["source", "source", "the text as a file"],
  ["weights", "weights", "the weights as a safetensors file"],
  ["latex", "LaTeX", "the table in LaTeX"],
  ["csv", "CSV", "the table as comma-separated values"],
  ["page", "page", "this run as one HTML page"],
];

export class Exports {
  readonly element: HTMLElement;
  private readonly buttons: HTMLButtonElement[];
  private readonly format = el("select", { class: "small", "aria-label": "Format in which the source is saved" });
  private targets = "";

  constructor(save: (what: Export, to: string) => void, link: () => void) {
    this.buttons = FILES.map(([what, name, about]) => el("button", { type: "button", class: "small", title: about, "data-export": what, click: () => save(what, what === "source" ? this.format.value : "") }, name));
    this.offer([]);
    const linking = el("button", { type: "button", class: "small", title: "copy a link with the source and the input", "data-export": "link", click: link }, "link");
    this.element = el("div", { class: "exports", role: "group", "aria-label": "Save" }, el("span", { class: "exports-title", "aria-hidden": "true" }, "save"), this.buttons[0]!, this.format, ...this.buttons.slice(1), linking);
  }

  /** The formats that the source can be saved in. */
  private offer(targets: string[]): void {
    if (targets.join() === this.targets && this.format.length) return;
    this.targets = targets.join();
    const chosen = this.format.value;
    this.format.replaceChildren(el("option", { value: "" }, "as it is"), ...targets.map((target) => el("option", { value: target }, `as ${target}`)));
    this.format.value = targets.includes(chosen) ? chosen : "";
    this.format.hidden = !targets.length;
  }

  /** Without a run there are only the source and the link. */
  allow(run: boolean, targets: string[]): void {
    if (targets.length || run) this.offer(targets); // those of the last valid source stay where they are
    this.format.disabled = !run;
    for (const button of this.buttons) button.disabled = !run && button.dataset["export"] !== "source";
  }
}

/** Give a file to the browser to save. */
export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const anchor = el("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
