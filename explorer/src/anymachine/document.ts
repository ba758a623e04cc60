// A document of turingmachine.io, with the keys that tm2tfr adds, as a machine: tm2tfr/sources/turing/formats/document.py and native.py again.

import { quoted } from "../live/refusals";
import { advise } from "./advice";
import { Draft, type Fields, type Loaded } from "./draft";
import type { Example, Rule } from "./machine";
import { decoded, Log, size, SourceText } from "./text";
import { compose, empty, isNull, kindOf, type Mapping, type Node, type Scalar } from "./yaml";

const LETTERS: Record<string, number> = { L: -1, R: 1, S: 0, N: 0 };
const REMEDY = "write L, R, S, a synonym, or a mapping such as {write: 1, R: state}";
const SPELLED = "an instruction has one of L, R and S, and optionally write, as in {write: 1, R: state}";
const AS_TEXT = "write it as text, in quotes if necessary";
const INSTRUCTION_MEANT = meanings({ L: "l, left, <, <-", R: "r, right, >, ->", S: "s, n, stay, stop, none, -" });
const TEXTS: Record<string, "name" | "description" | "source" | "tape" | "blank" | "start" | "input"> = {
  name: "name",
  description: "description",
  source: "source",
  tape: "tape",
  blank: "blank",
  "start state": "start",
  input: "input",
};
const NAMES: Record<string, ["accept" | "reject" | "inputAlphabet" | "tapeAlphabet", string]> = {
  accept: ["accept", "a state"],
  reject: ["reject", "a state"],
  "input alphabet": ["inputAlphabet", "a symbol"],
  "tape alphabet": ["tapeAlphabet", "a symbol"],
};
const KEYS = [...Object.keys(TEXTS), ...Object.keys(NAMES), "synonyms", "table", "examples"];
const EXAMPLE_KEYS = ["input", "outcome", "steps", "tape", "max steps"];
const SEPARATORS = "_ ␣,;|#/:xyz";
const MEANT = meanings({
  accept: "final, final state, final states, accept state, accept states, accepting, halt, end state",
  reject: "reject state, reject states, rejecting, trap state",
  "start state": "start, initial, initial state, init, q0, startstate, start_state",
  "input alphabet": "alphabet, sigma, input symbols, input_alphabet",
  "tape alphabet": "gamma, symbols, tape symbols, tape_alphabet",
  table: "transitions, transition table, rules, delta, states",
  blank: "blank symbol, empty",
  examples: "tests, cases",
  input: "word, initial tape",
  name: "title",
  source: "author, url, reference",
});
const TAPES = ["type", "tapes", "num_tapes", "number of tapes"];
const NUMBER = /^0*([1-9][0-9]{0,8})(?:[ -]?tapes?)?$/;
const WRAPPER = ["name", "source code", "positions", "editor contents"];
const LIKE = /^[^\S\n]*(?:[{,][^\S\n]*)?["']?(?:blank|start state|table|source code)["']?\s*:/m;
const NOTHING = /^(?:---(?=\s|$)|\s|#.*)*$/;

function meanings(others: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(others).flatMap(([ours, theirs]) => theirs.split(", ").map((other) => [other, ours])));
}

/** Whether a text has one of the keys of a document, or is an empty one. */
export function looksLike(text: string): boolean {
  return NOTHING.test(text) || LIKE.test(text);
}

/** Read a machine. Throws `SpecError` with every error of the document. */
export function read(text: string, file: string, name: string): Loaded {
  const log = new Log(decoded(text, file));
  const draft = new Draft(log, name);
  const root = unwrapped(mapping(compose(log.source), draft), draft);
  readDocument(root, draft);
  const machine = draft.machine();
  advise(machine, draft);
  return { machine, warnings: draft.log.conclude() };
}

function mapping(root: Node | null, draft: Draft): Mapping {
  if (root?.kind === "map") return root;
  const nothing = root === null || isNull(root);
  draft.refuse(nothing ? null : root, nothing ? "the document is empty" : `the document is ${kindOf(root)}, not a mapping`, "a machine has at least the keys 'blank', 'start state' and 'table'");
}

/** The document within a file downloaded from turingmachine.io. */
function unwrapped(root: Mapping, draft: Draft): Mapping {
  const keys = root.pairs.flatMap(([key]) => (key.kind === "scalar" ? [key.text] : []));
  if (!keys.includes("source code") || keys.includes("table")) return root;
  const fields = new Map<string, Node>();
  for (const [key, value] of draft.entries(root, "key")) {
    if (!fields.has(key.text)) fields.set(key.text, value);
    if (!WRAPPER.includes(key.text)) draft.warn(key, `unknown key ${quoted(key.text)} around the source code`, "it is ignored: move it inside");
  }
  const [name, code, { source }] = [fields.get("name"), fields.get("source code")!, draft.log];
  if (code.kind !== "scalar") draft.refuse(code, `the source code is ${kindOf(code)}, not text`, "write 'source code: |', and the document below it, indented");
  if (name?.kind === "scalar" && !empty(name)) draft.values.name = name.text;
  const inner = code.block ? new SourceText(code.text, source.file, [source, code.start.line + 1]) : new SourceText(code.text, `${source.file} (source code)`);
  draft.log = draft.log.inside(inner);
  return mapping(compose(inner), draft);
}

function readDocument(root: Mapping, draft: Draft): void {
  const found: Fields = new Map();
  for (const [key, value] of draft.entries(root, "key")) {
    const tapes = TAPES.includes(key.text) && value.kind === "scalar" && !KEYS.includes(key.text) ? NUMBER.exec(value.text) : null;
    if (KEYS.includes(key.text)) {
      if (!found.has(key.text)) found.set(key.text, [key, value]);
    } else if (tapes) {
      if (tapes[1] !== "1") draft.refuse(value, `this machine has ${tapes[1]} tapes, but machines here have one`, "convert it to one tape first");
    } else draft.warn(key, `unknown key ${quoted(key.text)}${draft.nearest(key.text, KEYS, MEANT)}`, "it is ignored: fix it, or make it a comment");
  }
  for (const [name, [key, value]] of found) draft.put([name], empty(value) ? key : value);
  readTexts(draft, found);
  readNames(draft, found);
  const table = found.get("table");
  if (table) new Table(draft).read(table[1], found.get("synonyms")?.[1] ?? null);
  else draft.error(null, "there is no table", "add a line 'table:', and below it the states with their rules");
  const examples = found.get("examples");
  if (examples) draft.values.examples = readExamples(draft, examples[1]);
  separate(draft);
}

function readTexts(draft: Draft, found: Fields): void {
  for (const [name, keyword] of Object.entries(TEXTS)) {
    const value = found.get(name)?.[1];
    if (!value) continue;
    if (value.kind === "scalar") {
      if (!(empty(value) && ["name", "description", "source"].includes(name))) draft.values[keyword] = value.text;
    } else {
      draft.error(value, `${name} is ${kindOf(value)}, not text`, AS_TEXT);
      draft.unreadable.add(name);
    }
  }
}

function readNames(draft: Draft, found: Fields): void {
  for (const [name, [keyword, noun]] of Object.entries(NAMES)) {
    const entry = found.get(name);
    if (!entry) continue;
    const [key, value] = entry;
    let names: Scalar[] | null = null;
    if (empty(value)) draft.error(key, `nothing follows ${quoted(name)}`, `write ${noun}, or a list of them ([] for none), or remove the line`);
    else names = draft.scalars(value, noun);
    if (names === null) {
      draft.unreadable.add(name);
      continue;
    }
    draft.values[keyword] = names.map(({ text }) => text);
    for (const node of names) draft.putFirst([name, node.text], node);
  }
}

// ── the table ─────────────────────────────────────────────────────────────────────────────────────────────
/** The effect of a rule; null means "unchanged". */
interface Instruction {
  move: number;
  write: Scalar | null;
  state: Scalar | null;
}

class Table {
  private states: string[] = [];
  /** null for one that could not be read, or for all of them: this has been reported in its place. */
  private synonyms: Map<string, Instruction | null> | null = new Map();

  constructor(private readonly draft: Draft) {}

  read(node: Node, synonyms: Node | null): void {
    const { draft } = this;
    if (node.kind !== "map" || !node.pairs.length) {
      const nothing = node.kind === "map" || isNull(node);
      const remedy = "write a line 'STATE:' for each state, and its rules below it, 'SYMBOL: INSTRUCTION'";
      draft.error(draft.at(["table"]), nothing ? "the table has no states" : `the table is ${kindOf(node)}, not a mapping`, remedy);
      return;
    }
    const entries = draft.entries(node, "state");
    this.states = entries.map(([key]) => key.text);
    if (entries.length === node.pairs.length) draft.values.states = this.states;
    this.readSynonyms(synonyms);
    for (const [key, value] of entries) {
      draft.putFirst(["table", key.text], key);
      this.readState(key.text, value);
    }
  }

  private readSynonyms(node: Node | null): void {
    if (node === null || isNull(node)) return;
    if (node.kind !== "map") {
      this.draft.error(node, `the synonyms are ${kindOf(node)}, not a mapping`, "write lines such as 'accept: {R: accept}' below it");
      this.synonyms = null;
      return;
    }
    const read = new Map<string, Instruction | null>();
    for (const [key, value] of this.draft.entries(node, "synonym")) {
      const instruction = read.has(key.text) ? null : this.instruction(key, value);
      if (!read.has(key.text)) read.set(key.text, instruction);
      else this.instruction(key, value);
    }
    this.synonyms = read;
  }

  private readState(state: string, node: Node): void {
    if (isNull(node)) return;
    if (node.kind !== "map") {
      this.draft.error(node, `the entry of state ${quoted(state)} is ${kindOf(node)}, not a mapping`, "write lines 'SYMBOL: INSTRUCTION' below it, or nothing if it halts");
      return;
    }
    const first = new Map<string, Scalar>();
    for (const [key, value] of node.pairs) {
      const instruction = this.instruction(key, value);
      for (const symbol of this.symbols(key)) {
        const before = first.get(symbol.text);
        if (!before) first.set(symbol.text, symbol);
        if (before) this.draft.twice(symbol, before, `the rule for state ${quoted(state)} and symbol ${quoted(symbol.text)}`);
        else if (instruction && !this.draft.values.rules.get(state, symbol.text)) this.add(state, symbol, instruction);
      }
    }
  }

  /** The symbols that a key lists; as on turingmachine.io, '0,1' is the list [0, 1]. */
  private symbols(key: Node): Scalar[] {
    const found = this.draft.scalars(key, "a symbol") ?? [];
    const parts = key.kind === "scalar" ? key.text.split(",") : [];
    if (parts.length < 2 || parts.some((part) => size(part) !== 1)) return found;
    let at = 0;
    return parts.map((part) => {
      const one = this.part(key as Scalar, at, at + part.length);
      at += part.length + 1;
      return one;
    });
  }

  /** A part of a text, at its own place if the text is written without escapes. */
  private part(node: Scalar, from: number, to: number): Scalar {
    const { line, column } = node.start;
    const first = column + (node.plain ? 0 : 1);
    const own = this.draft.log.source.lines[line]!.startsWith(node.text, first);
    const places = own ? { start: { line, column: first + from }, end: { line, column: first + to } } : { start: node.start, end: node.end };
    return { kind: "scalar", ...places, text: node.text.slice(from, to), plain: node.plain, block: false };
  }

  private add(state: string, symbol: Scalar, { move, write, state: target }: Instruction): void {
    const at = ["table", state, symbol.text];
    const rule: Rule = { state: target ? target.text : state, write: write ? write.text : symbol.text, move };
    this.draft.values.rules.set(state, symbol.text, rule);
    this.draft.put(at, symbol);
    if (write) this.draft.put([...at, "write"], write);
    if (target) this.draft.put([...at, "state"], target);
  }

  /** The instruction of a rule or a synonym; null if there is none, which is reported. */
  private instruction(key: Node, node: Node): Instruction | null {
    const { draft, synonyms } = this;
    const moving = (move: number): Instruction => ({ move, write: null, state: null });
    if (node.kind === "map") return this.spelled(node);
    if (node.kind === "list") draft.error(node, `an instruction cannot be ${kindOf(node)}`, REMEDY);
    else if (["L", "R", "N"].includes(node.text)) return moving(LETTERS[node.text]!);
    else if (synonyms === null || synonyms.has(node.text)) return synonyms?.get(node.text) ?? null;
    else if (node.text === "S") return moving(0);
    else if (isNull(node)) draft.error(key, "the instruction is missing", REMEDY);
    else if (this.states.includes(node.text))
      draft.error(node, `${quoted(node.text)} is a state, not an instruction`, `to go there, write {L: ${node.text}}, {R: ${node.text}} or {S: ${node.text}}`);
    else draft.error(node, `${quoted(node.text)} is neither a move nor a synonym${draft.nearest(node.text, [...synonyms.keys()], INSTRUCTION_MEANT)}`, REMEDY);
    return null;
  }

  /** The instruction `{write: s, L: state}`. */
  private spelled(node: Mapping): Instruction | null {
    const { draft } = this;
    const fields = draft.fields(node, "an instruction", ["write", ...Object.keys(LETTERS)], SPELLED, INSTRUCTION_MEANT);
    const moves = [...fields].filter(([name]) => name in LETTERS).map(([, [key]]) => key);
    if (moves.length > 1) draft.error(moves[1], `this instruction has two moves, ${moves[0]!.text} and ${moves[1]!.text}`, "keep one of them");
    else if (!moves.length && fields.size === node.pairs.length) draft.error(node, "this instruction has no move", "add L, R or S, as in {write: 1, R}");
    const write = fields.get("write");
    const symbol = write ? this.symbol(...write) : null;
    const target = moves.length ? fields.get(moves[0]!.text)![1] : null;
    if (!target || moves.length > 1 || (write && !symbol)) return null;
    if (target.kind !== "scalar") {
      draft.error(target, `expected a state, found ${kindOf(target)}`, "write the name of a state");
      return null;
    }
    const stays = isNull(target) && !this.states.includes(target.text);
    return { move: LETTERS[moves[0]!.text]!, write: symbol, state: stays ? null : target };
  }

  private symbol(key: Scalar, node: Node): Scalar | null {
    if (node.kind === "scalar" && !empty(node)) return node;
    const text = node.kind === "scalar";
    this.draft.error(text ? key : node, text ? "the symbol to write is missing" : `expected a symbol, found ${kindOf(node)}`, "quote the symbol, as in write: ' '");
    return null;
  }
}

// ── the examples, and a blank within the input ────────────────────────────────────────────────────────────
function readExamples(draft: Draft, node: Node): Example[] {
  if (isNull(node)) return [];
  if (node.kind !== "list") {
    draft.error(node, `the examples are ${kindOf(node)}, not a list`, "write lines such as '- {input: 11, outcome: accept}' below it");
    return [];
  }
  const read: Example[] = [];
  for (const item of node.items) {
    const example = readExample(draft, item, String(read.length));
    if (example) read.push(example);
  }
  return read;
}

function readExample(draft: Draft, node: Node, place: string): Example | null {
  if (node.kind !== "map") {
    draft.error(node, `an example cannot be ${kindOf(node)}`, "write a mapping such as {input: 11, outcome: accept}");
    return null;
  }
  const fields = draft.fields(node, "an example", EXAMPLE_KEYS, `an example has the keys ${EXAMPLE_KEYS.join(", ")}`, {});
  const texts = new Map<string, string>();
  for (const [name, [key, value]] of fields) {
    if (value.kind === "scalar") {
      texts.set(name, value.text);
      draft.put(["examples", place, name], empty(value) ? key : value);
    } else draft.error(value, `${name} is ${kindOf(value)}, not text`, AS_TEXT);
  }
  for (const [name, remedy] of [["input", "add input: WORD"], ["outcome", "add outcome: accept, reject, halt, limit"]] as const)
    if (!fields.has(name) && fields.size === node.pairs.length) draft.error(node, `the example has no ${name}`, remedy);
  const [steps, maxSteps] = [counted(draft, fields, "steps"), counted(draft, fields, "max steps")];
  const [input, outcome] = [texts.get("input"), texts.get("outcome")];
  if (input === undefined || outcome === undefined) return null;
  return { input, outcome, steps, tape: texts.get("tape") ?? null, maxSteps };
}

function counted(draft: Draft, fields: Fields, name: string): number | null {
  const [key, value] = fields.get(name) ?? [];
  if (value?.kind !== "scalar") return null;
  if (/^[0-9]{1,18}$/.test(value.text)) return Number(value.text);
  draft.error(empty(value) ? key : value, `${name} is ${quoted(value.text)}, not a number of steps`, "write a number such as 100");
  return null;
}

/** Give a blank within the input a letter of its own, which every state treats as the blank. */
function separate(draft: Draft): void {
  const { values } = draft;
  const { blank, rules } = values;
  let word = values.input ?? "";
  if (size(blank) !== 1 || !word.includes(blank)) return;
  const span = draft.span(draft.at(["input"]), word.indexOf(blank));
  while (word.endsWith(blank)) word = word.slice(0, -blank.length);
  if (!word.includes(blank)) {
    values.input = word;
    draft.log.add(span, `the input ends with the blank ${quoted(blank)}`, "it is read without it: an empty cell is blank anyway", "warning");
    return;
  }
  const problem = `position ${size(word.slice(0, word.indexOf(blank)))} of the input is the blank ${quoted(blank)}`;
  const taken = new Set([...word, ...(values.tapeAlphabet ?? []), ...rules.entries.flatMap(({ symbol, rule }) => [symbol, rule.write]), ...(values.examples ?? []).flatMap(({ input }) => [...input])]);
  const letter = [...SEPARATORS].find((sign) => !taken.has(sign));
  if (values.inputAlphabet || letter === undefined) {
    draft.log.add(span, `${problem}, which is not in the input alphabet`, "use another symbol there, which every state treats as the blank");
    return;
  }
  const warning = `${problem}: it is read as the symbol ${quoted(letter)}, which every state treats as the blank`;
  draft.log.add(span, warning, `no run differs; write ${quoted(letter)} for the blank in other inputs`, "warning");
  for (const { state, symbol, rule } of [...rules.entries]) {
    if (symbol !== blank) continue;
    rules.set(state, letter, rule);
    draft.put(["table", state, letter], draft.at(["table", state, blank])!);
  }
  values.input = word.replaceAll(blank, letter);
  values.aboutInput = `write ${quoted(letter)} for the blank`;
  if (values.tapeAlphabet?.length) values.tapeAlphabet = [...values.tapeAlphabet, letter];
}
