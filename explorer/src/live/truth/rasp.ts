// The interpreter of RASP: the values of every s-op and the matrix of every selector on an input, by the printed definition, in exact
// numbers, as tm2tfr/sources/rasp/evaluate.py has it. It knows nothing of weights.

import type { NodeSpec, OfOperator, SequenceSpec } from "../../sequence/spec";
import { counted, quoted, Refused, thousands } from "../refusals";
import { type Atom, atomOf, averaged, BINARY, keyOf, mean, oneType, RELATIONS, shown, truthy, UNARY, ValueRefused } from "./atoms";

/** What a node has come to: values, rows of a matrix by query position, or the number of passes of a loop. */
export type Row = Atom[] | boolean[][] | number;
/** Computes a node from those before it; letters: the input, as indices into the alphabet. */
type Step = (done: Row[], letters: number[]) => Row;

const MOST_PASSES = 10_000;

/** The program is undefined on the input: the message says where, why, and what to do. */
export class Undefined extends Refused {}

/** A part of a sequence lacks a position that a step asks for. */
class Missing extends Error {}

/** What each node comes to. passes: loop -> the pass after which it is ended early. */
export function interpreted({ nodes, tokens }: SequenceSpec, letters: number[], passes: ReadonlyMap<number, number>): Row[] {
  if (!letters.length) throw new Refused("the input is empty: RASP programs are defined on at least one token");
  const steps = nodes.map(stepOf);
  const done: Row[] = [];
  const undefinedAt = (n: number, why: string) => {
    const { at, variable } = nodes[n]!;
    const position = failing(steps[n]!, nodes[n]!, done, letters);
    const place = at ? `line ${at[0]}, column ${at[1]}: ` : "";
    const there = position === null ? "" : ` at position ${position}`;
    const named = variable ? `${quoted(variable)} is undefined` : "a value is undefined";
    const input = quoted(shownWord(letters.map((letter) => atomOf(tokens[letter]!))));
    return new Undefined(`${place}${named} on the input ${input}${there}: ${why}: use another input, or define the value there`);
  };
  const made = (n: number, words = "") => {
    const node = nodes[n]!;
    try {
      done[n] = node.operator === "repeat" ? repeated(n, node) : steps[n]!(done, letters);
    } catch (error) {
      if (error instanceof ValueRefused) throw undefinedAt(n, words + error.message);
      throw error;
    }
  };
  /** The passes of a loop after the first, which was made when the loop was reached. */
  const repeated = (n: number, { states, nexts, times, until, again }: OfOperator<"repeat">): number => {
    const seen = new Set<string>();
    let number = 1;
    while (number !== passes.get(n) && number !== times && !ends(until === null ? null : (done[until] as Atom[]))) {
      const handed = nexts.map((next) => done[next] as Atom[]);
      const key = JSON.stringify(handed.map((values) => values.map(keyOf)));
      if (times === null && (seen.has(key) || number === MOST_PASSES)) {
        const why = seen.has(key) ? "what it hands to the next pass comes back" : `${thousands(MOST_PASSES)} passes are made`;
        throw new ValueRefused(`the loop does not end: ${why}, and its condition does not hold at every position`);
      }
      seen.add(key);
      states.forEach((state, k) => (done[state] = handed[k]!));
      number++;
      for (const each of again) made(each, `in pass ${number} of its loop `);
    }
    return number;
  };
  for (let n = 0; n < nodes.length; n++) made(n);
  return done;
}

function ends(condition: Atom[] | null): boolean {
  const wrong = condition?.find((value) => typeof value !== "boolean");
  if (wrong !== undefined) throw new ValueRefused(`the condition of a loop is true or false, not ${shown(wrong)}`);
  return condition !== null && condition.every(Boolean);
}

/** The first position at which a step fails by itself, null if there is none, or it asks for others. */
function failing(step: Step, { operator }: NodeSpec, done: Row[], letters: number[]): number | null {
  if (operator === "repeat") return null;
  for (let position = 0; position < letters.length; position++) {
    const part = done.map((row) => (typeof row === "number" ? row : (row.slice(position, position + 1) as Row)));
    try {
      step(part, letters.slice(position, position + 1));
    } catch (error) {
      if (error instanceof ValueRefused) return position;
      if (error instanceof Missing) return null;
      throw error;
    }
  }
  return null;
}

/** An input as text: its characters, or its tokens as a list where they are not single characters. */
function shownWord(tokens: Atom[]): string {
  const single = tokens.every((token) => typeof token === "string" && [...token].length === 1);
  return single ? tokens.join("") : `[${tokens.map(shown).join(", ")}]`;
}

function stepOf(node: NodeSpec): Step {
  const values = (n: number) => (done: Row[]) => done[node.arguments[n]!] as Atom[];
  switch (node.operator) {
    case "tokens": {
      const known = node.values.map((value) => (typeof value === "object" && "refused" in value ? value.refused : { value: atomOf(value) }));
      return (_, letters) =>
        sequence(
          letters.map((letter) => {
            const found = known[letter]!;
            if (typeof found === "string") throw new ValueRefused(found);
            return found.value;
          }),
        );
    }
    case "indices":
      return (_, letters) => letters.map((_, i) => BigInt(i));
    case "constant": {
      const value = atomOf(node.value);
      return (_, letters) => letters.map(() => value);
    }
    case "elementwise":
      return elementwise(node, node.arguments.map((_, n) => values(n)));
    case "select":
      return selected(RELATIONS[node.relation]!, values(0), values(1));
    case "combined":
      return combined(node);
    case "aggregate":
      return aggregated(node);
    case "state":
      return values(0);
    case "looped":
      return values(1);
    default:
      return () => 1;
  }
}

function sequence(values: Atom[]): Atom[] {
  if (oneType(values)) return values;
  const text = values.find((value) => typeof value === "string")!;
  const other = values.find((value) => typeof value !== "string")!;
  throw new ValueRefused(`a sequence cannot have both texts and other values, here ${shown(text)} and ${shown(other)}`);
}

type Values = (done: Row[]) => Atom[];

function elementwise(node: OfOperator<"elementwise">, of: Values[]): Step {
  const name = node.function;
  if (name === "in" || name === "table") {
    const known = new Map<string, Atom>();
    for (const [key, value] of node.entries) known.set(keyOf(atomOf(key)), atomOf(value));
    if (name === "in") return (done) => of[0]!(done).map((value) => known.has(keyOf(value)));
    return (done) => {
      const missing = of[0]!(done).find((value) => !known.has(keyOf(value)));
      if (missing !== undefined) throw new ValueRefused(`there is no entry for ${shown(missing)}`);
      return sequence(of[0]!(done).map((value) => known.get(keyOf(value))!));
    };
  }
  if (name === "if") {
    return (done) => {
      const [then, condition, other] = of.map((each) => each(done)) as [Atom[], Atom[], Atom[]];
      return sequence(then.map((value, i) => (truthy(condition[i]!) ? value : other[i]!)));
    };
  }
  if (of.length === 1) return (done) => of[0]!(done).map(UNARY[name]!);
  const binary = BINARY[name]!;
  return (done) => {
    const right = of[1]!(done);
    return of[0]!(done).map((value, i) => binary(value, right[i]!));
  };
}

function selected(relation: (key: Atom, query: Atom) => Atom, key: Values, query: Values): Step {
  return (done) => {
    const made = new Map<string, boolean[]>();
    return query(done).map((asked) => {
      const name = keyOf(asked);
      if (!made.has(name)) made.set(name, key(done).map((value) => relation(value, asked) as boolean));
      return made.get(name)!;
    });
  };
}

function combined(node: OfOperator<"combined">): Step {
  const [left, right] = node.arguments;
  if (node.function === "not") return (done) => (done[left!] as boolean[][]).map((row) => row.map((entry) => !entry));
  const both = node.function === "and" ? (a: boolean, b: boolean) => a && b : (a: boolean, b: boolean) => a || b;
  return (done) => {
    const other = done[right!] as boolean[][];
    return (done[left!] as boolean[][]).map((row, i) => row.map((entry, j) => both(entry, other[i]![j]!)));
  };
}

function aggregated(node: OfOperator<"aggregate">): Step {
  const [selector, values] = node.arguments;
  const otherwise = atomOf(node.default);
  return (done) => {
    const candidates = done[values!] as Atom[];
    const taken = (row: boolean[], query: number): Atom => {
      const places = row.flatMap((entry, j) => (entry ? [j] : []));
      if (!places.length) return otherwise;
      if (places.length > 1 && !averaged(candidates)) {
        const text = typeof candidates[0] === "string";
        const what = text ? "texts have no mean" : "truth values have no mean, but indicator(…) makes 0 and 1 of them";
        throw new ValueRefused(`position ${query} selects ${counted(places.length, "position")}, and ${what}`);
      }
      const found = places.flatMap((j) => (j < candidates.length ? [candidates[j]!] : []));
      if (places.length === 1 && !found.length) throw new Missing();
      return places.length === 1 ? found[0]! : mean(found);
    };
    return sequence((done[selector!] as boolean[][]).map(taken));
  };
}
