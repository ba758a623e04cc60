// The YAML of a machine that was read from JFLAP, as tm2tfr/sources/turing/formats/native.py writes it, with its warnings as comments.

import { visible } from "../live/refusals";
import type { Loaded } from "./draft";
import { Machine, type Rule } from "./machine";

const PLAIN = /^(?:[A-Za-z][\w-]*|_|[0-9])$/;
const TAKEN = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
const MOST_IN_A_LIST = 16;

export function yamlOf({ machine, warnings }: Loaded): string {
  const { name, blank, start, accept, input, states, rules } = machine;
  const said = warnings.map(({ span, what, remedy }) => `# warning${span ? `, line ${span.line} of the JFLAP file` : ""}: ${visible(what)}: ${visible(remedy)}`);
  const head = [`name: ${scalar(name)}`, `blank: ${scalar(blank)}`, `start state: ${scalar(start)}`, `accept: ${accept!.length === 1 ? scalar(accept![0]!) : list(accept!)}`];
  const lines = new Map(states.map((state) => [state, [] as [string, string[]][]]));
  for (const { state, symbol, rule } of rules.entries) {
    const own = lines.get(state)!;
    const last = own.at(-1);
    const does = instruction(state, symbol, rule);
    if (last?.[0] === does && last[1].length < MOST_IN_A_LIST) last[1].push(symbol);
    else own.push([does, [symbol]]);
  }
  const table = [...lines].flatMap(([state, own]) => [`  ${scalar(state)}:`, ...own.map(([does, symbols]) => `    ${symbols.length === 1 ? scalar(symbols[0]!) : list(symbols)}: ${does}`)]);
  return [...said, ...head, ...alphabets(machine), ...(input === null ? [] : [`input: ${scalar(input)}`]), "table:", ...table, ""].join("\n");
}

/** The alphabets, unless they are the ones that the rules and the input imply. */
function alphabets({ name, blank, start, accept, input, states, rules, inputAlphabet, tapeAlphabet }: Machine): string[] {
  const choices = [[null, []], [null, tapeAlphabet], [inputAlphabet, []], [inputAlphabet, tapeAlphabet]] as const;
  const [sigma, gamma] = choices.find(([some, all]) => {
    const implied = new Machine({ name, blank, start, accept, input, states, rules, inputAlphabet: some && [...some], tapeAlphabet: [...all] });
    return implied.inputAlphabet.join() === inputAlphabet.join() && implied.tapeAlphabet.join() === tapeAlphabet.join();
  })!;
  return [...(sigma ? [`input alphabet: ${list(sigma)}`] : []), ...(gamma.length ? [`tape alphabet: ${list(gamma)}`] : [])];
}

function instruction(state: string, symbol: string, rule: Rule): string {
  const write = rule.write === symbol ? "" : `write: ${scalar(rule.write)}, `;
  const move = ["L", "S", "R"][rule.move + 1]!;
  if (rule.state !== state) return `{${write}${move}: ${scalar(rule.state)}}`;
  return write ? `{${write}${move}}` : move;
}

function list(texts: readonly string[]): string {
  return `[${texts.map(scalar).join(", ")}]`;
}

/** A text as YAML, unquoted if it cannot be misread. */
function scalar(text: string): string {
  if (PLAIN.test(text) && !TAKEN.includes(text.toLowerCase())) return text;
  if (visible(text) === text) return `'${text.replaceAll("'", "''")}'`;
  return `"${[...text].map((sign) => (sign === '"' || sign === "\\" ? `\\${sign}` : visible(sign))).join("")}"`;
}
