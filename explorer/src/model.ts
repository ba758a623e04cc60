// The model of the source: every variable with its equation, the layer that writes it, and what reads it.

import type { ModelSpec, Run } from "./data";
import { el } from "./dom";
import type { Store } from "./state";
import { typesetter } from "./words";

type Cell = string | HTMLElement;

export class ModelPanel {
  readonly element: HTMLElement;
  private readonly rows: HTMLElement[];

  constructor(
    private readonly model: ModelSpec,
    private readonly run: Run,
    private readonly store: Store,
  ) {
    const typeset = typesetter(run.spec);
    const variables = model.variables.map((each): Cell[] => [each.name, each.meaning, each.formula, each.source, each.stored ? this.writer(each.since) : "", each.read_by]);
    const heads = model.patterns.map((each): Cell[] => [each.name || each.claim, each.meaning, each.formula, each.source]);
    const first = table("Variables, in the order in which they are computed", ["variable", "what it is", "equation", "source", "written by", "read by"], variables, typeset);
    this.rows = [...first.querySelectorAll<HTMLElement>("tbody tr")];
    this.element = el(
      "details",
      { class: "panel model-panel" },
      el("summary", {}, el("h2", {}, "The model ", el("span", {}, "every variable, its equation, and its readers"))),
      first,
      heads.length ? table("Where heads look", ["heads attend to", "which is", "equation", "source"], heads, typeset) : null,
    );
  }

  /** Mark the variables that a layer writes. */
  draw(layer: number): void {
    const number = this.run.layerOf(layer) + 1;
    this.model.variables.forEach(({ stored, since }, n) => this.rows[n]!.classList.toggle("chosen", stored && since.layer === number));
  }

  /** The button that chooses the layer which writes a variable. */
  private writer({ layer, part }: ModelSpec["variables"][number]["since"]): HTMLElement {
    const name = layer === 0 ? "embedding" : `layer ${layer} (${this.run.spec.layers[layer - 1]?.name ?? ""}), ${part.replace("_", "-")}`;
    return el("button", { type: "button", class: "small", click: () => this.store.set({ layer: this.run.stepsWith(this.store.now.layer)[layer - 1] ?? -1 }) }, name);
  }
}

/** A table without the columns in which every cell is empty. */
function table(caption: string, headings: string[], rows: Cell[][], typeset: (text: string) => Node[]): HTMLElement {
  const filled = headings.map((_, column) => rows.some((row) => row[column] !== ""));
  const kept = <T>(cells: T[]) => cells.filter((_, column) => filled[column]);
  const head = el("tr", {}, ...kept(headings).map((heading) => el("th", { scope: "col" }, heading)));
  const body = rows.map((row) => el("tr", {}, ...kept(row).map((cell) => el("td", {}, ...(typeof cell === "string" ? typeset(cell) : [cell])))));
  return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption }, el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...body)));
}
