// What happens at a position, in words; of a Turing machine also the tape with its head, according to the decoder's own
// tokens: the prompt, and each symbol b written to the cell of h.

import type { MachineSpec, Run } from "./data";
import type { Description } from "./description";
import { el, set } from "./dom";
import type { History } from "./history";
import { sequenceStory } from "./sequence/story";
import { plainStory, story } from "./words";

const MARGIN = 2;

export class Tape {
  readonly element: HTMLElement;
  private readonly cells = el("div", { class: "cells" });
  private readonly head = el("div", { class: "head" });
  private readonly story = el("p", { class: "story", "aria-live": "polite" });
  private readonly end = el("p", { class: "ended" });
  private readonly lowest: number;
  private readonly highest: number;
  private first: number | null = null;
  private size = 0;
  private room = 5;
  private cell = 64;

  constructor(
    private readonly run: Run,
    private readonly machine: MachineSpec | null,
    private readonly history: History | null,
    private readonly description: Description | null = null,
  ) {
    const tape = history && el("div", { class: "tape", role: "img" }, this.head, this.cells);
    this.element = el("section", { class: "panel tape-panel", "aria-label": tape ? "The tape" : "What happens" }, tape, this.story, this.end);
    const lowest = history?.lowest ?? 0;
    this.lowest = machine?.tape === "one-way" ? lowest : lowest - 1;
    this.highest = (history?.highest ?? 0) + 1;
  }

  /** Compute the number of cells for which there is room. */
  measure(): void {
    this.cell = parseFloat(getComputedStyle(this.element).getPropertyValue("--cell-px")) || 64;
    this.room = Math.max(5, Math.floor((this.element.firstElementChild!.clientWidth - 2) / this.cell));
  }

  /** layer: the chosen one, as `Showing.layer` counts it. */
  draw(position: number, layer: number, playing: boolean): void {
    const { run } = this;
    set(this.story, { "aria-live": playing ? "off" : "polite" });
    const i = Math.min(position, run.count - 1);
    if (this.history) this.drawTape(this.history, i);
    const plain = () => (run.spec.labels ? sequenceStory(run, layer, i) : plainStory(run, i));
    this.story.replaceChildren(...(this.history ? story(run, this.machine, this.description, i) : plain()));
    this.end.hidden = position < run.count;
    this.end.textContent = `This run has ended, at position ${run.count - 1}.`;
  }

  private drawTape(history: History, i: number): void {
    const { run } = this;
    const h = run.rows.number("h", i);
    const known = Number.isInteger(h);
    this.fit(known ? h : 0);
    const fresh = i > run.spec.prompt + 1 ? history.written(i) : null;
    const blank = this.machine?.blank ?? "_";
    const one = this.machine?.tape === "one-way";
    const start = this.first!;
    const cells: HTMLElement[] = [];
    for (let cell = start; cell < start + this.size; cell++) {
      const symbol = history.symbol(cell, i);
      const place = cell + run.spec.lead; // where the cell's symbol is in the prompt
      const unread = i < run.spec.prompt && cell >= 0 && place > i && place < run.spec.prompt;
      cells.push(
        el(
          "div",
          {
            class: ["cell", known && cell === h ? "here" : "", symbol === undefined ? "blank" : "", unread ? "unread" : "", cell === fresh ? "fresh" : "", one && cell === 0 ? "wall" : ""].filter(Boolean).join(" "),
            "data-cell": cell,
          },
          el("span", { class: "symbol mono" }, symbol ?? blank),
          el("span", { class: "index" }, String(cell).replace("-", "−")),
        ),
      );
    }
    this.cells.replaceChildren(...cells);
    const open = !one || start > 0;
    set(this.cells, { class: `cells${open ? " open-left" : ""}` });
    const state = run.rows.text("q", i);
    this.head.hidden = !known;
    const bubble = el("span", { class: "state mono", title: state === null ? "no state yet" : null }, state ?? "⊥");
    this.head.replaceChildren(bubble);
    this.head.style.setProperty("--at", String(h - start));
    this.keepInside(bubble, (h - start + 0.5) * this.cell);
    const shown = [...cells].map((cell) => cell.firstChild!.textContent).join(" ");
    set(this.cells.parentElement!, {
      "aria-label": `Tape from cell ${start}: ${shown}. The head is at cell ${h}, in state ${state ?? "none yet"}.`,
    });
  }

  /** Move a name that is wider than its cell, at the middle given, so far that neither end of the tape cuts it off. */
  private keepInside(bubble: HTMLElement, middle: number): void {
    const width = this.cells.parentElement!.clientWidth;
    bubble.style.maxWidth = `${width}px`;
    const half = bubble.offsetWidth / 2;
    bubble.style.translate = `${Math.max(half, Math.min(middle, width - half)) - middle}px`;
  }

  /** Choose the cells to show: all if they fit, otherwise those around the head, which move only when it comes close to an end. */
  private fit(h: number): void {
    const { room } = this;
    const all = this.highest - this.lowest + 1;
    if (room >= all) {
      this.first = this.machine?.tape === "one-way" ? this.lowest : this.lowest - Math.floor((room - all) / 2);
      this.size = room;
      return;
    }
    this.size = room;
    let first = this.first ?? h - Math.floor(room / 2);
    first = Math.min(Math.max(first, h + MARGIN + 1 - room), h - MARGIN);
    this.first = Math.max(this.lowest, Math.min(first, this.highest + 1 - room));
  }
}
