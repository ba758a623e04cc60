// A selector as a matrix of query positions and key positions, with what it compares and what comes of it around it; beside it, of the
// same size, where the weights' heads look.

import { el, set, svg } from "../dom";
import type { Store } from "../state";
import type { Program } from "./program";

/** Sizes in pixels: of a cell, between the parts, of a character, and the most characters of a label, the best first. */
const CELL = 26;
const LEAST = 19;
const GAP = 7;
const CHARACTER = 7;
const LONGEST = [24, 18, 14, 10];
/** Of a line above the matrix with the name of a column; between two matrices. */
const FLAG = 17;
const SPACE = 24;
/** Shares of attention are written into the cells where there are at most so many positions. */
const WRITTEN = 16;

/** Where a head of the weights looks: by query position, the key positions that share its weight. */
export interface Looks {
  /** Layer and head as people count them: `2.1`. */
  label: string;
  hue: number;
  keys: number[][];
}

export class Matrices {
  readonly element = el("div", { class: "matrices" });
  /** By query position, what is marked when it is looked at. */
  private marked: SVGElement[][] = [];
  private cell = CELL;
  /** The most characters of a label. */
  private longest = LONGEST[0]!;
  /** Whether the matrices of heads are below that of the selector. */
  private stacked = false;

  constructor(
    private readonly program: Program,
    private readonly store: Store,
  ) {}

  /** Draw the matrix of the selector of a node, and beside it those of heads, in `room` pixels. */
  show(node: number, heads: Looks[], room: number): void {
    const { count, scheme } = this.program;
    const selector = scheme.selector(node)!;
    this.marked = Array.from({ length: count }, () => []);
    const own = () => this.margins(selector).left + this.margins(selector).right + 4;
    const beside = (this.width([this.program.word]) + 2 + SPACE) * heads.length;
    const together = () => Math.floor((room - own() - beside) / (count * (1 + heads.length)));
    this.cell = CELL;
    for (this.longest of LONGEST) if (together() >= LEAST) break;
    this.stacked = together() < LEAST;
    if (this.stacked) this.longest = LONGEST[0]!;
    this.cell = Math.min(CELL, this.stacked ? Math.max(LEAST, Math.floor((room - own()) / count)) : together());
    this.element.replaceChildren(this.selector(node, selector), ...heads.map((head) => this.attention(node, selector, head)));
  }

  /** Mark the row of a query position. */
  draw(at: number): void {
    this.marked.forEach((parts, q) => {
      for (const part of parts) {
        part.classList.toggle("now", q === at);
        if (part.hasAttribute("tabindex")) set(part, { tabindex: q === at ? 0 : -1 });
      }
    });
  }

  private selector(node: number, selector: number): HTMLElement {
    const { program, cell } = this;
    const { count, scheme } = program;
    const { keys, queries } = scheme.compared(selector);
    const results = scheme.aggregates(selector);
    const values = this.averaged(selector);
    const { left, asked, given, top } = this.margins(selector);
    const right = left + count * cell + GAP;
    const bottom = top + count * cell + GAP;
    const parts: SVGElement[] = [
      ...this.texts(program.word, (k) => [left + (k + 0.5) * cell, cell / 2], cell, "token-label"),
      ...this.texts(program.word, (q) => [left - asked * (queries.length + 0.5), top + (q + 0.5) * cell], asked, "token-label"),
    ];
    keys.forEach((key, n) => parts.push(this.text(this.label(key), left - GAP, (n + 1.5) * cell, "end", "label of-key"), ...this.strip(key, left, (n + 1) * cell, "key")));
    queries.forEach((query, n) => {
      const x = left - asked * (queries.length - n);
      const y = top - 12 - FLAG * (queries.length - n - 1);
      parts.push(this.text(this.label(query), x + asked, y, "end", "label of-query"), ...this.down(query, x, top, asked, "query"));
    });
    results.forEach((result, n) => {
      const y = top - 12 - FLAG * (results.length - n - 1);
      const kinds = program.selected(selector).map((row) => (row.includes(true) ? "value" : "fallback"));
      parts.push(this.text(this.label(result, Math.floor((count * cell + (n + 1) * given) / CHARACTER)), right + (n + 1) * given - 2, y, "end", `label of-value${result === node ? " shown" : ""}`), ...this.down(result, right + n * given, top, given, kinds));
    });
    values.forEach((value, n) => parts.push(this.text(this.label(value), left - GAP, bottom + (n + 0.5) * cell, "end", "label of-value"), ...this.strip(value, left, bottom + n * cell, "value")));
    const rows = program.selected(selector).map((row, q) => {
      const path = row.flatMap((on, k) => (on ? [square(left + k * cell, top + q * cell, cell)] : [])).join("");
      return this.row(node, q, left, top, path, "on", this.saidRow(row), "selector");
    });
    const width = right + given * results.length + 2;
    const height = bottom + values.length * cell + 2;
    return this.figure("selector", `The selector: row, query position; column, key position`, width, height, left, top, [...parts, ...rows]);
  }

  private attention(node: number, selector: number, { label, hue, keys }: Looks): HTMLElement {
    const { program, cell } = this;
    const { count } = program;
    const left = this.width([program.word]) + 2;
    const top = this.stacked ? cell + GAP : this.margins(selector).top;
    const parts: SVGElement[] = [
      ...this.texts(program.word, (k) => [left + (k + 0.5) * cell, top - cell / 2 - 3], cell, "token-label"),
      ...this.texts(program.word, (q) => [left / 2, top + (q + 0.5) * cell], left, "token-label"),
    ];
    const rows = keys.map((looked, q) => {
      const due = program.selected(selector)[q]!;
      const empty = !due.includes(true);
      const share = 1 / looked.length;
      const path = looked.map((k) => square(left + k * cell, top + q * cell, cell)).join("");
      const group = this.row(node, q, left, top, path, `share${empty ? " loose" : ""}`, `head ${label} looks at ${looked.join(", ")}${looked.length > 1 ? `, ${shareText(share)} each` : ""}`, label);
      group.querySelector(".share")?.setAttribute("fill-opacity", String(share === 1 ? 1 : 0.12 + 0.5 * share));
      if (count <= WRITTEN) for (const k of looked) group.append(this.text(shareText(share), left + (k + 0.5) * cell, top + (q + 0.5) * cell, "middle", share > 0.55 && !empty ? "written light" : "written"));
      if (empty) return group;
      const wrong = due.flatMap((on, k) => (on !== looked.includes(k) ? [square(left + k * cell, top + q * cell, cell)] : []));
      if (wrong.length) group.append(svg("path", { class: "different", d: wrong.join("") }));
      return group;
    });
    const below = this.stacked ? 0 : GAP + this.averaged(selector).length * cell;
    const figure = this.figure(`attention hue${hue}`, `Head ${label}: row, where it looks from; column, where it looks`, left + count * cell + 2, top + count * cell + below + 2, left, top, [...parts, ...rows]);
    set(figure, { "data-head": label });
    figure.prepend(el("figcaption", {}, "attention of ", el("b", { class: "tag" }, label)));
    return figure;
  }

  private figure(kind: string, said: string, width: number, height: number, left: number, top: number, parts: SVGElement[]): HTMLElement {
    const { cell } = this;
    const { count } = this.program;
    const grid = Array.from({ length: count + 1 }, (_, n) => `M${left} ${top + n * cell}h${count * cell}M${left + n * cell} ${top}v${count * cell}`).join("");
    const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": said }, svg("rect", { class: "ground", x: left, y: top, width: count * cell, height: count * cell }), svg("path", { class: "lines", d: grid }), ...parts);
    const caption = kind === "selector" ? [el("figcaption", {}, "selector")] : [];
    return el("figure", { class: `matrix ${kind}` }, ...caption, el("div", { class: "scroll", tabindex: -1 }, drawing));
  }

  /** A row of a matrix: what is filled, and what is pointed at. */
  private row(node: number, q: number, left: number, top: number, path: string, kind: string, said: string, of: string): SVGGElement {
    const { cell, program, store } = this;
    const { count } = program;
    const light = () => store.set({ lit: { node, at: q } });
    const frame = svg("rect", {
      class: "row-frame",
      x: left,
      y: top + q * cell,
      width: count * cell,
      height: cell,
      tabindex: -1,
      role: "button",
      "aria-label": `position ${q}, ${program.word[q]}: ${said}`,
      "data-row": q,
      "data-of": of,
      mouseenter: light,
      mouseleave: () => store.set({ lit: null }),
      focus: light,
      blur: () => store.set({ lit: null }),
      click: () => store.set({ i: program.position(q), playing: false }),
      keydown: (event: KeyboardEvent) => this.key(event, of, q),
    });
    this.marked[q]!.push(frame);
    return svg("g", { class: "matrix-row" }, path ? svg("path", { class: kind, d: path }) : null, frame);
  }

  private key(event: KeyboardEvent, of: string, q: number): void {
    const next = { ArrowUp: q - 1, ArrowDown: q + 1, Home: 0, End: this.program.count - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") this.store.set({ i: this.program.position(q), playing: false });
    else if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    else this.element.querySelector<SVGElement>(`[data-of="${of}"][data-row="${next}"]`)?.focus();
    event.preventDefault();
  }

  private saidRow(row: boolean[]): string {
    const keys = row.flatMap((on, k) => (on ? [k] : []));
    return keys.length ? `selects ${keys.join(", ")}` : "selects nothing";
  }

  /** What is around the matrix of a selector: the room left of it, of which each column of queries takes `asked`, the columns of results
   * right of it, each `given` wide, and the room above it. */
  private margins(selector: number): { left: number; right: number; top: number; asked: number; given: number } {
    const { program, cell } = this;
    const { keys, queries } = program.scheme.compared(selector);
    const results = program.scheme.aggregates(selector);
    const asked = this.width([...queries.map((query) => program.texts(query)), program.word]);
    const given = this.width(results.map((result) => program.texts(result)));
    const wide = (node: number) => this.label(node).length * CHARACTER + GAP;
    const labels = [...[...keys, ...this.averaged(selector)].map(wide), ...queries.map((query, n) => wide(query) + asked * (queries.length - n - 1))];
    const flags = Math.max(queries.length, results.length) * FLAG;
    return { left: Math.max(asked * (queries.length + 1), ...labels), right: GAP + given * results.length, top: (1 + keys.length) * cell + flags + GAP, asked, given };
  }

  private label(node: number, longest = this.longest): string {
    const { name } = this.program.node(node);
    return name.length > longest ? `${name.slice(0, longest - 1)}…` : name;
  }

  /** What is averaged where a selector selects, each once and without constants. */
  private averaged(selector: number): number[] {
    const { program } = this;
    const values = program.scheme.aggregates(selector).map((result) => program.node(result).arguments[1]!);
    return [...new Set(values)].filter((value) => program.node(value).operator !== "constant");
  }

  private width(columns: string[][]): number {
    return Math.max(this.cell, ...columns.flat().map((text) => Math.min(60, text.length * CHARACTER + 6)));
  }

  private strip(node: number, x: number, y: number, kind: string): SVGElement[] {
    const { cell } = this;
    return this.program.texts(node).flatMap((text, k) => [svg("rect", { class: `box of-${kind}`, x: x + k * cell, y, width: cell, height: cell - 2 }), this.text(text, x + (k + 0.5) * cell, y + cell / 2 - 1, "middle", "", cell - 3)]);
  }

  private down(node: number, x: number, y: number, wide: number, kind: string | string[]): SVGElement[] {
    const { cell } = this;
    return this.program.texts(node).flatMap((text, q) => [svg("rect", { class: `box of-${typeof kind === "string" ? kind : kind[q]}`, x, y: y + q * cell, width: wide - 2, height: cell }), this.text(text, x + wide / 2 - 1, y + (q + 0.5) * cell, "middle", "", wide - 4)]);
  }

  private texts(texts: string[], place: (n: number) => [number, number], most: number, kind: string): SVGElement[] {
    return texts.map((text, n) => this.text(text, ...place(n), "middle", kind, most - 3));
  }

  private text(text: string, x: number, y: number, anchor: string, kind: string, most = Infinity): SVGElement {
    const tight = text.length * CHARACTER > most ? { textLength: most, lengthAdjust: "spacingAndGlyphs" } : {};
    return svg("text", { class: kind, x, y: y + 4, "text-anchor": anchor, ...tight }, text);
  }
}

function square(x: number, y: number, size: number): string {
  return `M${x + 1} ${y + 1}h${size - 2}v${size - 2}h${2 - size}z`;
}

/** A share of attention in at most three characters: `1`, `.33`, `~0`. */
function shareText(share: number): string {
  const text = share.toFixed(2);
  return share >= 0.995 ? "1" : text === "0.00" ? "~0" : text.slice(1);
}
