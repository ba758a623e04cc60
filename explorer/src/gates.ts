// The graph of a circuit: the gate whose bit is being answered, its operands, and every bit that is there already.

import type { Bits, Circuit } from "./circuit";
import type { Buffers } from "./data";
import { el, set, svg } from "./dom";
import { Graph } from "./graph";

/** The size of a bit's mark at the corner of its node, in the drawing's points. */
const RADIUS = 6.5;
/** Without a drawing: how far the list goes back from the current gate. */
const DEPTH = 2;

export class CircuitGraph extends Graph {
  private readonly circuit: Circuit;
  /** The mark of each node, with its bit: after all nodes and edges, so that none hides it. */
  private readonly marks = new Map<string, SVGGElement>();
  private readonly list = el("ul", { class: "cone mono" });
  private readonly drawn: boolean;

  constructor(
    private readonly bits: Bits,
    buffers: Buffers,
    redraw: () => void,
  ) {
    const { graph } = bits.circuit.spec;
    super("circuit", graph, buffers, redraw);
    this.circuit = bits.circuit;
    this.drawn = graph.none === undefined;
    if (!this.drawn) {
      this.element.querySelector(".zooming")?.remove();
      this.scroll.classList.add("undrawn");
      set(this.scroll, { role: null });
      this.scroll.replaceChildren(el("p", {}, `${graph.none}:`), this.list);
    }
  }

  draw(position: number): void {
    const { bits, circuit } = this;
    const i = Math.min(position, bits.run.count - 1);
    const gate = circuit.answered(i);
    const said = gate === null ? `the input ${circuit.name(i)} is given` : this.line(gate, i);
    if (this.drawn) this.mark(i, gate);
    else this.list.replaceChildren(...(gate === null ? [] : [this.cone(gate, i, DEPTH)]));
    this.caption.textContent = this.drawn || gate === null ? said : ""; // the list begins with it
    set(this.scroll, { "aria-label": `Circuit of ${circuit.size - circuit.spec.inputs} gates. Current: ${said}` });
  }

  private mark(i: number, gate: number | null): void {
    const { bits, circuit } = this;
    this.unmark("now", "operand", "zero", "one", "bad");
    for (const [name, node] of this.nodes) {
      const net = this.net(name);
      const bit = bits.at(net, i);
      const corner = this.corner(name, node);
      corner.lastChild!.textContent = bit ?? "";
      if (bit === null) continue;
      for (const part of [node, corner]) part.classList.add(bit === "1" ? "one" : "zero");
      if (bits.wrong(net) !== undefined) node.classList.add("bad");
    }
    for (const [name, edges] of this.edges) {
      const bit = bits.at(this.net(name.split("->")[0]!), i);
      if (bit !== null) for (const edge of edges) edge.classList.add(bit === "1" ? "one" : "zero");
    }
    if (gate === null) {
      this.nodes.get(`n${i}`)?.classList.add("now");
      return;
    }
    this.nodes.get(`n${gate}`)?.classList.add("now");
    for (const operand of circuit.operands(gate)) {
      this.nodes.get(`n${operand}`)?.classList.add("operand");
      for (const edge of this.edges.get(`n${operand}->n${gate}`) ?? []) edge.classList.add("now");
    }
  }

  /** The net of a node, which is one itself or an output: `n3`, `y0`. */
  private net(name: string): number {
    const number = Number(name.slice(1));
    return name.startsWith("y") ? this.circuit.spec.outputs[number]![1] : number;
  }

  /** The place for a bit, at the corner of a node. */
  private corner(name: string, node: Element): SVGGElement {
    const there = this.marks.get(name);
    if (there) return there;
    const shape = node.querySelector("polygon, path");
    const points = `${shape?.getAttribute("points") ?? ""}${shape?.getAttribute("d") ?? ""}`.match(/-?[\d.]+,-?[\d.]+/g) ?? [];
    const [xs, ys] = [0, 1].map((axis) => points.map((point) => Number(point.split(",")[axis])));
    const [x, y] = [Math.max(...xs!), Math.min(...ys!)];
    const text = svg("text", { x, y: y + 3.5, "text-anchor": "middle", "font-size": 10 });
    const mark = svg("g", { class: "mark", "data-node": name }, svg("circle", { cx: x, cy: y, r: RADIUS }), text);
    node.parentNode!.append(mark);
    this.marks.set(name, mark);
    return mark;
  }

  /** A net in a line, with its bits: `sum = XOR(a, b) = XOR(1, 0) = 1`. */
  private line(net: number, i: number): string {
    const { bits, circuit } = this;
    const bit = bits.at(net, i) ?? "?";
    if (circuit.isInput(net)) return `${circuit.name(net)} = ${bit}, an input`;
    const found = circuit.operands(net).map((operand) => bits.at(operand, i) ?? "?");
    const values = found.length ? ` = ${circuit.kind(net)}(${found.join(", ")})` : "";
    const due = bits.computed(net, i);
    const said = due === null || due === bit ? bit : `${due}, but the bit is ${bit}`;
    return `${circuit.said(net)}${values} = ${said}`;
  }

  /** A net, and below it those it is computed from. */
  private cone(net: number, i: number, depth: number): HTMLElement {
    const below = depth ? [...new Set(this.circuit.operands(net))].map((operand) => this.cone(operand, i, depth - 1)) : [];
    return el("li", { "data-net": net }, this.line(net, i), below.length ? el("ul", {}, ...below) : null);
  }
}
