// The view of a program that answers at every position. Kinds register here.

import type { Buffers, Run } from "../data";
import { el } from "../dom";
import { Refused } from "../live/refusals";
import type { Showing, Store } from "../state";
import { FlowPanel } from "./flow";
import { Program } from "./program";
import { SOpPanel } from "./sop";
import type { SequenceSpec } from "./spec";

/** What is pointed at, or chosen: a position of the run, and the heads that look for it there, as layer and head, both from 0. */
export interface Pointed {
  i: number;
  heads: [number, number][];
}

export interface SequencePanel {
  /** The whole of the program, in the order of its parts. */
  readonly elements: HTMLElement[];
  /** Measure what depends on the size of the panel, before it is drawn. */
  measure(): void;
  draw(now: Showing): void;
  /** What is pointed at; null: nothing is. */
  pointed(now: Showing): Pointed | null;
  /** The subspace of the stream that holds the chosen node; null: none does. */
  subspace(now: Showing): number | null;
}

/** The panel of a run; null: there is none of this kind. */
export function sequencePanel(spec: SequenceSpec, run: Run, store: Store, _buffers: Buffers): SequencePanel | null {
  return spec.kind === "rasp" ? raspPanel(spec, run, store) : null;
}

/** The flow of a RASP program, and its chosen s-op. */
function raspPanel(spec: SequenceSpec, run: Run, store: Store): SequencePanel | null {
  let program: Program;
  const word = Array.from({ length: run.count }, (_, i) => run.rows.fed(i)).slice(spec.before.length, run.count - spec.after.length);
  try {
    program = new Program(spec, run, word);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const undefined_ = el("section", { class: "panel flow-panel", "aria-label": "The flow of the computation" }, el("h2", {}, "The flow of the computation"), el("p", { class: "sop-note" }, error.message));
    return { elements: [undefined_], measure: () => undefined, draw: () => undefined, pointed: () => null, subspace: () => null };
  }
  const [flow, sop] = [new FlowPanel(program, store), new SOpPanel(program, store)];
  return {
    elements: [flow.element, sop.element],
    measure() {
      flow.measure();
      sop.measure();
    },
    draw(now) {
      program.turn(now);
      flow.draw(now);
      sop.draw(now);
    },
    pointed: ({ lit }) => lit && { i: program.position(lit.at), heads: program.scheme.heads(lit.node) },
    subspace: (now) => program.node(program.chosen(now)).subspace,
  };
}
