// The view of a program that answers at every position: RASP, a formula, an automaton. Kinds register here.

import type { Buffers, Run } from "../data";
import type { Showing, Store } from "../state";
import { FormulaPanel } from "./formula";
import { raspPanel } from "./rasp";
import type { SequenceSpec } from "./spec";

/** What is pointed at: a position of the run, and the heads that look for it there, as layer and head, both from 0. */
export interface Pointed {
  i: number;
  heads: [number, number][];
}

export interface SequencePanel {
  readonly element: HTMLElement;
  /** A second panel, which stands below the tokens. */
  readonly beside?: HTMLElement;
  /** Measure what depends on the size of the panel, before it is drawn. */
  measure(): void;
  /** layer: the chosen one, as `Showing.layer` counts it. */
  draw(i: number, layer: number, now: Showing): void;
  /** What is pointed at; null: nothing is. */
  pointed?(now: Showing): Pointed | null;
  /** The subspace of the stream that holds the chosen node; null: none does. */
  subspace?(now: Showing): number | null;
}

/** The panel of a run; null: there is none of this kind. */
export function sequencePanel(spec: SequenceSpec, run: Run, store: Store, _buffers: Buffers): SequencePanel | null {
  if (spec.kind === "logic") return new FormulaPanel(run, spec, store);
  return raspPanel(spec, run, store);
}
