// The editor: a text area with line numbers, colours and underlined places, which lie below it. No part of the text is ever HTML.

import { el, set } from "../dom";
import type { Diagnostic } from "./text";

const INDENT = "  ";
const FEWEST_LINES = 12;
const MOST_LINES = 19;
/** Longer texts have no colours. */
const MOST_COLOURED = 60_000;
const TOKENS = /(?<comment>(?:^|(?<=\s))#.*)|(?<text>'(?:[^'\n]|'')*'|"(?:[^"\\\n]|\\.)*")|(?<key>(?:[^\s:#,{}[\]'"][^:#,{}[\]'"\n]*?)(?=\s*:(?:\s|$)))|(?<mark>[{}[\],])/gm;

interface Piece {
  from: number;
  to: number;
  kind: string;
}

export class Editor {
  readonly element: HTMLElement;
  readonly area: HTMLTextAreaElement;
  private readonly numbers = el("div", {});
  private readonly below = el("pre", { class: "below mono", "aria-hidden": "true" });
  private diagnostics: Diagnostic[] = [];
  /** Whether the next Tab leaves the editor: after Escape. */
  private leaving = false;

  /** changed: the text is another; done: Ctrl-Enter. */
  constructor(
    label: string,
    describedBy: string,
    private readonly changed: () => void,
    private readonly done: () => void,
  ) {
    this.area = el("textarea", {
      class: "mono",
      id: "machine",
      "aria-label": label,
      "aria-describedby": describedBy,
      wrap: "off",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      autocorrect: "off",
      input: () => this.edited(),
      scroll: () => this.follow(),
      keydown: (event: KeyboardEvent) => this.key(event),
      blur: () => (this.leaving = false),
    });
    this.element = el("div", { class: "editor" }, el("div", { class: "numbers mono", "aria-hidden": "true" }, this.numbers), el("div", { class: "paper" }, this.below, this.area));
  }

  get text(): string {
    return this.area.value;
  }

  /** Show another text. */
  show(text: string): void {
    this.area.value = text;
    this.diagnostics = [];
    this.area.scrollTo(0, 0);
    this.draw();
  }

  /** Put another text in place of all, so that the browser's Undo takes it back. */
  replace(text: string): void {
    this.area.focus();
    this.area.select();
    this.write(text);
    this.area.setSelectionRange(0, 0);
    this.area.scrollTo(0, 0);
  }

  /** Underline what is complained of; offsets are those of the text without a byte order mark. */
  mark(diagnostics: Diagnostic[]): void {
    this.diagnostics = diagnostics;
    set(this.area, { "aria-invalid": diagnostics.some(({ severity }) => severity === "error") ? "true" : null });
    this.draw();
  }

  /** Put the cursor at a complaint, and bring it into view. */
  go(diagnostic: Diagnostic): void {
    this.area.focus();
    if (!diagnostic.span) return;
    const [from, to] = diagnostic.span.at;
    this.area.setSelectionRange(from, Math.min(to, this.text.length));
    const line = diagnostic.span.line - 1;
    const height = this.area.scrollHeight / this.text.split("\n").length;
    if (line * height < this.area.scrollTop || (line + 2) * height > this.area.scrollTop + this.area.clientHeight) this.area.scrollTop = Math.max(0, (line - 3) * height);
  }

  private edited(): void {
    this.diagnostics = this.diagnostics.filter(({ span }) => !span); // their places have moved
    this.draw();
    this.changed();
  }

  private draw(): void {
    const lines = this.text.split("\n").length;
    this.area.rows = Math.max(FEWEST_LINES, Math.min(MOST_LINES, lines + 1));
    const bad = new Map(this.diagnostics.flatMap(({ span, severity }) => (span ? [[span.line, severity] as const] : [])));
    this.numbers.replaceChildren(...Array.from({ length: lines }, (_, n) => el("span", { class: bad.get(n + 1) ?? null }, String(n + 1))));
    this.below.replaceChildren(...this.painted());
    this.follow();
  }

  /** The text in pieces, each with its colour and its underline. */
  private painted(): Node[] {
    const { text } = this;
    const coloured: Piece[] = [];
    if (text.length <= MOST_COLOURED && text.includes(":"))
      for (const match of text.matchAll(TOKENS)) coloured.push({ from: match.index, to: match.index + match[0].length, kind: `in-${Object.entries(match.groups!).find(([, found]) => found !== undefined)![0]}` });
    const wrong = this.diagnostics.flatMap(({ span, severity }): Piece[] => (span ? [{ from: span.at[0], to: span.at[1], kind: severity }] : []));
    const cuts = [...new Set([0, text.length, ...[...coloured, ...wrong].flatMap(({ from, to }) => [from, to])])].filter((at) => at <= text.length).sort((a, b) => a - b);
    let next = 0;
    const pieces = cuts.slice(0, -1).map((from, n) => {
      while (next < coloured.length && coloured[next]!.to <= from) next++;
      const colour = coloured[next] && coloured[next]!.from <= from ? coloured[next]!.kind : "";
      const mark = wrong.find((each) => each.from <= from && from < each.to)?.kind ?? "";
      const part = text.slice(from, cuts[n + 1]);
      const shown = mark && part === "\n" ? " \n" : part; // what is missing at the end of a line
      return colour || mark ? el("span", { class: `${colour} ${mark}`.trim() }, shown) : document.createTextNode(shown);
    });
    const missing = wrong.some(({ from }) => from >= text.length) ? [el("span", { class: "error" }, " ")] : [];
    return [...pieces, ...missing, document.createTextNode("\n")];
  }

  private follow(): void {
    const { scrollTop, scrollLeft } = this.area;
    this.numbers.style.transform = `translateY(${-scrollTop}px)`;
    this.below.style.transform = `translate(${-scrollLeft}px, ${-scrollTop}px)`;
  }

  // ── keys ────────────────────────────────────────────────────────────────────────────────────────────────
  private key(event: KeyboardEvent): void {
    const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
    if (key === "Enter" && (ctrlKey || metaKey)) {
      event.preventDefault();
      return this.done();
    }
    if (key === "Escape") {
      this.leaving = true;
      return;
    }
    if (ctrlKey || metaKey || altKey) return;
    if (key === "Tab" && !this.leaving) {
      event.preventDefault();
      this.indent(shiftKey);
    } else if (key === "Enter" && !shiftKey) {
      event.preventDefault();
      this.newLine();
    }
    if (key !== "Tab" && key !== "Shift") this.leaving = false;
  }

  /** Indent the lines of the selection, or take the indentation back; without a selection, write it here. */
  private indent(back: boolean): void {
    const { selectionStart: start, selectionEnd: end } = this.area;
    if (start === end && !back) return this.write(INDENT);
    const first = this.text.lastIndexOf("\n", start - 1) + 1;
    const last = end > start && this.text[end - 1] === "\n" ? end - 1 : end;
    const stop = this.text.indexOf("\n", last) < 0 ? this.text.length : this.text.indexOf("\n", last);
    const lines = this.text.slice(first, stop).split("\n");
    const changed = lines.map((line) => (back ? line.replace(/^ {1,2}/, "") : line ? INDENT + line : line)).join("\n");
    if (changed === lines.join("\n")) return;
    this.area.setSelectionRange(first, stop);
    this.write(changed);
    this.area.setSelectionRange(start === end ? Math.max(first, start - INDENT.length) : first, start === end ? Math.max(first, start - INDENT.length) : first + changed.length);
  }

  /** A new line with the indentation of this one, and more of it after a colon. */
  private newLine(): void {
    const { selectionStart: start } = this.area;
    const line = this.text.slice(this.text.lastIndexOf("\n", start - 1) + 1, start);
    const more = /:\s*$/.test(line) ? INDENT : "";
    this.write(`\n${/^ */.exec(line)![0]}${more}`);
  }

  /** Write a text in place of the selection, so that the browser's Undo takes it back. */
  private write(text: string): void {
    if (document.execCommand("insertText", false, text)) return;
    const { selectionStart, selectionEnd } = this.area;
    this.area.setRangeText(text, selectionStart, selectionEnd, "end");
    this.edited();
  }
}
