// All changed weights of a page, above its views: run, undone, copied, saved.

import { el } from "../dom";
import type { Broken } from "./broken";
import { coefficient } from "./listing";
import { placeText } from "./weights";

export class ChangesPanel {
  readonly element: HTMLElement;
  private readonly list = el("ul", {});
  private readonly title = el("h2", {});
  private readonly status = el("p", { class: "said-changes", role: "status" });
  private readonly run: HTMLButtonElement;

  constructor(private readonly broken: Broken) {
    const button = (name: string, click: () => void, kind = "") => el("button", { type: "button", class: `small ${kind}`, click }, name);
    this.run = button("Run", () => broken.start(), "go");
    this.run.id = "changes-run";
    const undone = () => {
      broken.clear();
      broken.start();
    };
    this.element = el(
      "section",
      { class: "panel changes-panel", "aria-label": "Changed weights", hidden: true },
      this.title,
      this.list,
      el("div", { class: "tools" }, this.run, button("Undo all", undone), button("Copy as Python", () => void this.copy()), button("Save weights", () => void this.save())),
      this.status,
    );
  }

  draw(): void {
    const { broken } = this;
    const { changes, news } = broken;
    this.element.hidden = changes.length === 0 && !broken.stale;
    this.title.textContent = `${changes.length || "No"} changed weight${changes.length === 1 ? "" : "s"}`;
    this.list.replaceChildren(
      ...changes.map((change) => {
        const place = placeText(broken.right, change);
        return el(
          "li",
          {},
          el("code", {}, place),
          " ",
          el("del", {}, coefficient(broken.old(change))),
          " → ",
          el("ins", {}, coefficient(change.value)),
          " ",
          el("button", { type: "button", class: "small", "aria-label": `undo the change of ${place}`, click: () => broken.undo(change) }, "undo"),
        );
      }),
    );
    this.run.classList.toggle("wanted", broken.stale);
    const text = news.text || (broken.stale ? "Not run yet: the page shows the run before the change." : "");
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.classList.toggle("bad", news.bad);
  }

  private async copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.broken.python);
      this.broken.say("Copied: lines of Python that make the same changes.");
    } catch {
      this.show(this.broken.python);
    }
  }

  /** Where the clipboard is not to be had, show what would be in it. */
  private show(text: string): void {
    const shown = el("pre", { tabindex: 0, class: "python" }, text);
    this.element.querySelector(".python")?.remove();
    this.element.append(shown);
    getSelection()?.selectAllChildren(shown);
    this.broken.say("This browser gives no clipboard: copy the lines below.");
  }

  private async save(): Promise<void> {
    try {
      const [bytes, name] = await this.broken.file();
      const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
      el("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
      this.broken.say(`Saved ${name}: tm2tfr check ${name} reads it.`);
    } catch (error) {
      this.broken.say(error instanceof Error ? error.message : String(error), true);
    }
  }
}
