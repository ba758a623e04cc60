// The chosen s-op: how it is made and where in the program, its values; of an aggregate or a selector the matrix, beside it where the
// heads of the weights look.

import { el, set } from "../dom";
import type { Showing, Store } from "../state";
import { type Looks, Matrices } from "./matrix";
import { count } from "../words";
import type { Program } from "./program";

const KINDS = { token: "a token at every position", number: "a number at every position", truth: "true or false at every position", selector: "a selector: which positions (columns) each position (row) reads" };

export class SOpPanel {
  readonly element: HTMLElement;
  private readonly title = el("span", { class: "mono sop-title" });
  private readonly facts = el("p", { class: "sop-facts" });
  private readonly made = el("p", { class: "mono sop-text" });
  private readonly values = el("div", { class: "scroll sop-values" });
  private readonly note = el("p", { class: "sop-note" });
  private readonly lines: HTMLElement[];
  private readonly text: HTMLElement;
  private readonly matrices: Matrices;
  private shown: [number, unknown] | null = null;

  constructor(
    private readonly program: Program,
    private readonly store: Store,
  ) {
    this.matrices = new Matrices(program, store);
    this.lines = program.lines.map((line) => el("li", {}, el("code", {}, line || " ")));
    this.text = el("ol", { class: "scroll program-text", tabindex: 0, "aria-label": "The program" }, ...this.lines);
    this.element = el(
      "section",
      { class: "panel sop-panel", "aria-label": "The chosen s-op" },
      el("h2", {}, "The chosen s-op ", this.title),
      this.made,
      this.facts,
      this.values,
      this.matrices.element,
      this.note,
      this.lines.length ? this.text : null,
    );
  }

  measure(): void {
    this.shown = null;
  }

  draw(now: Showing): void {
    const { program } = this;
    const chosen = program.chosen(now);
    if (this.shown?.[0] !== chosen || this.shown[1] !== program.evaluated) {
      this.shown = [chosen, program.evaluated];
      this.show(chosen, now);
    }
    const at = program.place(now).at;
    this.matrices.draw(at);
    for (const cell of this.values.querySelectorAll<HTMLElement>("td")) cell.classList.toggle("now", Number(cell.dataset["at"]) === at);
  }

  private show(number: number, now: Showing): void {
    const { program, store } = this;
    const node = program.node(number);
    const selector = program.scheme.selector(number);
    this.title.textContent = node.name;
    this.made.replaceChildren(...this.definitions(number).map(([name, text], n) => el("span", {}, ...(n ? [el("b", {}, name), ` = ${text}`] : [`= ${text}`]))));
    const layer = program.scheme.layer(number);
    const button = (row: number) => el("button", { type: "button", class: "small mono", click: () => store.set({ node: row }) }, program.node(row).name);
    const users = program.scheme.edges.filter(({ from, role }) => from === number && role !== "again").map(({ to }) => to);
    this.facts.replaceChildren(
      el("span", {}, `${KINDS[program.kind(number)]}, in the stream ${layer < 0 ? "from the embedding on" : `after layer ${layer + 1}`}`),
      ...(users.length ? [el("span", { class: "read-by" }, "read by ", ...[...new Set(users)].flatMap((row, n) => (n ? [" ", button(row)] : [button(row)])))] : []),
    );
    this.values.replaceChildren(...(selector === null ? [this.table(number)] : []));
    const heads = selector === null ? [] : program.looks(number, now);
    if (selector === null) this.matrices.element.replaceChildren();
    else this.matrices.show(number, heads, this.element.clientWidth - 2 * parseFloat(getComputedStyle(this.element).paddingLeft));
    this.note.replaceChildren(...(selector === null ? [] : this.compared(selector, heads)));
    this.mark(number);
  }

  /** How a node is made, and the selectors with names that it is made of. */
  private definitions(number: number): [string, string][] {
    const found = new Map<number, [string, string]>();
    const visit = (each: number, always: boolean): void => {
      const { kind, name, text, box, arguments: parts } = this.program.node(each);
      if (always || (kind === "selector" && box)) found.set(each, [name, text]);
      if (always || kind === "selector") for (const part of parts) if (this.program.node(part).kind === "selector") visit(part, false);
    };
    visit(number, true);
    return [...found.values()].filter(([name, text]) => name !== text);
  }

  /** How the heads of the weights compare with a selector, in words. */
  private compared(selector: number, heads: Looks[]): (Node | string)[] {
    const rows = this.program.selected(selector);
    if (!heads.length) return ["No head of the weights looks for this selector."];
    const empty = rows.filter((row) => !row.includes(true)).length;
    if (empty === rows.length) return [`Nothing is selected on this input, and the ${heads.length === 1 ? "head's value is" : "heads' values are"} not used.`];
    const different = heads.map(({ keys }) => rows.reduce((sum, row, q) => sum + (row.includes(true) ? row.filter((on, k) => on !== keys[q]!.includes(k)).length : 0), 0));
    const verdicts = heads.map(({ label }, n) => el("span", { class: different[n] ? "bad" : "good" }, different[n] ? `✗ head ${label} differs in ${count(different[n], "cell")}` : `✓ head ${label} looks where the selector selects`));
    const nothing = empty ? `; at ${count(empty, "position")} nothing is selected, and the head's value there is not used` : "";
    return [...verdicts.flatMap((verdict, n) => (n ? [", ", verdict] : [verdict])), `${nothing}.`];
  }

  /** The values of an s-op below the tokens, and above it those of what it is made of. */
  private table(number: number): HTMLElement {
    const { program, store } = this;
    const parts = program.scheme.into(number).map(({ from }) => from);
    const row = (name: string, texts: string[], kind: string) =>
      el("tr", { class: kind }, el("th", { scope: "row", class: "mono" }, name), ...texts.map((text, at) => el("td", { class: "mono", "data-at": at, click: () => store.set({ i: program.position(at), playing: false }) }, text)));
    const rows = parts.filter((part) => program.texts(part).length).map((part) => row(program.node(part).name, program.texts(part), "part"));
    return el("table", {}, el("caption", { class: "said" }, `${program.node(number).name} at every position`), row("input", program.word, "word"), ...rows, row(program.node(number).name, program.texts(number), "result"));
  }

  /** Mark the lines of the program that a node comes from, and bring them into view. */
  private mark(number: number): void {
    const { at } = this.program.node(number);
    this.lines.forEach((line, n) => {
      const text = this.program.lines[n]!;
      const here = at !== null && at[0] === n + 1;
      line.classList.toggle("from", here);
      if (!here) line.firstElementChild!.replaceChildren(text || " ");
      else {
        const [start, end] = [at[1] - 1, Math.min(text.length, at[1] - 1 + at[2])];
        line.firstElementChild!.replaceChildren(text.slice(0, start), el("mark", {}, text.slice(start, end)), text.slice(end));
        this.text.scrollTop = line.offsetTop - this.text.clientHeight / 2;
      }
      set(line, { "aria-current": here ? "true" : null });
    });
  }
}
