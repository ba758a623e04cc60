// A machine in the prompt of a universal decoder: which of its states and symbols is which, its rules as tokens, and what the
// simulator runs; as tm2tfr/sources/turing/universal/names.py and program.py have it.

import { counted, Refused, visible } from "../live/refusals";
import type { MachineReference } from "../live/truth/machine";
import type { Machine } from "./machine";

/** Which machines a decoder runs: at most so many states with rules, and symbols; on which tape. */
export interface Class {
  states: number;
  symbols: number;
  tape: "both" | "one-way" | "two-way";
}

/** The names of the states, of which the last has no rules, and of the symbols, of which the first is the blank. */
export interface Names {
  states: string[];
  symbols: string[];
}

export interface Placed {
  names: Names;
  /** The tokens of the prompt before the input: in the machine's own names, and in those of the decoder. */
  description: string[];
  canonical: string[];
  /** The number of rules. */
  rules: number;
}

const CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/** The most symbols of any decoder. */
export const MOST_SYMBOLS = CHARACTERS.length;
const ARROW = "→";
const VERDICTS = { accept: "ACC", reject: "REJ" } as const;

/** The names that the decoders of a class have without a machine. */
export function canonical({ states, symbols }: Class): Names {
  return { states: [...Array.from({ length: states }, (_, n) => `q${n}`), "halt"], symbols: [...CHARACTERS.slice(0, symbols)] };
}

/** A machine in the prompt of a decoder of a class. Throws `Refused` if it does not fit: with the size that would do. */
export function placed(machine: Machine, among: Class): Placed {
  if (among.tape !== "both" && among.tape !== machine.tape)
    throw new Refused(`${visible(machine.name)}: its tape is ${machine.tape}, and this decoder is for machines with a ${among.tape} tape: use one for both tapes, which is the default`);
  const own = canonical(among);
  const names = filled(...fitted(machine, own), own);
  const taken = names.states.find((state) => Object.values(VERDICTS).some((verdict) => state === ARROW + verdict));
  if (taken !== undefined) throw new Refused(`${visible(machine.name)}: its state '${taken}' has the name of a verdict in the prompt: rename it`);
  const entries = entriesOf(machine, names);
  const described = ({ states, symbols }: Names): string[] => [
    ...(among.tape === "both" ? [machine.tape] : []),
    ...entries.flatMap(({ state, symbol, answer }) => [
      `${states[state]},${symbols[symbol]}`,
      ARROW + (typeof answer === "string" ? answer : `(${states[answer[0]]},${symbols[answer[1]]},${answer[2] > 0 ? "+" : ""}${answer[2]})`),
    ]),
  ];
  return { names, description: described(names), canonical: described(own), rules: entries.length };
}

/** What a decoder must have room for: states, of which those with rules come first, and symbols, the blank first; `resting`: states without rules. */
export function needs(machine: Machine): { working: string[]; resting: string[]; states: string[]; symbols: string[] } {
  const halting = machine.states.filter((state) => machine.haltingStates.has(state) && state !== machine.start);
  const resting = machine.decides ? [] : halting;
  const working = [machine.start, ...machine.states.filter((state) => !halting.includes(state) && state !== machine.start)];
  return { working, resting, states: [...working, ...resting.slice(1)], symbols: [machine.blank, ...machine.tapeAlphabet.filter((symbol) => symbol !== machine.blank)] };
}

/** The states of a machine in the places of those with rules and of the one without, and its symbols; with empty ones between. */
function fitted(machine: Machine, names: Names): [string[], string[]] {
  const { working, resting, states, symbols } = needs(machine);
  const [room, most] = [names.states.length - 1, names.symbols.length];
  if (states.length > room || symbols.length > most) {
    const further = resting.length > 1 ? resting.length - 1 : 0;
    const sizes = [`${counted(working.length, "state")} with rules`, counted(symbols.length, "symbol")];
    if (further) sizes.splice(1, 0, `${further + 1} halting states, all but the first of which count as well`);
    const has = `${sizes.slice(0, -1).join(", ")}${further ? "," : ""} and ${sizes.at(-1)}`;
    const problem = `${visible(machine.name)}: it has ${has}, and this decoder runs machines with at most ${room} and ${most}`;
    if (symbols.length > MOST_SYMBOLS) throw new Refused(`${problem}, and none has more than ${MOST_SYMBOLS} symbols: compile the machine alone`);
    throw new Refused(`${problem}: use the size ${states.length},${symbols.length} or a larger one`);
  }
  return [[...states, ...Array<string>(room - states.length).fill(""), resting[0] ?? ""], symbols];
}

/** Names with others in their places, where these are not empty; where they are taken then, with primes. */
function filled(states: string[], symbols: string[], names: Names): Names {
  const [found, signs] = [[...states], [...symbols, ...Array<string>(names.symbols.length - symbols.length).fill("")]];
  found.forEach((state, n) => {
    if (state) return;
    let name = names.states[n]!;
    while (found.includes(name)) name += "'";
    found[n] = name;
  });
  signs.forEach((symbol, n) => (signs[n] = symbol || [names.symbols[n]!, ...CHARACTERS].find((each) => !signs.includes(each))!));
  return { states: found, symbols: signs };
}

/** A rule as it stands in the prompt: [new state, symbol written, move], or a verdict; states and symbols by their numbers. */
interface Entry {
  state: number;
  symbol: number;
  answer: [number, number, number] | "ACC" | "REJ";
}

function entriesOf(machine: Machine, names: Names): Entry[] {
  const state = new Map(names.states.map((name, n) => [name, n]));
  const symbol = new Map(names.symbols.map((name, n) => [name, n]));
  const at = (q: string, a: string) => ({ state: state.get(q)!, symbol: symbol.get(a)! });
  const started = verdictOf(machine, machine.start);
  const first = started ? machine.tapeAlphabet.map((a): Entry => ({ ...at(machine.start, a), answer: started })) : [];
  const own = machine.rules.entries.map(({ state: q, symbol: a, rule }): Entry => ({ ...at(q, a), answer: verdictOf(machine, rule.state) ?? [state.get(rule.state)!, symbol.get(rule.write)!, rule.move] }));
  const added = machine.decides ? machine.missingRules.map(([q, a]): Entry => ({ ...at(q, a), answer: "REJ" })) : [];
  return [...first, ...own, ...added];
}

/** The verdict of a step into a state; null: it is not one of a machine that decides. */
function verdictOf(machine: Machine, state: string): "ACC" | "REJ" | null {
  const outcome = machine.decides ? machine.outcomeOf(state) : null;
  return outcome === "accept" || outcome === "reject" ? VERDICTS[outcome] : null;
}

/** What the simulator runs: the machine's own rules; a step into a state with a verdict ends the run with that. */
export function reference(machine: Machine, lead: string[]): MachineReference {
  const names = [...machine.states, ...Object.values(VERDICTS).map((verdict) => ARROW + verdict)];
  const number = new Map(names.map((name, n) => [name, n]));
  const into = (state: string) => number.get(verdictOf(machine, state) ? ARROW + verdictOf(machine, state)! : state)!;
  const started = verdictOf(machine, machine.start);
  const judged = started ? machine.tapeAlphabet.map((a): [number, string, string] => [number.get(machine.start)!, a, started]) : [];
  const missing = machine.decides ? machine.missingRules.map(([q, a]): [number, string, string] => [number.get(q)!, a, "REJ"]) : [];
  const busy = new Set(machine.rules.entries.map(({ state }) => state));
  return {
    kind: "machine",
    states: names,
    start: number.get(machine.start)!,
    halting: names.flatMap((name, n) => (busy.has(name) ? [] : [n])),
    rules: machine.rules.entries.map(({ state, symbol, rule }) => [number.get(state)!, symbol, into(rule.state), rule.write, rule.move]),
    blank: machine.blank,
    oneWay: machine.tape === "one-way",
    nominal: false,
    lead,
    first: null,
    entered: names.map((name) => (name.startsWith(ARROW) && !machine.states.includes(name) ? name.slice(ARROW.length) : null)),
    stopped: names.map(() => "HALT"),
    unruled: [...judged, ...missing],
    verdicts: ["ACC", "REJ", "HALT"],
    bump: null,
  };
}
