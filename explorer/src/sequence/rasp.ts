// The view of a RASP program: the flow of its s-ops, and the chosen one.

import type { Run } from "../data";
import { el } from "../dom";
import { Refused } from "../live/refusals";
import type { Store } from "../state";
import { FlowPanel } from "./flow";
import type { SequencePanel } from "./panel";
import { Program } from "./program";
import { SOpPanel } from "./sop";
import type { SequenceSpec } from "./spec";

export function raspPanel(spec: SequenceSpec, run: Run, store: Store): SequencePanel {
  const fed = Array.from({ length: run.count }, (_, i) => run.rows.fed(i));
  let program: Program;
  try {
    program = new Program(spec, run, fed.slice(spec.before.length, run.count - spec.after.length));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const refused = el("section", { class: "panel", "aria-label": "The flow of the computation" }, el("h2", {}, "The flow of the computation"), el("p", { class: "sop-note" }, error.message));
    return { element: refused, measure: () => undefined, draw: () => undefined };
  }
  const [flow, sop] = [new FlowPanel(program, store), new SOpPanel(program, store)];
  return {
    element: sop.element,
    beside: flow.element,
    measure() {
      flow.measure();
      sop.measure();
    },
    draw(_i, _layer, now) {
      program.turn(now);
      flow.draw(now);
      sop.draw(now);
    },
    pointed: ({ lit }) => lit && { i: program.position(lit.at), heads: program.scheme.heads(lit.node) },
    subspace: (now) => program.node(program.chosen(now)).subspace,
  };
}
