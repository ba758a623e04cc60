// The drawing of a program that answers at every position: of an automaton, with its state after the present token marked.

import type { Buffers, PictureSpec, Run } from "./data";
import { set } from "./dom";
import { Graph } from "./graph";

export class Picture extends Graph {
  constructor(
    private readonly run: Run,
    private readonly spec: PictureSpec,
    buffers: Buffers,
    redraw: () => void,
  ) {
    super(spec.name, spec.graph, buffers, redraw);
    set(this.scroll, { "aria-label": `The ${spec.name}` });
  }

  draw(position: number): void {
    const { marks, name } = this.spec;
    const column = marks && this.run.spec.columns.find((each) => each.name === marks.column);
    if (!column) return;
    const node = (i: number) => (i < 0 ? marks.start : marks.nodes[this.run.rows.cell(column.name, i)]);
    const [before, now] = [node(position - 1), node(position)];
    this.unmark("now");
    this.nodes.get(now ?? "")?.classList.add("now");
    for (const edge of this.edges.get(`${before}->${now}`) ?? []) edge.classList.add("now");
    const said = `${column.name} ${this.run.rows.cell(column.name, position)}, after the token ${this.run.rows.fed(position)}`;
    this.caption.textContent = said;
    set(this.scroll, { "aria-label": `The ${name}: ${said}` });
  }
}
