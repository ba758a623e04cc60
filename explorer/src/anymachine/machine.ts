// The definition of a Turing machine, and the messages for invalid ones: tm2tfr/sources/turing/spec.py again, word for word.

import { quoted } from "../live/refusals";
import { didYouMean, listing, size } from "./text";

export type Outcome = "accept" | "reject" | "halt";

/** δ(q, a) = (r, b, m): go to `state`, write `write`, move by -1, 0 or 1. */
export interface Rule {
  state: string;
  write: string;
  move: number;
}

export interface Example {
  input: string;
  outcome: string;
  steps: number | null;
  tape: string | null;
  maxSteps: number | null;
}

/** δ, in the order in which it was written. */
export class Rules {
  private readonly places = new Map<string, number>();
  readonly entries: { state: string; symbol: string; rule: Rule }[] = [];

  get(state: string, symbol: string): Rule | undefined {
    return this.entries[this.places.get(key(state, symbol)) ?? -1]?.rule;
  }

  set(state: string, symbol: string, rule: Rule): void {
    this.places.set(key(state, symbol), this.entries.push({ state, symbol, rule }) - 1);
  }
}

function key(state: string, symbol: string): string {
  return `${state.length} ${state}${symbol}`;
}

/** The parts of a machine, as far as they were read. */
export interface Parts {
  rules: Rules;
  start: string;
  blank: string;
  states?: string[];
  inputAlphabet?: string[] | null;
  tapeAlphabet?: string[];
  accept?: string[] | null;
  reject?: string[] | null;
  tape?: string;
  name: string;
  description?: string;
  source?: string;
  input?: string | null;
  examples?: Example[];
  aboutInput?: string;
}

/** One thing wrong with a machine; `at` is a path such as `table`, `q0`, `1`, `state`. */
export interface Problem {
  at: string[];
  what: string;
  remedy: string;
}

export class MachineError extends Error {
  constructor(readonly problems: Problem[]) {
    super(problems.map(({ what }) => what).join("\n"));
  }
}

const MOST_PROBLEMS = 100;
const OUTCOMES = ["accept", "reject", "halt", "limit"];
const TAPES = ["one-way", "two-way"];

export class Machine {
  readonly rules: Rules;
  readonly start: string;
  readonly blank: string;
  readonly states: string[];
  readonly inputAlphabet: string[];
  readonly tapeAlphabet: string[];
  readonly accept: string[] | null;
  readonly reject: string[] | null;
  readonly tape: string;
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly input: string | null;
  readonly examples: Example[];
  readonly aboutInput: string;
  /** Whether halting is a verdict. */
  readonly decides: boolean;
  readonly acceptStates: string[];
  readonly rejectStates: string[];
  readonly haltingStates: Set<string>;

  /** Throws `MachineError` with every problem. */
  constructor(parts: Parts) {
    const { rules } = parts;
    this.rules = rules;
    [this.start, this.blank, this.name] = [parts.start, parts.blank, parts.name];
    this.accept = parts.accept ? distinct(parts.accept) : null;
    this.reject = parts.reject ? distinct(parts.reject) : null;
    this.examples = parts.examples ?? [];
    this.input = parts.input ?? null;
    const symbols = [...rules.entries.map(({ symbol }) => symbol), ...rules.entries.map(({ rule }) => rule.write)];
    const sigma = parts.inputAlphabet ? distinct(parts.inputAlphabet) : [];
    this.tapeAlphabet = distinct(parts.tapeAlphabet?.length ? parts.tapeAlphabet : [...sigma, ...symbols, this.blank]);
    if (!parts.inputAlphabet) {
      const words = [this.input ?? "", ...this.examples.map(({ input }) => input)].join("");
      if (!parts.tapeAlphabet?.length) this.tapeAlphabet = distinct([...this.tapeAlphabet, ...words]);
      this.inputAlphabet = this.tapeAlphabet.filter((symbol) => symbol !== this.blank);
    } else this.inputAlphabet = sigma;
    const named = [...rules.entries.map(({ state }) => state), ...rules.entries.map(({ rule }) => rule.state)];
    this.states = distinct(parts.states?.length ? parts.states : [this.start, ...named, ...(this.accept ?? []), ...(this.reject ?? [])]);
    this.tape = parts.tape ?? "two-way";
    this.description = parts.description ?? "";
    this.source = parts.source ?? "";
    this.aboutInput = parts.aboutInput ?? "";
    const busy = new Set(rules.entries.map(({ state }) => state));
    const idle = this.states.filter((state) => !busy.has(state));
    this.acceptStates = this.accept !== null || this.reject !== null ? (this.accept ?? []) : idle.filter((state) => state === "accept");
    this.decides = this.accept !== null || this.reject !== null || this.acceptStates.length > 0;
    this.rejectStates = this.decides ? distinct([...(this.reject ?? []), ...idle.filter((state) => !this.acceptStates.includes(state))]) : [];
    this.haltingStates = new Set([...this.acceptStates, ...this.rejectStates, ...idle]);
    const found = [...first(problems(this, busy), MOST_PROBLEMS)];
    if (found.length) throw new MachineError(found);
  }

  outcomeOf(state: string): Outcome | null {
    if (this.acceptStates.includes(state)) return "accept";
    if (this.rejectStates.includes(state)) return "reject";
    return this.haltingStates.has(state) ? "halt" : null;
  }

  /** The pairs of a state and a symbol without a rule, except in halting states. */
  get missingRules(): [string, string][] {
    const working = this.states.filter((state) => !this.haltingStates.has(state));
    return working.flatMap((state) => this.tapeAlphabet.filter((symbol) => !this.rules.get(state, symbol)).map((symbol): [string, string] => [state, symbol]));
  }
}

export function distinct(names: readonly string[]): string[] {
  return [...new Set(names)];
}

function* first<T>(items: Iterable<T>, most: number): Generator<T> {
  let n = 0;
  for (const item of items) {
    if (n++ === most) return;
    yield item;
  }
}

function* problems(m: Machine, busy: Set<string>): Generator<Problem> {
  yield* symbolProblems(m);
  yield* stateProblems(m, busy);
  yield* ruleProblems(m);
  const sigma = new Set(m.inputAlphabet);
  for (const [k, example] of m.examples.entries()) {
    yield* wordProblems(m, ["examples", String(k), "input"], example.input, sigma);
    if (!OUTCOMES.includes(example.outcome))
      yield { at: ["examples", String(k), "outcome"], what: `unknown outcome ${quoted(example.outcome)}${didYouMean(example.outcome, OUTCOMES)}`, remedy: "write accept, reject, halt or limit" };
  }
}

function* symbolProblems(m: Machine): Generator<Problem> {
  const [sigma, gamma] = [new Set(m.inputAlphabet), new Set(m.tapeAlphabet)];
  const inRules = new Set(m.rules.entries.flatMap(({ symbol, rule }) => [symbol, rule.write]));
  const one = "a symbol is exactly one character";
  if (size(m.blank) !== 1)
    yield { at: ["blank"], what: m.blank ? `the blank must be one character, not ${quoted(m.blank)}` : "there is no blank", remedy: "write for example blank: ' ' (with the quotes) or blank: _" };
  else if (!gamma.has(m.blank)) yield { at: ["tape alphabet"], what: `the blank ${quoted(m.blank)} is not in the tape alphabet`, remedy: "add it there" };
  for (const a of m.inputAlphabet) {
    const at = ["input alphabet", a];
    if (size(a) !== 1 && !inRules.has(a)) yield { at, what: `the symbol ${quoted(a)} is not one character`, remedy: one };
    else if (a === m.blank)
      yield { at, what: `the blank ${quoted(a)} is in the input alphabet`, remedy: "remove it, or choose another blank: a word could not be distinguished from the empty cells after it" };
    else if (!gamma.has(a)) yield { at, what: `the symbol ${quoted(a)} is not in the tape alphabet`, remedy: "add it there, or correct it" };
  }
  for (const a of m.tapeAlphabet)
    if (size(a) !== 1 && !inRules.has(a) && !sigma.has(a) && a !== m.blank) yield { at: ["tape alphabet", a], what: `the symbol ${quoted(a)} is not one character`, remedy: one };
  yield* wordProblems(m, ["input"], m.input ?? "", new Set([...sigma, m.blank]));
  if (!TAPES.includes(m.tape)) yield { at: ["tape"], what: `unknown kind of tape ${quoted(m.tape)}${didYouMean(m.tape, TAPES)}`, remedy: "write one-way or two-way" };
}

function* wordProblems(m: Machine, at: string[], word: string, known: Set<string>): Generator<Problem> {
  const signs = [...word];
  const i = signs.findIndex((sign) => !known.has(sign));
  if (i < 0) return;
  yield { at: [...at, String(i)], what: `position ${i} of the input, ${quoted(signs[i]!)}, is not in the input alphabet`, remedy: `use only ${listing(m.inputAlphabet) || "the empty word"}` };
}

function* stateProblems(m: Machine, busy: Set<string>): Generator<Problem> {
  const states = new Set(m.states);
  if (!m.start) yield { at: ["start state"], what: "there is no start state", remedy: "add a line 'start state: NAME'" };
  else if (!states.has(m.start)) yield unknown(["start state"], m.start, m);
  if (states.has("") && m.start) yield { at: ["table", ""], what: "a state has an empty name", remedy: "name every state" };
  for (const [name, named] of [["accept", m.accept ?? []], ["reject", m.reject ?? []]] as const)
    for (const q of named) {
      if (!states.has(q)) yield unknown([name, q], q, m);
      if (busy.has(q)) yield { at: [name, q], what: `the ${name} state ${quoted(q)} has rules`, remedy: `the machine stops on entering it: remove its rules, or remove it from ${name}` };
    }
  for (const q of m.reject ?? []) if (m.accept?.includes(q)) yield { at: ["reject", q], what: `state ${quoted(q)} both accepts and rejects`, remedy: "list it under one of the two keys" };
}

function* ruleProblems(m: Machine): Generator<Problem> {
  const [states, gamma] = [new Set([...m.states, ...(m.accept ?? []), ...(m.reject ?? [])]), new Set(m.tapeAlphabet)];
  for (const { state: q, symbol: a, rule } of m.rules.entries) {
    const at = ["table", q, a];
    if (!states.has(q)) yield unknown(["table", q], q, m);
    for (const [place, symbol] of [[at, a], [[...at, "write"], rule.write]] as const) {
      if (size(symbol) !== 1) {
        const several = symbol.includes(",") ? "; write several symbols as a list, [0, 1]" : "";
        yield { at: [...place], what: `the symbol ${quoted(symbol)} is not one character`, remedy: `a symbol is exactly one character${several}` };
      } else if (!gamma.has(symbol)) yield { at: [...place], what: `the symbol ${quoted(symbol)} is not in the tape alphabet`, remedy: "add it there, or correct it" };
    }
    if (!states.has(rule.state)) yield unknown([...at, "state"], rule.state, m);
  }
}

function unknown(at: string[], state: string, m: Machine): Problem {
  const close = state === at[0] ? "" : didYouMean(state, m.states.slice(0, 1000)); // `reject: reject` is no typing error
  const how = ["accept", "reject"].includes(at[0]!) ? ", without rules" : "";
  return { at, what: `unknown state ${quoted(state)}${close}`, remedy: `use a state in the table, or add this one to it${how}` };
}
