// A RASP program, a formula or a program of B-, S- or C-RASP in the page: its nodes as the reference evaluates them, and where the
// weights have them (`sequence` in tm2tfr/sources/*/page.py writes it). No weight has a part in the nodes.

/** A value: a text, a truth value, a whole number (as text where floats have gaps), or a fraction, which is a float of RASP even where
 * it is a whole number. */
export type AtomSpec = string | boolean | number | { whole: string } | { over: [string, string] };

export interface SequenceSpec {
  kind: "rasp" | "logic";
  /** What the source is called: program, formula, automaton. */
  noun: string;
  /** The name of the program, for messages. */
  name: string;
  /** The text of the program. */
  source: string;
  /** The tokens of its inputs, as text. */
  alphabet: string[];
  /** The same as values: RASP's tokens may be numbers. */
  tokens: AtomSpec[];
  /** The tokens that are fed before and after those of an input: nothing, BOS, or BOS and EOS. Position p of the input, from 0, is
   * position `before.length + p` of the run. */
  before: string[];
  after: string[];
  /** In an order of evaluation: each after those that it is made of, but for `again` and `nexts` of loops. */
  nodes: NodeSpec[];
  /** What the weights answer, in the order of their outputs: the name, the node, null for what `automaton` says, and whether it is
   * answered as a number; otherwise as a label. */
  outputs: { name: string; node: number | null; number: boolean }[];
  /** The node that was compiled. */
  root: number;
  /** Of an automaton, whose levels the nodes are: what answers `state` and `accepts`. */
  automaton: AutomatonSpec | null;
}

export interface AutomatonSpec {
  start: number;
  /** By state and letter of the alphabet, the next state. */
  next: number[][];
  accepting: boolean[];
  /** By state, the label that the weights have for it. */
  labels: string[];
  state: string;
  accepts: string;
}

/** What every node has. */
export interface NodeAbout {
  /** As people call it: its name in the table, in the weights and in messages (tm2tfr/sources/rasp/naming.py, logic/write.py). */
  name: string;
  /** How it is made, with the names of what it is made of. */
  text: string;
  /** The variable or definition that it was last assigned to; empty: none. */
  variable: string;
  /** Line and column of the expression that made it, from 1, and its length in characters; null: no text of the program made it. */
  at: [number, number, number] | null;
  /** What it is: an s-op, a selector or a loop of RASP; a bit, a label or a number of logic. */
  kind: "sop" | "selector" | "loop" | "bit" | "label" | "number";
  /** Whether a drawing gives it a place of its own; others are written out in the text of those that are made of them. */
  box: boolean;
  /** RASP's own depth: 0 before the first attention. Of logic 0. */
  depth: number;
  /** Whether its truth values count as numbers, 0 and 1 (of RASP). */
  numeric: boolean;
  /** The nodes that it is made of, in the order in which they are written. */
  arguments: number[];
  /** The subspace of the weights that holds it, as an index into `subspaces` of the run; null: none does. */
  subspace: number | null;
  /** The layer after which that subspace holds it, from 0, -1 for the embedding; null: nothing says so. */
  since: number | null;
  /** The heads that look for it, [layer, head], both from 0: those that compute a selector, an aggregate, an operator over positions. */
  heads: [number, number][];
}

// ── RASP (tm2tfr/sources/rasp/sops.py)
type SOpSpec =
  /** The input: by letter of the alphabet its value, or why it has none. */
  | { operator: "tokens"; values: (AtomSpec | { refused: string })[] }
  | { operator: "indices" }
  | { operator: "constant"; value: AtomSpec }
  /** A function of the values at the same position: `function` is +, -, …, if, in, table. */
  | { operator: "elementwise"; function: string; entries: [AtomSpec, AtomSpec][] }
  /** `arguments` are the selector and the values. */
  | { operator: "aggregate"; default: AtomSpec }
  /** `arguments` are its value before the first pass. */
  | { operator: "state" }
  /** `arguments` are the loop and the value that it has after the last pass. */
  | { operator: "looped" };
type SelectorSpec =
  /** `arguments` are key and query: true at (query q, key k) where `key[k] relation query[q]`. */
  | { operator: "select"; relation: string }
  | { operator: "combined"; function: "and" | "or" | "not" };
/** `again` are the nodes that are computed in every pass; times: the most passes; until: after a pass in which it is true everywhere the
 * loop ends. */
type LoopSpec = { operator: "repeat"; states: number[]; nexts: number[]; times: number | null; until: number | null; again: number[] };

// ── logic (tm2tfr/sources/logic/nodes.py)
type LogicSpec =
  | { operator: "input" | "place" }
  | { operator: "text"; value: string }
  | { operator: "always"; value: boolean }
  /** `arguments` are condition, then, else. */
  | { operator: "choose" }
  | { operator: "one of"; values: string[] }
  | { operator: "same" | "not" | "and" | "or" | "previous" | "next" | "since" | "until" | "count left" | "count right" }
  | { operator: "comparison"; relation: string }
  | { operator: "predicate"; predicate: "mod" | "prime" | "square" | "power of 2"; modulus: number; remainder: number }
  /** By argument its factor. */
  | { operator: "sum"; factors: AtomSpec[]; constant: AtomSpec }
  | { operator: "retrieve"; choice: "latest" | "earliest"; sight: "<=" | "<" | ">=" | ">" | "any"; score: ScoreSpec; values: number; default: number };

/** S(i, j): bits at j or at i, and whether a number or label at j is the one at i. */
export type ScoreSpec = { key: number } | { query: number } | { equal: [number, number] } | { all: ScoreSpec[] } | { any: ScoreSpec[] } | { not: ScoreSpec };

export type NodeSpec = NodeAbout & (SOpSpec | SelectorSpec | LoopSpec | LogicSpec);
/** The nodes of one operator: `OfOperator<"select">`. */
export type OfOperator<Name extends NodeSpec["operator"]> = Extract<NodeSpec, { operator: Name }>;

export type { Evaluated } from "../live/truth/sequence";
