// Warnings about a document that is a machine, but perhaps not the one that its author meant: tm2tfr/sources/turing/formats/native.py again.

import { quoted } from "../live/refusals";
import type { Draft } from "./draft";
import type { Machine } from "./machine";
import { listing } from "./text";

const RULE_IN_COMMENT = /^\s*(#)(?::(?:\s|$)|\s+:\s+(?:\{|[LRSN]\s*(?:#|$)))/;

export function advise(machine: Machine, draft: Draft): void {
  commented(draft);
  const reached = closure([machine.start], machine.rules.entries.map(({ state, rule }) => [state, rule.state]));
  const known = new Set([...reached, ...machine.acceptStates, ...(machine.reject ?? [])]);
  const unreachable = machine.states.filter((state) => !known.has(state));
  if (unreachable.length) warn(draft, unreachable[0]!, `no rule leads from the start state to ${named("state", unreachable)}`, "fix the rule that should lead there, or remove what is unused");
  endless(machine, draft, reached);
  unread(machine, draft);
}

/** `#: R`, which is a comment. */
function commented(draft: Draft): void {
  const { lines } = draft.log.source;
  const table = draft.at(["table"])!;
  for (let line = table.start.line; line < Math.min(table.end.line + 1, lines.length); line++) {
    const match = RULE_IN_COMMENT.exec(lines[line]!);
    if (match) draft.log.add(draft.log.source.span({ line, column: match[0].indexOf("#") }), "'#' begins a comment in YAML", "if this is a rule for that symbol, quote it: '#'", "warning");
  }
}

/** States from which no halt can be reached, unless an example shows that this is intended. */
function endless(machine: Machine, draft: Draft, reached: Set<string>): void {
  if (machine.examples.some(({ outcome }) => outcome === "limit")) return;
  const hopeful = closure([...machine.haltingStates, ...machine.missingRules.map(([state]) => state)], machine.rules.entries.map(({ state, rule }) => [rule.state, state]));
  const dead = machine.states.filter((state) => !hopeful.has(state) && reached.has(state));
  const remedy = "add a rule that leads to a halt, or an example with outcome: limit";
  if (dead.includes(machine.start)) warn(draft, machine.start, "no run of this machine ever halts", remedy);
  else if (dead.length) warn(draft, dead[0]!, `no run that enters ${named("state", dead)} ever halts`, remedy);
}

/** Symbols that no rule reads although the head may come across them. */
function unread(machine: Machine, draft: Draft): void {
  const { rules, blank } = machine;
  const read = new Set(rules.entries.map(({ symbol }) => symbol));
  const never = machine.tapeAlphabet.filter((symbol) => symbol !== blank && !read.has(symbol));
  let words = new Set([...(machine.input ?? ""), ...machine.examples.flatMap(({ input }) => [...input])]);
  if (draft.values.inputAlphabet) for (const symbol of machine.inputAlphabet) words.add(symbol);
  if (![...read].some((symbol) => symbol !== blank)) words = new Set();
  const bothWays = new Set(rules.entries.map(({ rule }) => rule.move).filter(Boolean)).size > 1;
  const written = new Map<string, string[]>();
  for (const { state, symbol, rule } of rules.entries) if (bothWays && !machine.haltingStates.has(rule.state) && !written.has(rule.write)) written.set(rule.write, ["table", state, symbol, "write"]);
  const remedy = "a run stops where it reads one: add rules if this is not intended";
  const met = never.filter((symbol) => words.has(symbol));
  const lost = never.filter((symbol) => !words.has(symbol) && written.has(symbol));
  if (met.length) {
    const places = [["input alphabet", met[0]!], [(machine.input ?? "").includes(met[0]!) ? "input" : "examples"]];
    draft.warn(places.map((place) => draft.at(place)).find(Boolean), `no rule reads ${named("input symbol", met)}`, remedy);
  }
  if (lost.length) draft.warn(draft.at(written.get(lost[0]!)!), `no rule reads ${named("symbol", lost)}, which some rule writes`, remedy);
}

/** What can be come to from the first ones, these included. */
function closure(first: string[], steps: [string, string][]): Set<string> {
  const following = new Map<string, string[]>();
  for (const [from, to] of steps) following.set(from, [...(following.get(from) ?? []), to]);
  const found = new Set(first);
  const waiting = [...found];
  while (waiting.length)
    for (const next of following.get(waiting.pop()!) ?? []) {
      if (found.has(next)) continue;
      found.add(next);
      waiting.push(next);
    }
  return found;
}

function named(noun: string, names: string[]): string {
  return names.length === 1 ? `the ${noun} ${quoted(names[0]!)}` : `the ${noun}s ${listing(names)}`;
}

function warn(draft: Draft, state: string, what: string, remedy: string): void {
  draft.warn(draft.at(["table", state]), what, remedy);
}
