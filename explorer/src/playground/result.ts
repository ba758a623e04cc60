// The right side: the views of the last run, which stay, dimmed and labelled, while the source has errors.

import { Broken } from "../broken/broken";
import { type Buffers, type PageData, unpacked } from "../data";
import { el, replacing, set } from "../dom";
import { wordOf } from "../live/inputs";
import { Rerun } from "../live/rerun";
import { mount, type Mounted } from "../page";
import type { Showing } from "../state";
import type { Answer } from "./api";
import type { Shown } from "./documents";
import { Drawing } from "./drawing";

/** How long a run waits for its graph, in milliseconds. */
const PATIENCE = 120;

export class Result {
  readonly element: HTMLElement;
  private readonly main = el("main", { class: "answer", tabindex: -1, "aria-label": "The run" });
  private readonly verdict = el("p", { class: "verdict" });
  private readonly label = el("p", { class: "stale-label", hidden: true });
  private readonly drawing = new Drawing();
  private mounted: Mounted | null = null;
  private shown: Shown | null = null;
  private turn = 0;

  constructor(
    tools: HTMLElement,
    private readonly theme: () => void,
  ) {
    window.tm2tfrDraws = (dot) => this.drawing.draw(dot);
    this.element = el("div", { class: "outcome" }, el("div", { class: "outcome-top" }, this.verdict, tools), el("div", { class: "views" }, this.label, this.main));
  }

  /** Show the run of an answer. */
  async show(shown: Shown): Promise<void> {
    const turn = ++this.turn;
    this.fresh();
    const { data, columns } = shown.answer.page!;
    const dot = (data.machine ?? data.circuit ?? data.drawing)?.graph.dot;
    const [buffers] = await Promise.all([unpacked(columns), this.drawing.ready(dot, PATIENCE)]);
    if (turn !== this.turn) return; // there is a newer one
    this.leave();
    const place = shown.place ?? this.place(shown);
    const scroll = shown.place?.scroll ?? (place ? this.main.scrollTop : 0);
    this.clear();
    this.views(data, buffers, Broken.of(data, buffers), place ?? {});
    this.main.scrollTop = scroll;
    this.shown = shown;
  }

  /** Build the views of a run, in which weights can be changed: then they are run again, by a worker, and shown in its place. */
  private views(data: PageData, buffers: Buffers, broken: Broken | null, start: Partial<Showing>): void {
    const show = (data: PageData, buffers: Buffers, start: Partial<Showing>) => {
      const { scrollTop } = this.main;
      replacing(() => {
        this.mounted?.dispose();
        this.mounted = mount(this.main, data, buffers, { verdict: this.verdict, theme: this.theme, start, broken });
      });
      this.main.scrollTop = scrollTop;
    };
    show(data, buffers, start);
    if (!broken) return;
    const { turn } = this;
    const rerun = new Rerun(data, buffers, () => new Worker("assets/explorer.js"), broken);
    broken.start = () => {
      if (!broken.changes.length) {
        rerun.stop();
        broken.shows(broken.right);
        return show(data, buffers, {});
      }
      const said = (text: string, bad = false) => broken.say(text, bad);
      const { box } = data;
      rerun.begin(wordOf(box, box.word), box.tokens && box.word, box.steps === null ? null : Math.min(box.steps, box.most), () => {}).finished.then(
        (again) => {
          if (turn !== this.turn) return; // another source is shown
          show(again.data, again.buffers, {});
          said(again.said);
          this.main.querySelector(".notice, .changes-panel")?.scrollIntoView({ block: "center" });
        },
        (error: unknown) => said(error instanceof Error ? error.message : String(error), true),
      );
    };
  }

  /** Where one was in the last run, if the new one is of the same source and input. */
  private place(shown: Shown): Shown["place"] {
    const last = this.shown;
    return last && last.of === shown.of && last.input === shown.input ? last.place : null;
  }

  /** Remember where one is. */
  leave(): void {
    if (!this.shown || !this.mounted) return;
    const { i, layer, raw } = this.mounted.store.now;
    this.shown.place = { i, layer, raw, scroll: this.main.scrollTop };
  }

  /** Say that there is no run, and why. */
  nothing(why: string): void {
    this.turn++;
    this.leave();
    this.clear();
    this.shown = null;
    this.main.replaceChildren(el("p", { class: "loading" }, why));
    this.fresh();
  }

  /** Say that what is shown is of an earlier text. */
  stale(why: string): void {
    this.element.classList.add("stale");
    this.label.hidden = false;
    this.label.textContent = why;
  }

  private fresh(): void {
    this.element.classList.remove("stale");
    this.label.hidden = true;
  }

  /** How the run that is shown ends, in words. */
  get outcome(): string {
    return this.verdict.textContent;
  }

  /** Say what the next run waits for; nothing: it is there. */
  busy(what: string): void {
    set(this.main, { "aria-busy": what ? "true" : null, "data-busy": what || null });
  }

  help(): void {
    this.mounted?.help();
  }

  private clear(): void {
    this.mounted?.dispose();
    this.mounted = null;
    this.main.replaceChildren();
  }
}

/** Whether an answer has a run that may take the place of the last one. */
export function runs(answer: Answer): boolean {
  return answer.page !== null && !answer.diagnostics.some(({ severity }) => severity === "error");
}
