// The table of a run, of a Turing machine with the tape before each step. Only the rows in view exist, so that a long run scrolls as smoothly as a short one.

import type { Run } from "./data";
import { characterWidth, el, set } from "./dom";
import type { History, Stretch } from "./history";
import type { Store } from "./state";
import { shortened, uncompared } from "./words";

const ROW = 36;
const AROUND = 8;
const PRINTED = 40;
/** How much smaller than usual the letters may become. */
const SMALLEST = 0.7;
/** How small the letters may become to show more cells of the tape, and how many are shown then. */
const COMFORTABLE = 0.92;
const FEWEST = 3;
const MOST = 21;
/** The numbers of characters of a cell to try; the first with which all columns fit is used. */
const LIMITS = Array.from({ length: 37 }, (_, k) => 48 - k);
const TAPE = "the tape before this step, as the tokens say it, with the head's cell in brackets";

export class Table {
  readonly element: HTMLElement;
  private readonly body = el("div", { class: "rows", role: "rowgroup" });
  private readonly scroll: HTMLElement;
  private readonly grid: HTMLElement;
  private readonly headings: HTMLElement[];
  private readonly shown = new Map<number, HTMLElement>();
  private stretch: (i: number) => Stretch | null = () => null;
  private window = 0;
  private limit = 0;
  /** Whether the tape continues to the left of the cells shown in any row. */
  private cuts = false;
  private now = -1;
  private marked = -1;
  private printing = false;

  constructor(
    private readonly run: Run,
    private readonly store: Store,
    private readonly history: History | null,
    signal: AbortSignal,
  ) {
    const name = history ? "The chapter's table" : "The table";
    this.headings = run.spec.columns.map((column) => el("span", { role: "columnheader", title: column.title }, column.name));
    const header = el(
      "div",
      { class: "row header", role: "row" },
      el("span", { role: "columnheader", title: "the position" }, "i"),
      history && el("span", { role: "columnheader", title: TAPE }, "tape"),
      ...this.headings,
    );
    this.grid = el("div", { class: "grid", role: "table", "aria-rowcount": run.count + 1, "aria-label": name }, el("div", { role: "rowgroup", class: "sticky" }, header), this.body);
    this.scroll = el("div", { class: "scroll table", tabindex: 0, "aria-label": "Rows" }, this.grid);
    this.element = el("section", { class: "panel table-panel", "aria-label": "The table" }, el("h2", {}, `${name} `, el("span", { class: "check" }, this.summary())), this.scroll);
    this.scroll.addEventListener("scroll", () => this.fill(), { passive: true });
    addEventListener("beforeprint", () => this.print(true), { signal });
    addEventListener("afterprint", () => this.print(false), { signal });
  }

  /** Set the columns' widths, with smaller letters where they are too many; the element has to be in the page. */
  measure(): void {
    const { run } = this;
    this.grid.style.fontSize = "";
    const size = parseFloat(getComputedStyle(this.grid).fontSize);
    const scale = characterWidth(this.grid);
    const room = this.scroll.clientWidth / scale;
    const widest = run.spec.columns.map(({ name }) => Math.max(run.widest(name), name.length));
    const signsFor = (limit: number) => [String(run.count).length + 2.6, ...widest.map((n) => 2.3 + Math.min(n, limit))];
    const sum = (numbers: number[]) => numbers.reduce((all, n) => all + n, 0);
    const fits = (size: number) => LIMITS.find((n) => sum(signsFor(n)) + this.tapeWidth(FEWEST) <= room / size);
    // what outputs are called can be long, and is cut before letters become small
    const limit = (run.spec.labels ? fits(COMFORTABLE) : undefined) ?? fits(SMALLEST) ?? LIMITS.at(-1)!;
    const signs = signsFor(limit);
    const rest = sum(signs);
    const tape = this.tapeWidth(this.choose(limit, room / COMFORTABLE - rest));
    const widths = [signs[0]!, ...(this.history ? [tape] : []), ...signs.slice(1)].map((n) => n * scale);
    const all = (rest + tape) * scale;
    const smaller = Math.max(SMALLEST, Math.min(1, room / (rest + tape)));
    this.grid.style.fontSize = `${size * smaller}px`;
    this.grid.style.setProperty("--columns", widths.map((width) => `${Math.floor(width * smaller)}px`).join(" "));
    this.grid.style.setProperty("--rest", `${Math.max(0, Math.floor((this.scroll.clientWidth - all * smaller) / (widths.length - 1)))}px`);
    this.body.style.height = `${run.count * ROW}px`;
    this.now = -1; // so that the row is brought into view again
  }

  /** The number of characters that this many cells of the tape take, with the head's brackets and the ellipses. */
  private tapeWidth(window: number): number {
    return this.history ? window * (1 + this.history.widest()) + 4 : 0;
  }

  /** Show this many characters of a cell, and as many cells of the tape as there is room for. */
  private choose(limit: number, room: number): number {
    const { history, run } = this;
    const all = history ? history.highest - history.lowest + 1 : 0;
    const window = history ? Math.min(all, MOST, Math.max(FEWEST, Math.floor((room - 4) / (1 + history.widest())))) : 0;
    if (window === this.window && limit === this.limit) return window;
    [this.window, this.limit] = [window, limit];
    run.spec.columns.forEach(({ name, title }, n) => {
      const text = shortened(name, limit);
      this.headings[n]!.textContent = text;
      set(this.headings[n]!, { title: text === name ? title : `${name}: ${title}` });
    });
    if (history) {
      this.cuts = window < all || history.lowest < 0;
      this.grid.dataset["window"] = String(window);
      this.stretch = history.stretches(window);
    }
    for (const row of this.shown.values()) row.remove();
    this.shown.clear();
    return window;
  }

  draw(position: number): void {
    const i = Math.min(position, this.run.count - 1);
    if (i !== this.now) {
      const { lead } = this.run.spec;
      if (this.now < 0 && lead > 0 && i >= lead) this.scroll.scrollTop = lead * ROW; // what comes before is the description
      this.now = i;
      const { scrollTop, clientHeight } = this.scroll;
      const [top, view] = [i * ROW, clientHeight - ROW];
      if (top < scrollTop + ROW) this.scroll.scrollTop = top - ROW;
      else if (top + 2 * ROW > scrollTop + view) this.scroll.scrollTop = top + 2 * ROW - view;
    }
    this.fill();
  }

  private fill(): void {
    const { scrollTop, clientHeight } = this.scroll;
    let first = Math.max(0, Math.floor(scrollTop / ROW) - AROUND);
    let last = Math.min(this.run.count, Math.ceil((scrollTop + clientHeight) / ROW) + AROUND);
    if (this.printing) {
      first = Math.max(0, Math.min(this.now - PRINTED / 2, this.run.count - PRINTED));
      last = Math.min(this.run.count, first + PRINTED);
    }
    for (const [i, row] of this.shown) {
      if (i >= first && i < last) continue;
      row.remove();
      this.shown.delete(i);
    }
    // from the last row back, so that the one after is there, and readers and paper have them in order
    for (let i = last - 1; i >= first; i--) {
      if (this.shown.has(i)) continue;
      const row = this.row(i);
      this.body.insertBefore(row, this.shown.get(i + 1) ?? null);
      this.shown.set(i, row);
    }
    this.point(this.marked, false);
    this.point(this.now, true);
    this.marked = this.now;
  }

  private point(i: number, now: boolean): void {
    const row = this.shown.get(i);
    if (!row) return;
    row.classList.toggle("now", now);
    set(row, { "aria-current": now ? "true" : null });
  }

  private row(i: number): HTMLElement {
    const { run, store } = this;
    const { reference } = run.spec;
    const first = run.spec.divergence?.position === i;
    const row = el(
      "div",
      {
        class: `row${first ? " first-wrong" : ""}`,
        role: "row",
        "aria-rowindex": i + 2,
        "data-row": i,
        click: () => store.set({ i, playing: false }),
      },
      el("span", { role: "rowheader", class: "i" }, el("span", { class: "pointer", "aria-hidden": "true" }, "▶"), String(i)),
      this.history && el("span", { role: "cell", class: "mono tape-cells", "data-column": "tape" }, ...this.tape(i)),
      ...run.spec.columns.map(({ name }) => {
        const whole = run.rows.cell(name, i);
        const text = shortened(whole, this.limit);
        const due = run.wrong(name, i);
        const compared = run.compared(name, i);
        const mark = due !== undefined ? "wrong" : compared ? "right" : "unchecked";
        return el(
          "span",
          { role: "cell", class: `mono ${mark}`, "data-column": name, "data-mark": mark, title: text === whole ? null : whole },
          text,
          el("span", { class: "tick", title: due !== undefined ? `the ${reference} says ${due}` : compared ? `as the ${reference} says` : null }, due !== undefined ? "✗" : compared ? "✓" : ""),
          due === undefined ? null : el("span", { class: "due" }, `≠ ${shortened(due, this.limit)}`),
        );
      }),
    );
    row.style.top = `${i * ROW}px`;
    return row;
  }

  /** The tape as `tm2tfr trace` writes it: ` _[1]_ …`. */
  private tape(i: number): (Node | string)[] {
    const stretch = this.stretch(i);
    if (!stretch) return [];
    const { cells, head, cut } = stretch;
    const around = (k: number) => (k === head ? "[" : k - 1 === head ? "]" : " ");
    const text = (from: number, to: number) => cells.slice(from, to).map((cell, k) => around(from + k) + cell).join("");
    const end = `${around(cells.length)}…`;
    const begin = cut ? "…" : this.cuts ? " " : "";
    if (head === null || head < 0 || head >= cells.length) return [begin + text(0, cells.length) + end];
    return [begin + text(0, head), el("b", { class: "at" }, `[${cells[head]}]`), (text(head + 1, cells.length) + end).slice(1)];
  }

  private print(printing: boolean): void {
    this.printing = printing;
    this.fill();
  }

  private summary(): string {
    const { spec } = this.run;
    const cells = `${spec.compared.toLocaleString("en")} cells`;
    if (spec.agrees === null) return `not checked: ${uncompared(spec)}`;
    if (spec.agrees) return `✓ ${cells} compared with the ${spec.reference}, all agree`;
    return `✗ differs from the ${spec.reference} at position ${spec.divergence!.position}`;
  }
}

