// The chapter's table. Only the rows in view are there, so that a long run scrolls as smoothly as a short one.

import { COLUMNS, type ColumnName, type Run } from "./data";
import { characterWidth, el } from "./dom";
import type { Store } from "./state";

const TITLES: Record<ColumnName, string> = {
  x: "the token at this position",
  q: "the state",
  b: "the symbol just written",
  m: "the move",
  h: "the head's cell",
  a: "the symbol under the head",
  y: "the answer: the next token",
};
const ROW = 36;
const AROUND = 8;
const PRINTED = 40;

export class Table {
  readonly element: HTMLElement;
  private readonly body = el("div", { class: "rows", role: "rowgroup" });
  private readonly scroll: HTMLElement;
  private readonly grid: HTMLElement;
  private drawn = "";
  private now = 0;
  private printing = false;

  constructor(
    private readonly run: Run,
    private readonly store: Store,
  ) {
    const header = el(
      "div",
      { class: "row header", role: "row" },
      el("span", { role: "columnheader", title: "the position" }, "i"),
      ...COLUMNS.map((name) => el("span", { role: "columnheader", title: TITLES[name] }, name)),
    );
    this.grid = el("div", { class: "grid", role: "table", "aria-rowcount": run.count + 1, "aria-label": "The chapter's table" }, el("div", { role: "rowgroup", class: "sticky" }, header), this.body);
    this.scroll = el("div", { class: "scroll table", tabindex: 0, "aria-label": "Rows" }, this.grid);
    this.element = el("section", { class: "panel table-panel", "aria-label": "The table" }, el("h2", {}, "The chapter's table ", el("span", { class: "check" }, this.summary())), this.scroll);
    this.scroll.addEventListener("scroll", () => this.fill(), { passive: true });
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  /** Set the columns' widths; the element has to be in the page. */
  measure(): void {
    const scale = characterWidth(this.scroll);
    const { run } = this;
    const width = (name: ColumnName) => {
      const own = run.rows.widest(name);
      return Math.ceil((run.spec.divergence ? Math.max(own, Math.min(own + run.expected.widest(name) + 4, 34)) : own) * scale) + 27;
    };
    const widths = [`${Math.max(3, String(run.count).length) * scale + 22}px`, ...COLUMNS.map((name) => `minmax(${width(name)}px, auto)`)];
    this.grid.style.setProperty("--columns", widths.join(" "));
    this.body.style.height = `${run.count * ROW}px`;
  }

  draw(position: number): void {
    const i = Math.min(position, this.run.count - 1);
    const moved = i !== this.now || this.drawn === "";
    this.now = i;
    this.drawn = "";
    if (moved) {
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
    const key = `${first} ${last} ${this.now}`;
    if (key === this.drawn) return;
    this.drawn = key;
    const rows: HTMLElement[] = [];
    for (let i = first; i < last; i++) rows.push(this.row(i));
    this.body.replaceChildren(...rows);
  }

  private row(i: number): HTMLElement {
    const { run, store } = this;
    const compared = run.compared(i);
    const now = i === this.now;
    const first = run.spec.divergence?.position === i;
    const row = el(
      "div",
      {
        class: `row${now ? " now" : ""}${first ? " first-wrong" : ""}`,
        role: "row",
        "aria-rowindex": i + 2,
        "aria-current": now ? "true" : null,
        "data-row": i,
        click: () => store.set({ i, playing: false }),
      },
      el("span", { role: "rowheader", class: "i" }, el("span", { class: "pointer", "aria-hidden": "true" }, now ? "▶" : ""), String(i)),
      ...COLUMNS.map((name) => {
        const text = run.rows.cell(name, i);
        const due = run.wrong(name, i);
        const mark = due !== undefined ? "wrong" : compared ? "right" : "unchecked";
        return el(
          "span",
          { role: "cell", class: `mono ${mark}`, "data-column": name, "data-mark": mark },
          text,
          due === undefined ? null : el("span", { class: "due" }, ` ≠ ${due}`),
          el("span", { class: "tick", title: due === undefined ? "as the simulator says" : `the simulator says ${due}` }, due !== undefined ? "✗" : compared ? "✓" : ""),
        );
      }),
    );
    row.style.top = `${i * ROW}px`;
    return row;
  }

  private print(printing: boolean): void {
    this.printing = printing;
    this.drawn = "";
    this.fill();
  }

  private summary(): string {
    const { spec } = this.run;
    const cells = `${spec.compared.toLocaleString("en")} cells`;
    if (spec.agrees === null) return "not checked: there is no machine to compare with";
    if (spec.agrees) return `✓ ${cells} compared with the simulator, all agree`;
    return `✗ differs from the simulator at position ${spec.divergence!.position}`;
  }
}

