// A formula, or a program of B-, S- or C-RASP: its syntax tree beside the word, and every subformula at every position. The chosen cell says
// why it is what it is, and where its head looks.

import type { Run } from "../data";
import { el, set } from "../dom";
import { nearest } from "../live/truth/atoms";
import { evaluate, type Evaluated } from "../live/truth/sequence";
import type { Store } from "../state";
import type { NodeSpec, SequenceSpec } from "./spec";
import { listed, reason, sign } from "./why";

/** A row of the tree: a node where it is first met, with its parts below, or met again, without. */
interface TreeRow {
  node: number;
  depth: number;
  again: boolean;
}

const FAR = 12;

export class FormulaPanel {
  readonly element: HTMLElement;
  private readonly found: Evaluated;
  private readonly tree: TreeRow[];
  private readonly grid: HTMLElement;
  private readonly scroll: HTMLElement;
  private readonly why = el("div", { class: "formula-why", "aria-live": "polite" });
  private readonly heads: string[];
  /** By row and position of the word, from 0. */
  private readonly cells: HTMLElement[][] = [];
  private readonly columns: HTMLElement[] = [];
  private readonly labels: HTMLElement[] = [];
  private lit: HTMLElement[] = [];
  private row = 0;
  private followed = -1;

  constructor(
    private readonly run: Run,
    private readonly spec: SequenceSpec,
    private readonly store: Store,
  ) {
    const { before, after } = spec;
    const tokens = Array.from({ length: run.count - before.length - after.length }, (_, p) => this.fed(p + before.length));
    this.found = evaluate(spec, tokens);
    this.tree = treeOf(spec);
    this.heads = run.spec.layers.flatMap(({ heads }, l) => heads.map((_, k) => `${l} ${k}`));
    const corner = el("span", { role: "columnheader", class: "formula-node" }, "subformula");
    this.columns = tokens.map((token, p) =>
      el("span", { role: "columnheader", class: "formula-token", "data-position": p + before.length }, el("b", { class: "mono" }, this.shown(token)), el("span", { class: "index" }, String(p + before.length))),
    );
    const header = el("div", { role: "row", class: "formula-row formula-header" }, corner, ...this.columns);
    const rows = this.tree.map((row, r) => this.treeRow(row, r, tokens.length));
    this.grid = el("div", { class: "formula-grid", role: "grid", "aria-label": "Every subformula at every position", "aria-rowcount": rows.length + 1, style: `--positions:${tokens.length}` }, header, ...rows);
    this.scroll = el("div", { class: "scroll formula-scroll" }, this.grid);
    this.grid.addEventListener("click", (event) => this.clicked(event));
    this.grid.addEventListener("keydown", (event) => this.pressed(event));
    this.element = el("section", { class: "panel formula-panel", "aria-label": `The ${spec.noun} at every position` }, el("h2", {}, `The ${spec.automaton ? "levels" : spec.noun}, at every position `, el("span", { class: "check" }, this.summary())), this.scroll, this.why);
  }

  /** Give the tree what room the positions leave, at least two fifths, and keep the chosen column in view. */
  measure(): void {
    const room = this.scroll.clientWidth - 2;
    const positions = this.columns.reduce((sum, column) => sum + column.offsetWidth, 0);
    this.grid.style.setProperty("--tree", `${Math.max(Math.floor(0.42 * room), room - positions)}px`);
    this.followed = -1;
  }

  draw(position: number, layer: number): void {
    const { before, nodes } = this.spec;
    const p = Math.max(0, Math.min(position - before.length, this.columns.length - 1));
    const outside = position < before.length || position - before.length >= this.columns.length;
    const { node } = this.tree[this.row]!;
    this.mark(p, outside, layer);
    const { words, cells } = reason(this.spec, this.found, node, p + 1);
    for (const [which, at] of outside ? [] : cells) this.light(which, at - 1, "reads");
    const heads = outside ? [] : nodes[node]!.heads.map((place) => this.looked(place, p + before.length));
    for (const { hue, attended } of heads.slice(0, 1))
      for (const j of attended.length > FAR ? [] : attended) {
        const column = this.columns[j - before.length];
        if (column) this.add(column, `seen ${hue}`);
      }
    this.why.replaceChildren(...(outside ? this.ends(position) : this.said(node, p, words, heads)));
    this.follow(p);
  }

  // ── what is drawn once ──
  private treeRow({ node, depth, again }: TreeRow, r: number, n: number): HTMLElement {
    const spec = this.spec.nodes[node]!;
    const named = spec.variable || spec.name;
    const title = again ? `${spec.text}: the same part as above` : spec.variable ? `${spec.variable} = ${spec.text}` : spec.text;
    const label = el(
      "span",
      { role: "rowheader", class: `formula-node${again ? " again" : ""}`, title },
      ...Array.from({ length: depth }, () => el("i", { class: "guide", "aria-hidden": "true" })),
      el("span", { class: "operator" }, sign(spec, this.spec)),
      el("span", { class: `mono formula-text${spec.variable ? " defined" : ""}` }, named),
    );
    this.labels.push(label);
    this.cells.push(Array.from({ length: n }, (_, p) => this.cell(node, spec, r, p)));
    return el("div", { role: "row", class: `formula-row${depth === 0 ? " root" : ""}`, "aria-rowindex": r + 2, "data-node": node }, label, ...this.cells.at(-1)!);
  }

  private cell(node: number, { kind }: NodeSpec, row: number, p: number): HTMLElement {
    const text = this.found.texts[node]![p]!;
    const wrong = this.wrong(node, p);
    const at = p + this.spec.before.length;
    const look = kind === "bit" ? (text === "T" ? "yes" : "no") : kind;
    const said = wrong === null ? null : `the weights say ${wrong}, the evaluator ${text}`;
    return el(
      "span",
      { role: "gridcell", class: `formula-cell mono ${look}${wrong === null ? "" : " bad"}`, tabindex: -1, "data-row": row, "data-position": at, title: said, "aria-label": said && `${text}: ${said}` },
      this.shown(text),
      wrong === null ? null : el("span", { class: "due" }, `✗ ${wrong}`),
    );
  }

  /** What the weights answer instead of a value; null where that is right, or where they do not answer it. */
  private wrong(node: number, p: number): string | null {
    const { outputs, before } = this.spec;
    const k = outputs.findIndex((output) => output.node === node);
    const heading = this.run.spec.columns[k + 1];
    if (k < 0 || !heading) return null;
    const i = p + before.length;
    const value = this.found.values[node]![p]!;
    const right = heading.number && typeof value !== "string" ? this.run.rows.number(heading.name, i) === nearest(value) : this.run.rows.text(heading.name, i) === this.shown(this.found.texts[node]![p]!);
    return right ? null : this.run.rows.cell(heading.name, i);
  }

  private summary(): string {
    const { tree, columns, cells } = this;
    const bad = cells.flat().filter((cell) => cell.classList.contains("bad")).length;
    const size = `${new Set(tree.map(({ node }) => node)).size} subformulas × ${columns.length} positions`;
    return bad ? `${size}: ${bad} ${bad === 1 ? "cell differs" : "cells differ"} from the evaluator` : `${size}; the weights agree`;
  }

  /** A text as tables show it. */
  private shown(text: string): string {
    const { shown } = this.run.spec.live;
    return Object.hasOwn(shown, text) ? shown[text]! : text;
  }

  /** The token at a position of the run, as the alphabet has it. */
  private fed(i: number): string {
    const token = this.run.rows.fed(i);
    return this.spec.alphabet.find((letter) => this.shown(letter) === token) ?? token;
  }

  // ── what is drawn at every step ──
  private mark(p: number, outside: boolean, layer: number): void {
    for (const element of this.lit) element.className = element.dataset["plain"]!;
    this.lit = [];
    const focused = this.grid.querySelector("[tabindex='0']");
    if (focused) set(focused, { tabindex: -1, "aria-selected": null });
    if (outside) return;
    this.add(this.columns[p]!, "now");
    for (const row of this.cells) this.add(row[p]!, "now");
    this.add(this.labels[this.row]!, "chosen");
    this.tree.forEach(({ node }, r) => {
      if (this.spec.nodes[node]!.heads.some(([each]) => each === layer)) this.add(this.labels[r]!, "of-layer");
    });
    const chosen = this.cells[this.row]![p]!;
    this.add(chosen, "chosen");
    set(chosen, { tabindex: 0, "aria-selected": "true" });
    if (this.grid.contains(document.activeElement)) chosen.focus({ preventScroll: true });
  }

  private light(node: number, p: number, how: string): void {
    this.tree.forEach((row, r) => {
      if (row.node === node) this.add(this.cells[r]![p]!, how);
    });
  }

  private add(element: HTMLElement, how: string): void {
    element.dataset["plain"] ??= element.className;
    element.className += ` ${how}`;
    this.lit.push(element);
  }

  /** Where a head looks from a position of the run. */
  private looked([layer, head]: [number, number], i: number): { label: string; hue: string; attended: number[]; layer: number } {
    const look = this.run.look(layer, head, i);
    const attended = look.uniform ? Array.from({ length: look.count }, (_, k) => look.winner + k) : look.sharers;
    return { label: `${layer + 1}.${head + 1}`, hue: `hue${Math.max(0, this.heads.indexOf(`${layer} ${head}`)) % 7}`, attended, layer };
  }

  private said(node: number, p: number, words: (string | { code: string })[], heads: { label: string; hue: string; attended: number[] }[]): HTMLElement[] {
    const { name, text, variable, kind } = this.spec.nodes[node]!;
    const at = p + this.spec.before.length;
    const wrong = this.wrong(node, p);
    const value = this.found.texts[node]![p]!;
    const said = kind === "bit" ? (value === "T" ? "true" : "false") : this.shown(value);
    const code = (text: string) => el("code", {}, this.shown(text));
    const first = el("p", { class: "story" }, code(variable || name), ` is `, el("b", {}, said), ` at ${at}: `, ...words.map((word) => (typeof word === "string" ? word : code(word.code))), ".");
    const looks = heads.map(({ label, hue, attended }) =>
      el("p", { class: `look ${hue}` }, el("b", { class: "tag" }, label), el("span", {}, `the head looks at ${attended.length > 1 ? "positions" : "position"} `, el("b", { class: "where" }, listed(attended)))),
    );
    const whole = text !== name && text !== variable ? el("p", { class: "meaning mono" }, variable ? `${variable} = ${text}` : text) : null;
    const bad = wrong === null ? null : el("p", { class: "bad" }, `✗ The weights say ${wrong} here.`);
    return [first, bad, ...looks, whole].filter((part) => part !== null);
  }

  private ends(position: number): HTMLElement[] {
    const token = this.run.rows.fed(position);
    return [el("p", { class: "story" }, `Position ${position} is ${token}, outside the word: choose a position of the word to see why a part is true or false there.`)];
  }

  private follow(p: number): void {
    if (p === this.followed) return;
    this.followed = p;
    const [column, label] = [this.columns[p]!, this.labels[0]!];
    const [left, right] = [column.offsetLeft - label.offsetWidth, column.offsetLeft + column.offsetWidth];
    const { scrollLeft, clientWidth } = this.scroll;
    if (left < scrollLeft) this.scroll.scrollLeft = left;
    else if (right > scrollLeft + clientWidth) this.scroll.scrollLeft = right - clientWidth;
  }

  // ── what is chosen ──
  private clicked({ target }: Event): void {
    const cell = (target as Element).closest<HTMLElement>("[data-position]");
    if (cell) this.choose(Number(cell.dataset["row"] ?? this.row), Number(cell.dataset["position"]));
  }

  /** Choose a cell: the position, and the layer of the head that computes it. */
  private choose(row: number, i: number, layer = true): void {
    this.row = row;
    const { heads } = this.spec.nodes[this.tree[row]!.node]!;
    this.store.set({ i, playing: false, ...(layer && heads[0] ? { layer: heads[0][0] } : {}) });
  }

  private pressed(event: KeyboardEvent): void {
    const cell = (event.target as Element).closest<HTMLElement>("[data-row]");
    if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
    // what is chosen, not what has the focus: that follows when the page is drawn, and keys may come faster
    const [row, p] = [this.row, this.store.now.i - this.spec.before.length];
    const [rows, positions] = [this.tree.length - 1, this.columns.length - 1];
    const places: Record<string, [number, number]> = {
      ArrowLeft: [row, p - 1],
      ArrowRight: [row, p + 1],
      ArrowUp: [row - 1, p],
      ArrowDown: [row + 1, p],
      Home: [row, 0],
      End: [row, positions],
      Enter: [row, p],
      " ": [row, p],
    };
    const place = places[event.key];
    if (!place) return;
    event.preventDefault();
    event.stopPropagation();
    const [r, q] = [Math.max(0, Math.min(rows, place[0])), Math.max(0, Math.min(positions, place[1]))];
    this.choose(r, q + this.spec.before.length, event.key === "Enter" || event.key === " ");
  }
}

/** Whether a node says the same everywhere, or is the token, which stands above the columns. */
function plain({ operator, arguments: parts }: NodeSpec): boolean {
  return operator === "always" || operator === "text" || operator === "input" || (operator === "sum" && !parts.length);
}

/** The rows of the syntax tree, the root first, each part below what it is a part of. */
function treeOf({ nodes, root }: SequenceSpec): TreeRow[] {
  const rows: TreeRow[] = [];
  const met = new Set<number>();
  const waiting: [number, number][] = [[root, 0]];
  while (waiting.length) {
    const [node, depth] = waiting.pop()!;
    const parts = [...new Set(nodes[node]!.arguments)].filter((part) => !plain(nodes[part]!));
    const again = met.has(node) && parts.length > 0;
    met.add(node);
    rows.push({ node, depth, again });
    if (!again) waiting.push(...parts.reverse().map((part): [number, number] => [part, depth + 1]));
  }
  return rows;
}
