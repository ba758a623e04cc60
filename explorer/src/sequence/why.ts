// Why a node of a formula is what it is at a position: in words, from the definitions, with the cells that decide it.

import { shownAtom } from "../live/truth/atoms";
import { between, IN_SIGHT } from "../live/truth/logic";
import type { Evaluated } from "../live/truth/sequence";
import type { NodeSpec, OfOperator, ScoreSpec, SequenceSpec } from "./spec";

/** A cell: a node, and a position of the word, from 1. */
export type CellAt = [node: number, position: number];

/** Words, with names of nodes and values among them; and the cells that they are about. */
export interface Reason {
  words: (string | { code: string })[];
  cells: CellAt[];
}

/** Positions as text: `1…4, 6`. */
export function listed(positions: number[]): string {
  const runs: [number, number][] = [];
  for (const p of positions) {
    const last = runs.at(-1);
    if (last && last[1] === p - 1) last[1] = p;
    else runs.push([p, p]);
  }
  const texts = runs.map(([from, to]) => (from === to ? String(from) : to === from + 1 ? `${from}, ${to}` : `${from}…${to}`));
  return texts.length > 8 ? `${texts.slice(0, 7).join(", ")}, …` : texts.join(", ");
}

/** The sign of an operator, for the rows of a tree. */
export function sign(node: NodeSpec, { nodes }: SequenceSpec): string {
  const always = (n: number | undefined) => n !== undefined && nodes[n]!.operator === "always" && (nodes[n] as OfOperator<"always">).value;
  switch (node.operator) {
    case "input":
      return "in";
    case "place":
      return "i";
    case "text":
      return "“”";
    case "always":
      return node.value ? "⊤" : "⊥";
    case "choose":
      return "if";
    case "one of":
      return nodes[node.arguments[0]!]!.operator === "input" && node.values.length === 1 ? "Q" : "∈";
    case "since":
      return always(node.arguments[0]) ? "once" : "since";
    case "until":
      return always(node.arguments[0]) ? "eventually" : "until";
    case "comparison":
      return { "<=": "≤", ">=": "≥", "==": "=", "!=": "≠" }[node.relation] ?? node.relation;
    case "predicate":
      return node.predicate === "power of 2" ? "2ᵏ" : node.predicate;
    case "retrieve":
      return node.choice === "latest" ? "▶" : "◀";
    default:
      return { same: "=", not: "¬", and: "∧", or: "∨", previous: "⊖", next: "⊕", "count left": "#←", "count right": "#→", sum: "+" }[node.operator as string] ?? node.operator;
  }
}

/** Why a node is what it is at position i, from 1. */
export function reason(spec: SequenceSpec, { values, selected, letters }: Evaluated, number: number, i: number): Reason {
  const { nodes } = spec;
  const node = nodes[number]!;
  const n = letters.length;
  const at = (which: number, p: number) => values[which]![p - 1]!;
  const text = (which: number, p: number) => (nodes[which]!.kind === "label" ? `'${shownAtom(at(which, p))}'` : shownAtom(at(which, p)));
  const named = (which: number) => ({ code: nodes[which]!.name });
  const [first, second, third] = node.arguments as [number, number, number];
  const here = (...which: number[]): CellAt[] => which.map((each) => [each, i]);
  const true_ = Boolean(at(number, i));
  const truth = (which: number, p: number) => (at(which, p) ? "true" : "false");
  const span = (which: number, positions: number[]): CellAt[] => positions.map((p) => [which, p]);

  switch (node.operator) {
    case "input":
      return { words: ["the token at ", String(i), " is ", { code: text(number, i) }], cells: [] };
    case "place":
      return { words: [`the position is ${i}`], cells: [] };
    case "text":
    case "always":
      return { words: ["the same at every position"], cells: [] };
    case "one of":
      return { words: [named(first), " is ", { code: text(first, i) }, true_ ? ", " : ", not ", node.values.length > 1 ? "one of " : "", { code: node.values.map((value) => `'${value}'`).join(", ") }], cells: here(first) };
    case "same":
      return { words: [named(first), " is ", { code: text(first, i) }, " and ", named(second), " is ", { code: text(second, i) }], cells: here(first, second) };
    case "choose":
      return { words: [named(first), ` is ${truth(first, i)}, so it is `, named(at(first, i) ? second : third)], cells: here(first, at(first, i) ? second : third) };
    case "not":
      return { words: [named(first), ` is ${truth(first, i)}`], cells: here(first) };
    case "and":
    case "or": {
      // what decides: the parts that are false of a conjunction, those that are true of a disjunction
      const decides = node.operator === "or";
      const deciding = node.arguments.filter((part) => Boolean(at(part, i)) === decides);
      if (!deciding.length) return { words: [node.operator === "and" ? "all of its parts are true" : "none of its parts is true"], cells: here(...node.arguments) };
      const words = deciding.slice(0, 3).flatMap((part, k) => [k ? " and " : "", named(part)]);
      const more = deciding.length > 3 ? [` and ${deciding.length - 3} more`] : [];
      return { words: [...words, ...more, ` ${deciding.length > 1 ? "are" : "is"} ${decides ? "true" : "false"}`], cells: here(...deciding) };
    }
    case "previous":
      return i === 1 ? { words: ["there is no position before the first"], cells: [] } : { words: [named(first), ` is ${truth(first, i - 1)} at ${i - 1}`], cells: span(first, [i - 1]) };
    case "next":
      return i === n ? { words: ["there is no position behind the last"], cells: [] } : { words: [named(first), ` is ${truth(first, i + 1)} at ${i + 1}`], cells: span(first, [i + 1]) };
    case "since":
    case "until":
      return nearest(node, at, nodes, i, n);
    case "count left":
    case "count right": {
      const range = node.operator === "count left" ? between(1, i) : between(i, n);
      const there = range.filter((j) => at(first, j));
      return { words: there.length ? ["of the positions ", listed(range), ", ", named(first), " is true at ", listed(there)] : [named(first), " is true at none of ", listed(range)], cells: span(first, there) };
    }
    case "comparison":
      return { words: [{ code: `${text(first, i)} ${sign(node, spec)} ${text(second, i)}` }, true_ ? "" : " does not hold"], cells: here(first, second) };
    case "predicate":
      return { words: [named(first), " is ", { code: text(first, i) }, `, which is ${true_ ? "" : "not "}${predicateSaid(node)}`], cells: here(first) };
    case "sum": {
      const terms = node.arguments.map((term, k) => `${typeof node.factors[k] === "object" ? "…" : node.factors[k]}·${Number(at(term, i))}`);
      const constant = node.constant !== 0 ? [String(node.constant)] : [];
      return { words: [{ code: `${[...terms, ...constant].join(" + ").replaceAll("+ -", "− ")} = ${text(number, i)}` }], cells: here(...node.arguments) };
    }
    case "retrieve": {
      const there = selected[number]![i - 1]!.flatMap((yes, k) => (yes ? [k + 1] : []));
      const sight = between(1, n).filter((j) => IN_SIGHT[node.sight](j, i));
      const read = leaves(node.score);
      const j = node.choice === "latest" ? there.at(-1) : there[0];
      const sought = sight.length ? `of the positions in sight, ${listed(sight)}, ` : "no position is in sight, ";
      if (j === undefined) return { words: [sight.length ? `${sought}none is selected, so it is ` : `${sought}so it is `, named(node.default), ` here`], cells: here(node.default) };
      const cells: CellAt[] = [[node.values, j], ...read.key.map((k): CellAt => [k, j]), ...here(...read.query)];
      return { words: [sought, `${listed(there)} ${there.length > 1 ? "are" : "is"} selected; the ${node.choice} is ${j}, where `, named(node.values), " is ", { code: text(node.values, j) }], cells };
    }
    default:
      return { words: [], cells: [] };
  }
}

/** Of since and until: where the right side is true, and how far the left side is. */
function nearest(node: NodeSpec, at: (node: number, p: number) => unknown, nodes: NodeSpec[], i: number, n: number): Reason {
  const [left, right] = node.arguments as [number, number];
  const since = node.operator === "since";
  const range = since ? between(1, i).reverse() : between(i, n); // from here on, outwards
  const free = nodes[left]!.operator === "always"; // once and eventually ask nothing of the positions between
  const broken = range.find((k) => !at(left, k));
  const reached = range.filter((k) => broken === undefined || (since ? k > broken : k < broken));
  const found = reached.find((j) => at(right, j));
  const [l, r] = [{ code: nodes[left]!.name }, { code: nodes[right]!.name }];
  const which = since ? "latest" : "earliest";
  const order = (positions: number[]) => listed([...positions].sort((a, b) => a - b));
  if (found !== undefined) {
    const way = reached.slice(0, reached.indexOf(found) + 1);
    const cells: CellAt[] = [[right, found], ...(free ? [] : way.map((k): CellAt => [left, k]))];
    return { words: [`the ${which} position where `, r, ` is true is ${found}`, ...(free ? [] : [", and ", l, ` is true at ${order(way)}`])], cells };
  }
  if (broken === undefined) return { words: [r, ` is true at none of ${order(range)}`], cells: range.map((j) => [right, j]) };
  const cells: CellAt[] = [[left, broken], ...reached.map((j): CellAt => [right, j])];
  if (!reached.length) return { words: [l, " is false here"], cells };
  return { words: [l, ` is false at ${broken}, and `, r, ` is true at none of ${order(reached)}, ${since ? "behind" : "before"} it`], cells };
}

function predicateSaid({ predicate, modulus, remainder }: OfOperator<"predicate">): string {
  if (predicate === "mod") return modulus === 2 ? (remainder ? "odd" : "even") : `${remainder} modulo ${modulus}`;
  return { prime: "prime", square: "a square", "power of 2": "a power of 2" }[predicate];
}

/** The nodes that a condition reads at the key and at the query. */
export function leaves(score: ScoreSpec): { key: number[]; query: number[] } {
  if ("key" in score) return { key: [score.key], query: [] };
  if ("query" in score) return { key: [], query: [score.query] };
  if ("equal" in score) return { key: [score.equal[0]], query: [score.equal[1]] };
  const parts = ("not" in score ? [score.not] : "all" in score ? score.all : score.any).map(leaves);
  return { key: parts.flatMap(({ key }) => key), query: parts.flatMap(({ query }) => query) };
}
