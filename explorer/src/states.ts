// The state graph of a machine, with the current state and rule marked.

import type { Buffers, MachineSpec, Run } from "./data";
import { set } from "./dom";
import { Graph } from "./graph";
import { ruleAt } from "./words";

export class StateGraph extends Graph {
  constructor(
    private readonly run: Run,
    private readonly machine: MachineSpec,
    buffers: Buffers,
    redraw: () => void,
  ) {
    super("state graph", machine.graph, buffers, redraw);
  }

  draw(position: number): void {
    const { rows } = this.run;
    const i = Math.min(position, this.run.count - 1);
    const name = rows.text("q", i);
    const symbol = rows.text("a", i);
    const state = this.machine.states.findIndex((q) => q.name === name);
    const rule = name !== null && symbol !== null ? ruleAt(this.machine, name, symbol) : undefined;
    this.unmark("now");
    this.nodes.get(`s${state}`)?.classList.add("now");
    if (rule) {
      const edge = this.edges.get(`s${rule[0]}->s${rule[2]}`)?.[0];
      edge?.classList.add("now");
      edge?.querySelectorAll("text")[rule[5]]?.classList.add("now");
    }
    if (name === null) this.start()?.classList.add("now");
    const said = name === null ? "not started" : rule ? `δ(${name}, ${symbol}) = (${this.machine.states[rule[2]]!.name}, ${rule[3]}, ${"LSR"[rule[4] + 1]})` : `${name}: no rule for ${symbol ?? "⊥"}`;
    this.caption.textContent = said;
    set(this.scroll, { "aria-label": `State graph of ${this.machine.states.length} states. Current: ${said}` });
  }

  private start(): Element | undefined {
    return [...this.edges].find(([name]) => name.startsWith("start->"))?.[1][0];
  }
}
