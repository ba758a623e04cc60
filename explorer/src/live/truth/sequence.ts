// The reference of RASP programs, formulas and automata in the page: every node on any input, and the rows that outputs must have.

import type { AutomatonSpec, SequenceSpec } from "../../sequence/spec";
import { quoted, Refused, visible } from "../refusals";
import { type Atom, nearest, shownValue } from "./atoms";
import { evaluatedLogic } from "./logic";
import { interpreted, type Row } from "./rasp";
import { ANY, type Cell, type Truth } from "./reference";

export interface SequenceReference {
  kind: "sequence";
}

/** What each node is on an input. */
export interface Evaluated {
  /** The input, as indices into the alphabet. */
  letters: number[];
  /** By node and position of the input; none of a selector or a loop. */
  values: Atom[][];
  /** As the table and the weights show them. */
  texts: string[][];
  /** By node, of a selector or an attention: whether a query position, the row, selects a key position, the column; null of others. */
  selected: (boolean[][] | null)[];
  /** By node, of a loop the number of its passes. */
  passes: ReadonlyMap<number, number>;
}

/** Evaluate a program on the tokens of an input. passes: loop -> the pass after which it is ended, to see what there is after that pass.
 *
 * Throws `Refused` where the program is undefined, for an empty input, and for a token that is not in the alphabet.
 */
export function evaluate(spec: SequenceSpec, tokens: string[], passes: ReadonlyMap<number, number> = new Map()): Evaluated {
  const letters = tokens.map((token, i) => {
    const letter = spec.alphabet.indexOf(token);
    if (letter < 0) throw new Refused(`${visible(spec.name)}: token ${i} of the input, ${quoted(token)}, is not in the alphabet: use ${spec.alphabet.map(visible).join(", ")}`);
    return letter;
  });
  const texts = (values: Atom[][]) => values.map((row, n) => row.map((value) => shownValue(value, spec.nodes[n]!.numeric)));
  if (spec.kind === "logic") {
    const { values, selected } = evaluatedLogic(spec, letters);
    return { letters, values, selected, texts: texts(values), passes: new Map() };
  }
  const rows: Row[] = interpreted(spec, letters, passes);
  const kinds = spec.nodes.map(({ kind }) => kind);
  const values = rows.map((row, n) => (kinds[n] === "sop" ? (row as Atom[]) : []));
  const selected = rows.map((row, n) => (kinds[n] === "selector" ? (row as boolean[][]) : null));
  const made = rows.flatMap((row, n): [number, number][] => (kinds[n] === "loop" ? [[n, row as number]] : []));
  return { letters, values, selected, texts: texts(values), passes: new Map(made) };
}

/** The rows of an input: at each position the token fed, and what every output must be. */
export function sequenceTruth(spec: SequenceSpec, word: string[]): Truth {
  const found = evaluate(spec, word);
  const states = spec.automaton && statesOf(spec.automaton, found.letters);
  const columns = spec.outputs.map(({ name, node, number }): Cell[] => {
    if (node === null) return automatonCells(spec.automaton!, name, states!);
    return found.values[node]!.map((value, i) => (number && typeof value !== "string" ? nearest(value) : found.texts[node]![i]!));
  });
  const ends = spec.outputs.map((output) => outside(spec, output));
  const rows = [...spec.before, ...word, ...spec.after].map((token, p): Cell[] => {
    const i = p - spec.before.length;
    return [token, ...columns.map((column, k) => (i >= 0 && i < word.length ? column[i]! : ends[k]!))];
  });
  const facts = () => ({ about: () => null, bump: () => null });
  return { lead: spec.before, rows: rows.values(), result: () => "", ending: () => null, facts };
}

/** What an output must be outside the word, at BOS and EOS. */
function outside({ nodes, automaton }: SequenceSpec, { name, node }: SequenceSpec["outputs"][number]): Cell {
  if (node === null) return name === automaton!.state ? NOTHING : "F";
  const { kind } = nodes[node]!;
  return kind === "number" ? ANY : kind === "label" ? NOTHING : "F";
}

const NOTHING = "⊥";

/** The state after each letter. */
function statesOf({ start, next }: AutomatonSpec, letters: number[]): number[] {
  let state = start;
  return letters.map((letter) => (state = next[state]![letter]!));
}

function automatonCells({ labels, accepting, state }: AutomatonSpec, name: string, states: number[]): Cell[] {
  return states.map((now) => (name === state ? labels[now]! : accepting[now] ? "T" : "F"));
}

/** What comes out, in a word or two: of a formula or an automaton its verdict, otherwise the values of what was compiled. */
export function outcome(spec: SequenceSpec, { values, texts, letters }: Evaluated): string {
  if (spec.automaton) return spec.automaton.accepting[statesOf(spec.automaton, letters).at(-1)!] ? "accept" : "reject";
  const { kind } = spec.nodes[spec.root]!;
  if (kind === "bit") return values[spec.root]!.at(-1) ? "accept" : "reject";
  const found = texts[spec.root]!;
  return found.join(kind === "number" || found.some((text) => [...text].length !== 1) ? " " : "");
}
