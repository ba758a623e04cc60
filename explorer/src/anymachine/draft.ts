// A text of a machine that is being read: its parts with their places, and the complaints about them, as
// tm2tfr/base/text/nodes.py and tm2tfr/sources/turing/formats/draft.py have them.

import { quoted } from "../live/refusals";
import { Machine, MachineError, type Parts, type Problem, Rules } from "./machine";
import { type Diagnostic, type Log, MOST_DIAGNOSTICS, type Span } from "./text";
import { kindOf, type Mapping, type Node, type Scalar } from "./yaml";

/** The entries of a mapping by their keys. */
export type Fields = Map<string, [Scalar, Node]>;

/** A machine, and warnings about what its author may not have meant. */
export interface Loaded {
  machine: Machine;
  warnings: Diagnostic[];
}

export class Draft {
  readonly values: Parts;
  /** The node to point at, by the path of a `Problem`. */
  private readonly marks = new Map<string, Node>();
  /** What was reported in its place: nothing more is said of it. */
  readonly unreadable = new Set<string>();

  constructor(
    public log: Log,
    name: string,
  ) {
    this.values = { name, rules: new Rules(), start: "", blank: "" };
  }

  /** The machine. Throws `SpecError` with every error of the machine and of the text. */
  machine(): Machine {
    try {
      const machine = new Machine(this.values);
      this.log.conclude();
      return machine;
    } catch (error) {
      if (!(error instanceof MachineError)) throw error;
      for (const problem of error.problems) this.complain(problem);
      throw this.log.failure();
    }
  }

  // ── places ──────────────────────────────────────────────────────────────────────────────────────────────
  put(path: string[], node: Node): void {
    this.marks.set(JSON.stringify(path), node);
  }

  putFirst(path: string[], node: Node): void {
    if (!this.at(path)) this.put(path, node);
  }

  at(path: string[]): Node | undefined {
    return this.marks.get(JSON.stringify(path));
  }

  // ── complaints ──────────────────────────────────────────────────────────────────────────────────────────
  error(node: Node | null | undefined, what: string, remedy: string): void {
    this.log.add(this.span(node), what, remedy);
  }

  /** Complain of something after which there is nothing more to read. */
  refuse(node: Node | null | undefined, what: string, remedy: string): never {
    this.error(node, what, remedy);
    throw this.log.failure();
  }

  warn(node: Node | null | undefined, what: string, remedy: string): void {
    this.log.add(this.span(node), what, remedy, "warning");
  }

  /** The span of a node, or of its character at a position, in UTF-16 units, if it is written without escapes. */
  span(node: Node | null | undefined, position?: number): Span | null {
    if (!node) return null;
    const span = this.log.source.span(node.start, node.end);
    if (position === undefined || node.kind !== "scalar") return span;
    const { line } = node.start;
    const column = node.start.column + (node.plain ? 0 : 1);
    if (!this.log.source.lines[line]!.startsWith(node.text, column)) return span;
    return this.log.source.span({ line, column: column + position });
  }

  /** ` (did you mean 'x'?)` for the known name that this one commonly means, or resembles. */
  nearest(name: string, known: readonly string[], meant: Readonly<Record<string, string>>): string {
    if (this.log.size >= MOST_DIAGNOSTICS) return "";
    const lower = name.toLowerCase();
    const sure = (Object.hasOwn(meant, lower) ? meant[lower] : undefined) ?? known.find((each) => each.toLowerCase() === lower);
    return sure !== undefined ? ` (did you mean ${quoted(sure)}?)` : this.log.didYouMean(name, known);
  }

  private complain({ at, what, remedy }: Problem): void {
    if (this.unreadable.has(at[0]!)) return;
    let position: number | undefined;
    if (!this.at(at) && ["input", "examples"].includes(at[0]!) && this.at(at.slice(0, -1))) [at, position] = [at.slice(0, -1), Number(at.at(-1))];
    while (at.length && !this.at(at)) at = at.slice(0, -1);
    const node = this.at(at);
    if (position !== undefined && node?.kind === "scalar") position = [...node.text].slice(0, position).join("").length;
    this.log.add(this.span(node, position), what, remedy);
  }

  // ── pieces of a document ────────────────────────────────────────────────────────────────────────────────
  /** The entries of a mapping whose keys are text, duplicates among them; those and other keys are reported. */
  entries(node: Mapping, noun: string): [Scalar, Node][] {
    const found: [Scalar, Node][] = [];
    const first = new Map<string, Scalar>();
    for (const [key, value] of node.pairs) {
      if (key.kind !== "scalar") {
        this.error(key, `${kindOf(key)} cannot be a ${noun}`, `write the ${noun} as text, in quotes if necessary`);
        continue;
      }
      found.push([key, value]);
      const before = first.get(key.text);
      if (before) this.twice(key, before, `the ${noun} ${quoted(key.text)}`);
      else first.set(key.text, key);
    }
    return found;
  }

  /** The entries of a mapping with a fixed set of keys; any other is reported. */
  fields(node: Mapping, noun: string, known: readonly string[], remedy: string, meant: Readonly<Record<string, string>>): Fields {
    const found: Fields = new Map();
    for (const [key, value] of this.entries(node, "key")) {
      if (!known.includes(key.text)) this.error(key, `unknown key ${quoted(key.text)} in ${noun}${this.nearest(key.text, known, meant)}`, remedy);
      else if (!found.has(key.text)) found.set(key.text, [key, value]);
    }
    return found;
  }

  twice(node: Node, first: Node, what: string): void {
    const place = this.span(first);
    this.error(node, `${what} is given a second time; the first is in ${place ? `line ${place.line}, column ${place.column}` : "the text"}`, "remove one of the two");
  }

  /** The texts of a text, or of a list of them; anything else is reported. */
  scalars(node: Node, noun: string): Scalar[] | null {
    const items = node.kind === "list" ? node.items : [node];
    const texts = items.filter((item) => item.kind === "scalar");
    for (const item of items) if (item.kind !== "scalar") this.error(item, `expected ${noun}, found ${kindOf(item)}`, "write it as text, in quotes if necessary");
    return texts.length === items.length ? texts : null;
  }
}

