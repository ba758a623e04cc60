// JFLAP's .jff files for Turing machines with one tape: tm2tfr/sources/turing/formats/jflap.py again, with the same messages in the same
// places, but without the machines of building blocks.

import { quoted, thousands } from "../live/refusals";
import { Draft, type Loaded } from "./draft";
import { distinct } from "./machine";
import { decoded, Log, size } from "./text";
import type { Scalar } from "./yaml";

const SQUARE = "□"; // how JFLAP draws the blank
const BLANKS = ["_", SQUARE, "␣", " ", "▢", "◻"];
/** Letters that are typed for the blank by mistake. */
const TYPED = ["_", "λ", "ε"];
const [ANY, NOT] = ["~", "!"];
const MOVES = new Map([["L", -1], ["S", 0], ["R", 1]]);
const MOST_RULES = 100_000;
const COMMENT = /^(name|blank|input|alphabet|input alphabet|tape alphabet): *(.*)$/;
/** What begins with `<`, but for closing tags. */
const PARTS = /<!--[^]*?-->|<!\[CDATA\[[^]*?\]\]>|<\?[^]*?\?>|<!DOCTYPE|<(?![/!?])/g;

interface Xml {
  root: Element;
  /** The opening tags. */
  tags: Map<Element, Scalar>;
  comments: Map<string, { value: string; node: Scalar }>;
}

interface State {
  name: string;
  node: Scalar;
  initial: boolean;
  final: boolean;
}

/** A transition as it is written. */
interface Arrow {
  node: Scalar;
  from: State;
  to: State;
  read: string;
  write: string;
  move: number;
}

/** Whether a text is XML, and no page or picture of the web. */
export function looksLike(text: string): boolean {
  return text.trimStart().startsWith("<") && !/<(!doctype )?(html|svg)/i.test(text);
}

/** Read a machine. Throws `SpecError` with every error. */
export function read(text: string, file: string, name: string): Loaded {
  const draft = new Draft(new Log(decoded(text, file)), name);
  const xml = parsed(draft);
  const blocks = hasBlocks(draft, xml);
  const body = first(xml.root, "automaton") ?? xml.root;
  const states = statesOf(draft, xml, body);
  const arrows = children(body, "transition").flatMap((element) => arrowOf(draft, xml, states, element) ?? []);
  draft.log.conclude();
  fill(draft, xml, [...states.values()], arrows, blocks, xml.tags.get(body)!);
  const machine = draft.machine();
  return { machine, warnings: draft.log.conclude() };
}

/** The document: elements do not know their places, but the n-th is the n-th opening tag of the text. */
function parsed(draft: Draft): Xml {
  const { source } = draft.log;
  const { text } = source;
  const [tags, comments]: [Scalar[], Xml["comments"]] = [[], new Map()];
  const node = (from: number, to: number): Scalar => ({ kind: "scalar", start: source.mark(from), end: source.mark(to), text: text.slice(from, to), plain: true, block: false });
  for (const { 0: part, index } of text.matchAll(PARTS)) {
    if (part === "<!DOCTYPE") draft.refuse(node(index, index + part.length), "a DTD, which may define entities, is not allowed", "remove it");
    if (part === "<") tags.push(node(index, text.indexOf(">", index) + 1 || text.length));
    const match = part.startsWith("<!--") && COMMENT.exec(part.slice(4, -3).trim());
    if (match) comments.set(match[1]!, { value: match[2]!.trim(), node: node(index, index + part.length) });
  }
  const parsed = new DOMParser().parseFromString(text, "application/xml");
  const failure = parsed.querySelector("parsererror")?.textContent;
  if (failure !== undefined) {
    const [, line, column] = /line (?:number )?(\d+)\D+(\d+)/i.exec(failure ?? "") ?? [];
    draft.log.add(source.span({ line: Number(line ?? 1) - 1, column: Math.max(0, Number(column ?? 1) - 1) }), "this is not XML", "fix it, or save the file again");
    throw draft.log.failure();
  }
  return { root: parsed.documentElement, tags: new Map([...parsed.querySelectorAll("*")].map((element, n) => [element, tags[n]!])), comments };
}

/** Whether JFLAP 7 opens the file as one with blocks. Anything but a Turing machine with one tape is refused. */
function hasBlocks(draft: Draft, { root, tags }: Xml): boolean {
  const [kind, tapes] = [first(root, "type"), first(root, "tapes")];
  if (root.tagName === "structure" && !kind && root.hasAttribute("type")) draft.refuse(tags.get(root), "this is a file of JFLAP 8, whose files are not read", "draw the machine in JFLAP 7.1, and save it there");
  if (root.tagName !== "structure" || !kind) draft.refuse(tags.get(root), `<${root.tagName}> is not a JFLAP file`, "save a Turing machine in JFLAP");
  const name = textOf(kind);
  const other = name === "fa" ? "; finite automata are run by: tm2tfr explore FILE" : "";
  if (!["turing", "turingbb"].includes(name)) draft.refuse(tags.get(kind), `this is JFLAP's ${quoted(name)}, not a Turing machine`, `save a Turing machine in JFLAP${other}`);
  if (tapes && !["", "1"].includes(textOf(tapes))) draft.refuse(tags.get(tapes), `this machine has ${textOf(tapes)} tapes, but machines here have one`, "convert it to one tape first");
  return name === "turingbb" || root.querySelector("block") !== null;
}

/** The states by their ids, each with a name of its own. */
function statesOf(draft: Draft, { root, tags }: Xml, body: Element): Map<string, State> {
  const states = new Map<string, State>();
  const taken = new Set<string>();
  for (const element of children(body, "state", "block")) {
    const node = tags.get(element)!;
    const id = element.getAttribute("id");
    if (id === null || states.has(id)) {
      if (id === null) draft.error(node, "the state has no id", 'add id="…"');
      else draft.error(node, `the id ${quoted(id)} is used a second time`, "give each state an id of its own");
      continue;
    }
    const own = element.getAttribute("name")?.trim() || `q${id}`;
    let name = taken.has(own) ? `${own} (${id})` : own;
    for (let k = 1; taken.has(name); k++) name = `${own} (${id})_${k}`;
    taken.add(name);
    states.set(id, { name, node, initial: first(element, "initial") !== undefined, final: first(element, "final") !== undefined });
    const tag = element.tagName === "block" && first(element, "tag");
    if (tag && [...root.getElementsByTagName(textOf(tag))].some((inner) => children(inner, "state", "block", "transition", "automaton").length))
      draft.error(node, `the building block ${quoted(own)} contains a machine, which this page does not read`, "convert the file with tm2tfr convert machine.jff -o machine.yaml, and open machine.yaml here");
  }
  const initial = [...states.values()].filter((state) => state.initial);
  if (initial.length !== 1) draft.error(tags.get(body), `${initial.length ? "two states are" : "no state is"} initial`, "mark the state in which a run starts as initial, and no other");
  return states;
}

function arrowOf(draft: Draft, { tags }: Xml, states: Map<string, State>, element: Element): Arrow | void {
  const node = tags.get(element)!;
  const [from, to] = ["from", "to"].map((tag) => {
    const end = first(element, tag);
    if (!end) draft.error(node, `the transition has no <${tag}>`, "add it, with the id of a state");
    else if (!states.has(textOf(end))) draft.error(tags.get(end), `no state has the id ${quoted(textOf(end))}`, "use the id of a state");
    return end && states.get(textOf(end));
  });
  const several = [...element.children].find((each) => (each.getAttribute("tape") ?? "1") !== "1");
  if (several) return draft.error(tags.get(several), "this is for a second tape", "remove it: machines here have one tape");
  const arrow = from && to ? `the transition from ${from.name} to ${to.name}` : "the transition";
  const texts = { read: "", write: "", move: "R" };
  for (const tag of ["read", "write", "move"] as const) {
    const found = first(element, tag);
    if (!found) continue;
    texts[tag] = textOf(found) || texts[tag];
    const complaint = wrong(tag, texts[tag], arrow);
    if (complaint) return draft.error(tags.get(found), ...complaint);
    if (TYPED.includes(texts[tag])) draft.putFirst(["typed", texts[tag]], tags.get(found)!);
  }
  if (element.getAttribute("block") === "true") Object.assign(texts, { write: ANY, move: "S" }); // it reads, and nothing else
  if (from && to) return { node, from, to, read: texts.read, write: texts.write, move: MOVES.get(texts.move)! };
}

/** The error in a symbol or a move, and the remedy; null if it is valid. */
function wrong(tag: "read" | "write" | "move", text: string, arrow: string): [string, string] | null {
  if (tag === "move") return MOVES.has(text) ? null : [`${arrow} moves ${quoted(text)}`, "use L, R or S"];
  if (text.includes("}")) return [`${arrow} reads ${quoted(text)} into a variable, which machines here do not have`, "write one transition per symbol"];
  if (size(text) < 2 || (tag === "read" && size(text) === 2 && text.startsWith(NOT))) return null;
  return [`${arrow} ${tag}s ${quoted(text)}`, `a symbol is exactly one character${text.includes(",") ? "; write one transition per symbol" : ""}`];
}

/** Put the machine into the draft. */
function fill(draft: Draft, { comments }: Xml, states: State[], arrows: Arrow[], blocks: boolean, body: Scalar): void {
  const said = (key: string) => comments.get(key)?.value ?? "";
  const listed = (key: string): string[] | null => {
    const symbols = said(key).split(/\s+/).filter(Boolean);
    if (!comments.has(key) || symbols.every((a) => size(a) === 1)) return comments.has(key) ? symbols : null;
    draft.warn(comments.get(key)!.node, "this comment is not used", `write symbols of one character with spaces between them, as in '${key}: a b'`);
    return null;
  };
  const named = distinct(arrows.flatMap(({ read, write }) => [read.startsWith(NOT) ? read.slice(1) : read, write]).filter((a) => !["", ANY, SQUARE].includes(a)));
  const blank = size(said("blank")) === 1 && !named.includes(said("blank")) ? said("blank") : BLANKS.find((a) => !named.includes(a))!;
  if (comments.has("alphabet")) draft.warn(comments.get("alphabet")!.node, "this comment is not used", "write 'input alphabet: a b'"); // that of a finite automaton
  const [sigma, known] = [listed("input alphabet"), listed("tape alphabet")];
  const gamma = distinct([...(known ?? []), ...(sigma ?? []), ...named, blank]);
  for (const a of TYPED) if (draft.at(["typed", a]) && ![...(known ?? []), ...(sigma ?? [])].includes(a)) draft.warn(draft.at(["typed", a]), `${quoted(a)} is a letter in JFLAP, not the blank`, "for the blank leave the field empty");
  const wild = arrows.some(({ read }) => [ANY, NOT].includes(read.slice(0, 1)));
  const count = arrows.length * (wild ? gamma.length : 1);
  if (count > MOST_RULES) draft.refuse(null, `these are ${thousands(count)} rules, and at most ${thousands(MOST_RULES)} are read`, "use fewer states or symbols");
  for (const { name, node } of states) draft.put(["table", name], node);
  addRules(draft, states, arrows, blocks, gamma, blank);
  draft.log.conclude();
  const accept = states.filter(({ final }) => final).map(({ name }) => name);
  if (!accept.length && !said("name")) draft.warn(body, "no state is final, so every run rejects", "mark the accepting state as final"); // with a name, tm2tfr wrote it
  const letters = (sigma?.length ? sigma : gamma).filter((a) => a !== blank);
  const start = states.find(({ initial }) => initial)!.name;
  Object.assign(draft.values, { start, blank, accept, states: states.map(({ name }) => name), tapeAlphabet: gamma, inputAlphabet: sigma, name: said("name") || draft.values.name });
  if (wild) draft.values.aboutInput = `list others in the file, as in '<!-- input alphabet: ${[...letters, "x"].join(" ")} -->'`;
  if (said("input") && [...said("input")].every((a) => letters.includes(a))) draft.values.input = said("input");
}

/** Work out the transitions for each symbol. With blocks, one that reads `!x` comes after the others, which go before it. */
function addRules(draft: Draft, states: State[], arrows: Arrow[], blocks: boolean, gamma: string[], blank: string): void {
  const { rules } = draft.values;
  const late = ({ read }: Arrow) => blocks && read.startsWith(NOT);
  const named = (a: string) => (a === "" || a === SQUARE ? blank : a);
  const matching = (read: string) => (read === ANY ? gamma : read.startsWith(NOT) ? gamma.filter((a) => a !== named(read.slice(1))) : [named(read)]);
  const from = new Map(states.map((state) => [state, [] as Arrow[]]));
  for (const arrow of [...arrows.filter((each) => !late(each)), ...arrows.filter(late)]) from.get(arrow.from)!.push(arrow);
  for (const [{ name: q, final }, own] of from) {
    const first = new Map<string, Arrow>();
    for (const arrow of own) {
      const { node, to, read, write, move } = arrow;
      if (final) draft.warn(node, `${quoted(q)} is final, so a run stops there: this transition is never taken`, "remove it, or unmark the state");
      for (const a of final ? [] : matching(read)) {
        const rule = { state: to.name, write: write === ANY ? a : named(write), move };
        const [before, other] = [rules.get(q, a), first.get(a)];
        if (!before || !other) {
          first.set(a, arrow);
          rules.set(q, a, rule);
          draft.put(["table", q, a], node);
        } else if ((before.state !== rule.state || before.write !== rule.write || before.move !== move) && (late(other) || !late(arrow))) {
          const problem = `state ${quoted(q)} has two transitions for ${quoted(a)}: to ${quoted(other.to.name)} in line ${other.node.start.line + 1} and to ${quoted(to.name)} here`;
          draft.error(node, `${problem}, and machines here are deterministic`, "keep one of the two");
        }
      }
    }
  }
}

function children(element: Element, ...tags: string[]): Element[] {
  return [...element.children].filter(({ tagName }) => tags.includes(tagName));
}

function first(element: Element, tag: string): Element | undefined {
  return children(element, tag)[0];
}

/** The text directly in an element. */
function textOf(element: Element): string {
  return [...element.childNodes].map((node) => (node instanceof Text ? node.data : "")).join("").trim();
}
