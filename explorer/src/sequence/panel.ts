// The view of a program that answers at every position: RASP, a formula, an automaton. Kinds register here.

import type { Buffers, Run } from "../data";
import type { Store } from "../state";
import { FormulaPanel } from "./formula";
import type { SequenceSpec } from "./spec";

export interface SequencePanel {
  readonly element: HTMLElement;
  /** Measure what depends on the size of the panel, before it is drawn. */
  measure(): void;
  /** layer: the chosen one, as `Showing.layer` counts it. */
  draw(i: number, layer: number): void;
}

/** The panel of a run; null: there is none of this kind. */
export function sequencePanel(spec: SequenceSpec, run: Run, store: Store, _buffers: Buffers): SequencePanel | null {
  return spec.kind === "logic" ? new FormulaPanel(run, spec, store) : null;
}
