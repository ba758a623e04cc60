// The evaluator of formulas and of programs in B-, S- and C-RASP: every node at every position 1, …, n of a word, by the printed definitions
// (Yang et al. 2025, Definitions 10, 14 and 19), quantifier by quantifier, as tm2tfr/sources/logic/evaluate.py has it. No weights anywhere near.

import type { NodeSpec, OfOperator, ScoreSpec, SequenceSpec } from "../../sequence/spec";
import { Refused } from "../refusals";
import { type Atom, atomOf } from "./atoms";

/** What a node is at position i, from 1: a bit, a label or a number. */
export type At = (node: number, i: number) => Atom;

const RELATIONS: Record<string, (left: bigint, right: bigint) => boolean> = {
  "<=": (left, right) => left <= right,
  "<": (left, right) => left < right,
  ">=": (left, right) => left >= right,
  ">": (left, right) => left > right,
  "==": (left, right) => left === right,
  "!=": (left, right) => left !== right,
};

/** M(i, j): which positions j are in sight of i. */
export const IN_SIGHT: Record<OfOperator<"retrieve">["sight"], (j: number, i: number) => boolean> = {
  "<=": (j, i) => j <= i,
  "<": (j, i) => j < i,
  ">=": (j, i) => j >= i,
  ">": (j, i) => j > i,
  any: () => true,
};

/** The values of each node, at the positions of the word from 1 on; and of each attention, the positions j that every i selects. */
export function evaluatedLogic({ nodes, alphabet }: SequenceSpec, letters: number[]): { values: Atom[][]; selected: (boolean[][] | null)[] } {
  const n = letters.length;
  if (!n) throw new Refused("the word is empty: formulas and programs are defined on at least one token");
  const values: Atom[][] = [];
  const at: At = (node, i) => values[node]![i - 1]!;
  const positions = letters.map((_, k) => k + 1);
  const selected: (boolean[][] | null)[] = [];
  nodes.forEach((node, number) => {
    const matrix = node.operator === "retrieve" ? positions.map((i) => positions.map((j) => IN_SIGHT[node.sight](j, i) && selects(node.score, at, i, j))) : null;
    selected.push(matrix);
    values[number] = positions.map((i) => (node.operator === "input" ? alphabet[letters[i - 1]!]! : matrix ? retrieved(node as OfOperator<"retrieve">, at, i, matrix[i - 1]!) : defined(node, at, i, n)));
  });
  return { values, selected };
}

/** S(i, j) */
export function selects(score: ScoreSpec, at: At, i: number, j: number): boolean {
  if ("key" in score) return Boolean(at(score.key, j));
  if ("query" in score) return Boolean(at(score.query, i));
  if ("equal" in score) return at(score.equal[0], j) === at(score.equal[1], i);
  if ("all" in score) return score.all.every((part) => selects(part, at, i, j));
  if ("any" in score) return score.any.some((part) => selects(part, at, i, j));
  return !selects(score.not, at, i, j);
}

/** `▶_j [M(i,j), S(i,j)] V(j) : D(i)`: V at the largest j that is selected, D(i) if there is none; ◀: at the smallest. */
function retrieved({ choice, values, default: otherwise }: OfOperator<"retrieve">, at: At, i: number, row: boolean[]): Atom {
  const j = (choice === "latest" ? row.lastIndexOf(true) : row.indexOf(true)) + 1;
  return j ? at(values, j) : at(otherwise, i);
}

function defined(node: NodeSpec, at: At, i: number, n: number): Atom {
  const [first, second, third] = node.arguments as [number, number, number];
  const count = (from: number, to: number) => between(from, to).filter((j) => at(first, j)).length;
  switch (node.operator) {
    case "place":
      return BigInt(i);
    case "text":
    case "always":
      return node.value;
    case "choose":
      return at(first, i) ? at(second, i) : at(third, i);
    case "one of":
      return node.values.includes(at(first, i) as string);
    case "same":
      return at(first, i) === at(second, i);
    case "not":
      return !at(first, i);
    case "and":
      return node.arguments.every((part) => at(part, i));
    case "or":
      return node.arguments.some((part) => at(part, i));
    case "previous": // Definition 10; false at 1
      return i > 1 && Boolean(at(first, i - 1));
    case "next": // Definition 10; false at n
      return i < n && Boolean(at(first, i + 1));
    case "since": // Definition 14
      return between(1, i).some((j) => at(second, j) && between(j, i).every((k) => at(first, k)));
    case "until": // Definition 14
      return between(i, n).some((j) => at(second, j) && between(i, j).every((k) => at(first, k)));
    case "count left": // Definition 19
      return BigInt(count(1, i));
    case "count right": // Definition 19
      return BigInt(count(i, n));
    case "comparison":
      return RELATIONS[node.relation]!(at(first, i) as bigint, at(second, i) as bigint);
    case "predicate":
      return satisfied(node, at(first, i) as bigint);
    case "sum":
      return node.arguments.reduce((sum, term, k) => sum + (atomOf(node.factors[k]!) as bigint) * BigInt(at(term, i) as bigint | boolean), atomOf(node.constant) as bigint);
    default:
      throw new Error(`${node.operator} is not a node of a formula`);
  }
}

/** Whether a predicate is true of a number: Definition 19, with 0 as well. */
function satisfied({ predicate, modulus, remainder }: OfOperator<"predicate">, t: bigint): boolean {
  if (predicate === "mod") return ((t % BigInt(modulus)) + BigInt(modulus)) % BigInt(modulus) === BigInt(remainder);
  if (predicate === "power of 2") return t > 0n && (t & (t - 1n)) === 0n;
  if (predicate === "square") {
    for (let d = 0n; d * d <= t; d++) if (d * d === t) return true;
    return false;
  }
  for (let d = 2n; d < t; d++) if (t % d === 0n) return false;
  return t >= 2n;
}

/** The positions from one to another, both included. */
export function between(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, k) => from + k);
}
