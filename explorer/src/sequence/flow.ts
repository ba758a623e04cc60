// The flow of a RASP program: a row for each s-op and for the selector of each head, its values along the tape, in bands by the layer
// after which the weights know it; arcs between the rows, and from cell to cell where the chosen one comes from.

import { el, set, svg } from "../dom";
import type { Showing, Store } from "../state";
import type { Program } from "./program";
import { type Edge, type Kind, type Place, type Role, sizeOf } from "./scheme";

/** Heights in pixels: of a row, of a cell in it, of the heading of a band. */
const ROW = 36;
const HIGH = 26;
const HEAD = 36;
/** Widths in pixels: of a cell, and of a character in it. */
const LEAST = 26;
const MOST = 46;
const WIDEST = 78;
const CHARACTER = 7.4;
/** Where the rows' dots are: right of the arcs. */
const DOT = 12;
/** The most positions that are drawn in a selector's cell. */
const BARS = 48;
const ROLES: [Role, string][] = [["key", "keys"], ["query", "queries"], ["value", "values"], ["part", "same position"], ["again", "next pass"]];

export class FlowPanel {
  readonly element: HTMLElement;
  private readonly scroll = el("div", { class: "scroll flow" });
  private readonly heading = svg("svg", { class: "flow-positions", "aria-hidden": "true" });
  private readonly names = el("div", { class: "flow-names" });
  private readonly arcs = svg("svg", { class: "flow-arcs", "aria-hidden": "true" });
  private readonly tape = svg("svg", { class: "flow-tape", "aria-hidden": "true" });
  private readonly said = el("p", { class: "flow-said mono" });
  private readonly lines = svg("g", {});
  private readonly marks = svg("g", {});
  private readonly column = svg("rect", { class: "flow-column" });
  private readonly buttons = new Map<number, HTMLButtonElement>();
  private readonly bands = new Map<number, HTMLButtonElement>();
  private readonly cells = new Map<number, SVGGElement>();
  private readonly edges: { edge: Edge; group: SVGGElement }[] = [];
  /** The middle of each row, from the top. */
  private readonly middle = new Map<number, number>();
  private readonly height: number;
  private wide = 0;
  private drawn: unknown = null;
  private shown: number | null = null;

  constructor(
    private readonly program: Program,
    private readonly store: Store,
  ) {
    let y = 0;
    for (const { layer, rows } of program.scheme.bands) {
      const button = el(
        "button",
        { type: "button", class: "flow-band", "aria-pressed": "false", style: `top:${y}px`, click: () => store.set({ layer: program.step(layer, store.now.layer), playing: false }) },
        el("span", { class: "number" }, String(layer + 1)),
        program.title(layer),
      );
      this.bands.set(layer, button);
      this.names.append(button);
      y += HEAD;
      for (const row of rows) {
        this.middle.set(row, y + ROW / 2);
        this.names.append(this.name(row, y));
        y += ROW;
      }
    }
    this.height = y + 4;
    this.names.prepend(this.arcs);
    this.names.style.height = `${this.height}px`;
    this.scroll.append(el("div", { class: "flow-score" }, el("div", { class: "flow-corner" }), this.heading, this.names, this.tape));
    this.scroll.addEventListener("keydown", (event) => this.key(event));
    this.tape.addEventListener("mousemove", (event) => this.light(this.under(event)));
    this.tape.addEventListener("mouseleave", () => this.light(null));
    this.tape.addEventListener("click", (event) => {
      const place = this.under(event);
      if (place) store.set({ node: place.node, i: program.position(place.at), playing: false });
    });
    const legend = ROLES.filter(([role]) => program.scheme.edges.some((edge) => edge.role === role)).map(([role, name]) => el("span", { class: `flow-role of-${role}` }, name));
    this.element = el(
      "section",
      { class: "panel flow-panel", "aria-label": "The flow of the computation" },
      el("h2", {}, "The flow of the computation ", el("span", {}, program.about)),
      this.scroll,
      this.said,
      el("p", { class: "flow-key" }, ...legend, el("span", { class: "hint" }, "click a name to see how it is made; ↑ ↓ along the arcs, ← → row by row, Enter chooses")),
    );
  }

  /** Lay out the cells in the width that there is. */
  measure(): void {
    const { names, scroll, program } = this;
    this.drawn = null;
    names.style.width = "";
    const spare = scroll.clientWidth - names.offsetWidth - program.count * MOST - 16;
    if (spare > 0) names.style.width = `${Math.min(names.offsetWidth + spare, 380)}px`;
    this.drawArcs();
  }

  draw(now: Showing): void {
    const { program } = this;
    if (this.drawn !== program.evaluated) this.build();
    const here = program.place(now);
    const lit = now.lit;
    const near = new Set<number>();
    for (const { edge, group } of this.edges) {
      const touches = edge.from === here.node || edge.to === here.node;
      group.classList.toggle("near", touches);
      if (touches) near.add(edge.from).add(edge.to);
    }
    const chosen = program.chosen(now);
    for (const [row, button] of this.buttons) {
      const classes = { ...program.known(row, now), chosen: row === chosen, lit: row === lit?.node, near: near.has(row) };
      for (const [name, on] of Object.entries(classes)) for (const part of [button, this.cells.get(row)!]) part.classList.toggle(name, on);
      set(button, { "aria-pressed": String(row === chosen), tabindex: row === chosen ? 0 : -1 });
    }
    const layer = program.layer(now.layer);
    for (const [number, button] of this.bands) {
      button.classList.toggle("chosen", number === layer);
      set(button, { "aria-pressed": String(number === layer) });
    }
    set(this.column, { x: here.at * this.wide });
    this.said.textContent = program.because(here);
    this.scroll.classList.toggle("playing", now.playing);
    this.trace(here);
    if (chosen === this.shown) return;
    this.shown = chosen;
    this.show(chosen);
  }

  /** Bring a row into view, in the panel alone. */
  private show(row: number): void {
    const { scroll, heading } = this;
    const [top, bottom] = [this.middle.get(row)! - ROW - HEAD / 2, this.middle.get(row)! + ROW];
    const high = scroll.clientHeight - heading.clientHeight;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (bottom > scroll.scrollTop + high) scroll.scrollTop = bottom - high;
  }

  private name(row: number, y: number): HTMLElement {
    const { program, store } = this;
    const { name } = program.node(row);
    const button = el(
      "button",
      {
        type: "button",
        class: `sop kind-${program.kind(row)}${program.isOutput(row) ? " output" : ""}`,
        style: `top:${y}px`,
        "data-node": row,
        "aria-pressed": "false",
        title: name,
        click: () => store.set({ node: row }),
        mouseenter: () => this.light({ node: row, at: program.place(store.now).at }),
        mouseleave: () => this.light(null),
      },
      ...(program.kind(row) === "selector" ? program.tags(row) : []),
      el("span", { class: "sop-name" }, name),
    );
    this.buttons.set(row, button);
    return button;
  }

  /** Draw the cells of all rows. */
  private build(): void {
    const { program, height } = this;
    const { count, scheme } = program;
    this.drawn = program.evaluated;
    const room = this.scroll.clientWidth - this.names.offsetWidth - 10;
    const widest = Math.max(1, ...scheme.rows.flatMap((row) => program.texts(row).map((text) => text.length)));
    const least = Math.min(WIDEST, Math.max(LEAST, widest * CHARACTER + 8));
    const wide = Math.max(least, Math.min(Math.max(MOST, least), Math.floor(room / count)));
    this.wide = wide;
    const width = count * wide + 4;
    set(this.tape, { width, height, viewBox: `0 0 ${width} ${height}` });
    set(this.heading, { width, height: 20, viewBox: `0 0 ${width} 20` });
    this.heading.replaceChildren(...Array.from({ length: count }, (_, i) => svg("text", { x: (i + 0.5) * wide, y: 14, "text-anchor": "middle" }, String(i))));
    set(this.column, { y: 0, width: wide, height });
    for (const row of scheme.rows) {
      this.cells.set(row, this.row(row));
      set(this.buttons.get(row)!, { "aria-label": program.said(row) });
    }
    this.tape.replaceChildren(this.column, this.marks, this.lines, ...this.cells.values());
  }

  private row(row: number): SVGGElement {
    const { program, wide } = this;
    const kind = program.kind(row);
    const group = svg("g", { "data-node": row, class: `flow-cells kind-${kind}${program.isOutput(row) ? " output" : ""}`, transform: `translate(0 ${this.middle.get(row)! - HIGH / 2})` });
    if (kind === "selector") {
      program.selected(row).forEach((keys, q) => group.append(svg("g", { transform: `translate(${q * wide} 0)` }, ...this.bars(keys))));
      return group;
    }
    const selector = program.scheme.selector(row);
    const sizes = program.evaluated.values[row]!.map(sizeOf);
    const largest = Math.max(...sizes.map((size) => size ?? 0), 1e-9);
    program.texts(row).forEach((text, q) => group.append(svg("g", { transform: `translate(${q * wide} 0)` }, ...this.cell(text, kind, kind === "number" ? sizes[q]! / largest : 0, selector !== null && !program.selected(selector)[q]!.includes(true)))));
    return group;
  }

  /** share: how large the value is beside the largest of the row; fallback: whether it is there because nothing is selected. */
  private cell(text: string, kind: Kind, share: number, fallback: boolean): SVGElement[] {
    const { wide, program } = this;
    const hue = kind === "token" ? program.hue(text) : null;
    const frame = svg("rect", { class: `frame${hue === null ? "" : ` hue${hue} tinted`}${kind === "truth" && text === "T" ? " yes" : ""}${fallback ? " fallback" : ""}`, x: 2, width: wide - 4, height: HIGH, rx: 5 });
    const tall = Math.round((HIGH - 4) * share);
    const bar = tall ? svg("rect", { class: "bar", x: 4, y: HIGH - 2 - tall, width: wide - 8, height: tall, rx: 2 }) : null;
    return [frame, ...(bar ? [bar] : []), this.label(text)];
  }

  private label(text: string): SVGElement {
    const { wide } = this;
    const tight = text.length * CHARACTER > wide - 6 ? { textLength: wide - 8, lengthAdjust: "spacingAndGlyphs" } : {};
    return svg("text", { x: wide / 2, y: HIGH / 2 + 4.5, "text-anchor": "middle", ...tight }, text);
  }

  /** A selector's cell: the tape in small, filled where it is selected; of a long tape the number of selected positions. */
  private bars(keys: boolean[]): SVGElement[] {
    const { wide } = this;
    const frame = svg("rect", { class: "frame", x: 2, width: wide - 4, height: HIGH, rx: 5 });
    if (keys.length > BARS) return [frame, this.label(String(keys.filter(Boolean).length))];
    const step = (wide - 9) / keys.length;
    const thick = step > 2.5 ? step - 0.8 : step * 0.85;
    const path = (on: boolean) => keys.flatMap((key, k) => (key === on ? [`M${(4.5 + k * step).toFixed(2)} 5h${thick.toFixed(2)}v${HIGH - 10}h${(-thick).toFixed(2)}z`] : [])).join("");
    return [frame, svg("path", { class: "off", d: path(false) }), svg("path", { class: "on", d: path(true) })];
  }

  /** The arcs between rows, left of their names. */
  private drawArcs(): void {
    const { scheme } = this.program;
    const { height } = this;
    const room = parseFloat(getComputedStyle(this.names.querySelector(".sop")!).paddingLeft);
    const x = room - DOT;
    set(this.arcs, { width: room, height, viewBox: `0 0 ${room} ${height}` });
    this.edges.length = 0;
    const length = (edge: Edge) => this.middle.get(edge.to)! - this.middle.get(edge.from)!;
    const farthest = Math.max(...scheme.edges.map((edge) => Math.abs(length(edge))), 1);
    const shift: Record<Role, number> = { key: -4, query: 4, value: 0, selector: -3, part: 0, again: 0 };
    for (const edge of [...scheme.edges].sort((a, b) => Math.abs(length(b)) - Math.abs(length(a)))) {
      const from = this.middle.get(edge.from)!;
      const to = this.middle.get(edge.to)! + shift[edge.role];
      const depth = (12 + (x - 14) * Math.sqrt(Math.abs(length(edge)) / farthest)) * 1.3;
      const line = svg("path", { class: "line", d: `M${x} ${from}C${x - depth} ${from} ${x - depth} ${to} ${x - 8} ${to}` });
      const tip = svg("path", { class: "tip", d: `M${x - 10} ${to - 3.5}L${x - 3} ${to}L${x - 10} ${to + 3.5}Z` });
      this.edges.push({ edge, group: svg("g", { class: `flow-edge of-${edge.role}` }, line, tip) });
    }
    const dots = scheme.rows.map((row) => svg("circle", { class: `flow-dot kind-${this.program.kind(row)}`, cx: x, cy: this.middle.get(row)!, r: 4 }));
    this.arcs.replaceChildren(...this.edges.map(({ group }) => group), ...dots);
  }

  /** Draw where a cell comes from: lines from the cells that it is made of, and a mark on all that it depends on. */
  private trace(here: Place): void {
    const { wide, middle, program } = this;
    const sources = program.scheme.sources(here, program.evaluated);
    const direct = new Map(sources.map((source) => [`${source.from}:${source.at}`, source]));
    const mark = (node: number, at: number, kind: string) => svg("rect", { class: `flow-mark ${kind}`, x: at * wide, y: middle.get(node)! - HIGH / 2 - 2, width: wide, height: HIGH + 4, rx: 7 });
    this.marks.replaceChildren(
      ...program.scheme.upstream(here, program.evaluated).filter(({ node, at }) => !direct.has(`${node}:${at}`)).map(({ node, at }) => mark(node, at, "far")),
      ...[...direct.values()].map(({ from, at, role }) => mark(from, at, `of-${role}`)),
      mark(here.node, here.at, "here"),
    );
    this.lines.replaceChildren(
      ...sources.map(({ from, at, role }) => {
        const [x0, x1] = [(at + 0.5) * wide, (here.at + 0.5) * wide];
        const [y0, y1] = [middle.get(from)!, middle.get(here.node)!];
        if (at !== here.at) {
          const bend = Math.max(8, (y1 - y0 - HIGH) / 2);
          return svg("path", { class: `flow-line of-${role}`, d: `M${x0} ${y0 + HIGH / 2 + 2}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1 - HIGH / 2 - 2}` });
        }
        const edge = (here.at + 1) * wide; // between two columns, where no values are
        return svg("path", { class: `flow-line of-${role}`, d: `M${edge - 2} ${y0}Q${edge + 3} ${y0} ${edge + 3} ${y0 + 6}V${y1 - 6}Q${edge + 3} ${y1} ${edge - 2} ${y1}` });
      }),
    );
  }

  /** The row and the position under the mouse. */
  private under(event: MouseEvent): Place | null {
    const box = this.tape.getBoundingClientRect();
    const at = Math.floor((event.clientX - box.left) / this.wide);
    const y = event.clientY - box.top;
    if (at < 0 || at >= this.program.count) return null;
    for (const [node, middle] of this.middle) if (Math.abs(y - middle) <= ROW / 2) return { node, at };
    return null;
  }

  private light(lit: Place | null): void {
    const now = this.store.now.lit;
    if (lit?.node !== now?.node || lit?.at !== now?.at) this.store.set({ lit });
  }

  /** Move the focus along the arcs, or from row to row. */
  private key(event: KeyboardEvent): void {
    const { rows } = this.program.scheme;
    const edges = this.program.scheme.edges.filter(({ role }) => role !== "again");
    const place = rows.findIndex((row) => this.buttons.get(row) === document.activeElement);
    if (place < 0 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const here = rows[place]!;
    const before = () => Math.max(...edges.filter((edge) => edge.to === here).map((edge) => rows.indexOf(edge.from)), -1);
    const after = () => Math.min(...edges.filter((edge) => edge.from === here).map((edge) => rows.indexOf(edge.to)), rows.length);
    const keys: Record<string, () => number> = { ArrowUp: before, ArrowDown: after, ArrowLeft: () => place - 1, ArrowRight: () => place + 1, Home: () => 0, End: () => rows.length - 1 };
    const find = keys[event.key];
    if (!find) return;
    event.preventDefault();
    const next = rows[find()];
    if (next === undefined) return;
    this.buttons.get(next)!.focus();
    this.light({ node: next, at: this.program.place(this.store.now).at });
  }
}
