// Explains what is wrong with a text that is not YAML, to a reader who does not know YAML: tm2tfr/base/text/syntax.py again.
//
// The package yaml says that something is wrong; where and why is found by going through the text token by token, up to the place
// where PyYAML stops, so that the command line says the same in the same place. What this does not find is said in the words of
// the package, at the place that it names: `this is not YAML (…)`.

import type { YAMLError } from "yaml";
import type { Mark, SourceText, Span } from "./text";

export const MAX_DEPTH = 16;

/** What is wrong, and the offset where it is noticed. */
export interface Offence {
  at: number;
  span: Span | null;
  what: string;
  remedy: string;
}

const NAME = /[&*][\w-]+(?=[\s?:,\]}%@`]|$)/y;
const HEADER = /[|>](?:[+-][1-9]?|[1-9][+-]?)?[ \t]*(?:(?<=[ \t])#.*)?$/my;
const ESCAPE = /\\(?:[0abtnvfre "\/\\N_LP\t\n]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U(?:000[0-9A-Fa-f]|0010)[0-9A-Fa-f]{4})/y;
const BIG_ESCAPE = /\\U[0-9A-Fa-f]{8}/y;
const COMMENT = /(?<=[\s[{,])#/;
const QUOTED = /'[^']*'|"[^"]*"/g;

/** A collection in a block: the column of its entries. */
interface Block {
  column: number;
  kind: "map" | "seq";
}

/** The first place where a text is not YAML; null if none is found. */
export function offence(source: SourceText, errors: readonly YAMLError[]): Offence | null {
  const version = errors.find(({ code }) => code === "BAD_DIRECTIVE");
  const { text } = source;
  if (version && /^%YAML (?!1\.)/m.test(text)) {
    const at = text.search(/^%YAML /m);
    return { at, span: source.span(source.mark(at)), what: "this is not YAML (found incompatible YAML document (version 1.* is required))", remedy: "fix it, or quote it if it is a symbol" };
  }
  return new Reader(source).read();
}

class Stop extends Error {
  constructor(readonly offence: Offence) {
    super(offence.what);
  }
}

class Reader {
  private at = 0;
  private readonly blocks: Block[] = [];
  private readonly text: string;

  constructor(private readonly source: SourceText) {
    this.text = source.text;
  }

  read(): Offence | null {
    try {
      while (this.line());
      return null;
    } catch (error) {
      if (error instanceof Stop) return error.offence;
      throw error;
    }
  }

  // ── lines of a block ────────────────────────────────────────────────────────────────────────────────────
  /** A value may begin, on this line or on one below: after `key:` and `-`, and at the start. */
  private open = true;

  /** Read what begins on the next line that is not empty; false at the end. */
  private line(): boolean {
    this.blanks();
    if (this.at >= this.text.length) return false;
    const { column } = this.mark();
    if (column === 0 && /^%/.test(this.rest())) {
      this.at += /^.*/.exec(this.rest())![0].length;
      return true;
    }
    if (column === 0 && /^(?:---|\.\.\.)(?:\s|$)/.test(this.rest())) {
      this.at += 3;
      [this.blocks.length, this.open] = [0, true];
      this.spaces();
      if (!this.ends()) this.entry(this.mark().column, false);
      return true;
    }
    const within = this.blocks.length > 0;
    while (this.blocks.length && this.blocks.at(-1)!.column > column) {
      this.blocks.pop();
      this.open = false; // what is still open was a value within
    }
    if (within && !this.blocks.length) this.generic(`expected '<document start>', but found '${this.kind()}'`);
    this.entry(column, true);
    return true;
  }

  /** What PyYAML calls what begins here. */
  private kind(): string {
    if (/^-(?:\s|$)/.test(this.rest())) return "<block sequence start>";
    return /^.*:(?:\s|$)/.test(this.rest()) ? "<block mapping start>" : "<scalar>";
  }

  private generic(problem: string): never {
    this.stop(this.at, `this is not YAML (${problem})`, "fix it, or quote it if it is a symbol");
  }

  /** Read an entry that begins in a column; alone: it begins its line. */
  private entry(column: number, alone: boolean): void {
    const start = this.at;
    const top = this.blocks.at(-1);
    const dash = /^-(?:\s|$)/.test(this.rest());
    const question = /^\?(?:\s|$)/.test(this.rest());
    const kind = dash ? "seq" : "map";
    if (alone && top && top.column === column && top.kind === "map" && dash && this.open) {
      this.at += 1; // a list below its key, in the same column
      this.after(column);
      return;
    }
    if (alone && top && !this.open && (top.column < column || top.kind !== kind)) {
      if (/^[\]},]|^[[{](?!.*[\]}]\s*:(?:\s|$))/.test(this.rest())) this.meaningful(start);
      this.stop(start, "the indentation of this line matches none of the lines above", "indent all the entries of one mapping by the same number of spaces");
    }
    if (dash || question) {
      if (!top || top.column < column) this.blocks.push({ column, kind });
      this.at += 1;
      this.after(column);
      return;
    }
    const required = alone && top?.kind === "map" && top.column === column;
    const key = this.node(-1, required);
    if (required && key.lines > 0) this.noColon(start);
    this.spaces();
    if (this.text[this.at] === ":" && /^:(?:\s|$)/.test(this.rest())) {
      if (key.lines > 0) this.mapping(key.start);
      if (!top || top.column < column) this.blocks.push({ column, kind: "map" });
      this.at += 1;
      this.after(column, true);
      return;
    }
    if (required && key.lines >= 0) this.noColon(start);
    this.open = false;
    this.closed(key.quoted);
  }

  /** Read what stands on the line behind `-`, `?` or `key:`. */
  private after(column: number, ofKey = false): void {
    this.open = true;
    this.spaces();
    if (this.ends()) return;
    if (ofKey && /^-(?:\s|$)/.test(this.rest())) this.meaningful(this.at);
    if (!ofKey) return this.entry(this.mark().column, false);
    if (/^:(?:\s|$)/.test(this.rest())) this.mapping(this.at);
    const value = this.node(column);
    this.open = false;
    this.spaces();
    if (/^:(?:\s|$)/.test(this.rest())) this.mapping(value.start);
    this.closed(value.quoted);
  }

  /** Nothing but a comment may stand behind a value that is closed. */
  private closed(quoted: boolean): void {
    this.spaces();
    if (this.ends()) return;
    if (",[]{}".includes(this.text[this.at]!)) this.meaningful(this.at);
    const end = this.text.slice(0, this.at).trimEnd().length;
    if (quoted && /^['"]/.test(this.rest())) this.quote(); // what is never closed is noticed first
    if (quoted) this.stop(end - 1, "there is text after the closing quote", "if the quote is part of the text, write it twice: 'it''s'");
    this.stop(this.at, "the indentation of this line matches none of the lines above", "indent all the entries of one mapping by the same number of spaces");
  }

  // ── nodes ───────────────────────────────────────────────────────────────────────────────────────────────
  /** Read a node of a block; lines: how many more than one it has, -1: it cannot be a key. */
  private node(column = -1, key = false): { start: number; lines: number; quoted: boolean } {
    for (;;) {
      const sign = this.text[this.at]!;
      if (sign === "!") this.at += /^!\S*/.exec(this.rest())![0].length;
      else if (sign === "&" || sign === "*") {
        const start = this.at;
        this.named();
        if (sign === "*") return { start, lines: 0, quoted: false };
      } else break;
      this.spaces();
      if (this.ends()) return { start: this.at, lines: -1, quoted: false };
    }
    const start = this.at;
    const sign = this.text[start]!;
    const lines = () => this.source.mark(this.at).line - this.source.mark(start).line;
    if (sign === "'" || sign === '"') {
      this.quote();
      return { start, lines: lines(), quoted: true };
    }
    if (sign === "[" || sign === "{") {
      this.flow(key);
      return { start, lines: lines(), quoted: false };
    }
    if (sign === "|" || sign === ">") {
      HEADER.lastIndex = start;
      if (!HEADER.test(this.text)) this.meaningful(start);
      this.literal(column);
      return { start, lines: -1, quoted: false };
    }
    if ("%@`,]}".includes(sign)) this.meaningful(start);
    if (sign === "\t") this.tab(start);
    if (/^:(?:\s|$)/.test(this.rest())) this.meaningful(start);
    this.plain(column);
    return { start, lines: lines(), quoted: false };
  }

  /** Read a plain text of a block, with the lines below that go on with it. */
  private plain(column: number): void {
    const least = column >= 0 ? column : (this.blocks.at(-1)?.column ?? -1);
    for (;;) {
      const line = /^(?:[^\s:#]|:(?!\s|$)|(?<!\s)#|[ \t]+(?![\s#]|:(?:\s|$))|(?<=\S)#)*/.exec(this.rest())![0];
      this.at += line.length;
      const more = /^[ \t]*\n(?:[ \t]*\n)*( *)(?=[^\s#])/.exec(this.rest());
      if (!more || more[1]!.length <= least || (!more[1] && /^(?:---|\.\.\.)(?:\s|$)/.test(this.rest().slice(more[0].length)))) return;
      this.at += more[0].length;
      if (/^:(?:\s|$)/.test(this.rest())) return;
    }
  }

  /** Skip the lines of a block scalar. */
  private literal(column: number): void {
    let least = Math.max(column, this.blocks.at(-1)?.column ?? -1) + 1;
    const header = /^.*/.exec(this.rest())![0];
    const told = Number(/[1-9]/.exec(header.split("#", 1)[0]!)?.[0] ?? 0);
    this.at += header.length;
    if (told) least = Math.max(0, least - 1) + told;
    else least = Math.max(least, /^(?:\n *(?=\n))*\n( *)/.exec(this.rest())?.[1]!.length ?? 0);
    for (;;) {
      const line = /^\n([ ]*)(\S?).*/.exec(this.rest());
      if (!line || (line[2] && line[1]!.length < least)) return;
      this.at += line[0].length;
    }
  }

  private named(): void {
    NAME.lastIndex = this.at;
    const name = NAME.exec(this.text);
    if (!name) this.meaningful(this.at);
    this.at += name![0].length;
  }

  private quote(): void {
    const start = this.at++;
    const quote = this.text[start]!;
    for (; this.at < this.text.length; this.at++) {
      const sign = this.text[this.at]!;
      if (sign === quote) {
        if (quote === '"' || this.text[this.at + 1] !== "'") {
          this.at++;
          return;
        }
        this.at++;
      } else if (sign === "\\" && quote === '"') this.escape();
    }
    const other = { "'": '"', '"': "'" }[quote]!;
    this.stop(start, `this ${quote} is never closed`, `close it, or write ${other}${quote}${other} for the symbol`);
  }

  private escape(): void {
    ESCAPE.lastIndex = this.at;
    const known = ESCAPE.exec(this.text);
    if (known) {
      this.at += known[0].length - 1;
      return;
    }
    BIG_ESCAPE.lastIndex = this.at;
    const big = BIG_ESCAPE.exec(this.text);
    if (big) this.stop(this.at, `${big[0]} is not a character`, "the last one is \\U0010ffff", this.at + big[0].length);
    const noted = /^\\[xuU]/.test(this.rest()) ? this.at + 2 : this.at + 1;
    this.stop(this.at, "this is not an escape sequence of YAML", "write a backslash twice in double quotes, or once in single quotes", noted);
  }

  // ── brackets ────────────────────────────────────────────────────────────────────────────────────────────
  /** Read what is in brackets, from the opening one to its closing one. */
  private flow(key: boolean): void {
    const first = this.mark().line;
    const opened: number[] = [];
    const keyed: boolean[] = []; // by opened bracket, whether there was a colon since the last comma
    let wants = true; // a node may come: after a bracket, a comma, a colon
    let value = false; // it is the value behind a colon
    let line = -1; // that of the node before, which may be a key
    for (;;) {
      this.blanks();
      const start = this.at;
      const sign = this.text[start];
      if (key && this.mark().line > first) this.noColon(opened[0]!);
      if (sign === undefined) {
        if (wants) this.hidden();
        if (wants) this.stop(start, "the text ends before a bracket is closed", "close it, or quote it if it is a symbol");
        this.unclosed(opened.at(-1)!);
      }
      if (sign === "[" || sign === "{") {
        if (!wants) this.unclosed(opened.at(-1)!);
        opened.push(start);
        keyed.push(false);
        this.at++;
        [wants, value] = [true, false];
      } else if (sign === "]" || sign === "}") {
        const opener = opened.pop()!;
        if (this.text[opener] !== (sign === "]" ? "[" : "{")) {
          if (!wants) this.unclosed(opener);
          this.bracket(start);
        }
        this.at++;
        keyed.pop();
        if (!opened.length) return;
        [wants, value, line] = [false, false, this.mark().line];
      } else if (sign === ",") {
        const [before] = /\S\s*$/.exec(this.text.slice(0, start))!;
        if (wants && !value && "[{,".includes(before[0]!)) this.bracket(start);
        this.at++;
        keyed[keyed.length - 1] = false;
        [wants, value] = [true, false];
      } else if (/^:(?:[\s,[\]{}]|$)/.test(this.rest()) || (sign === ":" && !wants && line === this.mark().line)) {
        if (wants) this.bracket(start);
        if (line !== this.mark().line || keyed.at(-1)) this.unclosed(opened.at(-1)!);
        keyed[keyed.length - 1] = true;
        this.at++;
        [wants, value] = [true, true];
      } else {
        if (!wants) this.unclosed(opened.at(-1)!);
        if (/^-(?:\s|$)/.test(this.rest())) {
          this.hidden();
          this.generic("while parsing a flow node, expected the node content, but found '-'");
        }
        if (sign === "!") {
          this.at += /^![^\s,[\]{}]*/.exec(this.rest())![0].length;
          continue;
        }
        if (sign === "?" && /^\?(?:[\s,[\]{}]|$)/.test(this.rest()) && value) this.meaningful(start);
        if (sign === "&" || sign === "*") {
          this.named();
          if (sign === "&") continue;
        } else if (sign === "'" || sign === '"') this.quote();
        else if ("|>%@`".includes(sign)) this.meaningful(start);
        else this.flowPlain();
        [wants, value, line] = [false, false, this.source.mark(start).line];
        if (this.mark().line !== line) line = -1;
      }
    }
  }

  private flowPlain(): void {
    this.at += /^.(?:[^\s:#,[\]{}?]|:(?![\s,[\]{}]|$)|(?<=\S)#|\?|\s+(?![\s#,[\]{}]|:(?:[\s,[\]{}]|$)))*/.exec(this.rest())![0].length;
  }

  /** A bracket, a comma or a colon where a node should be; or the bracket that was opened just before, as a symbol. */
  private bracket(at: number): never {
    this.meaningful("[{".includes(this.text[at - 1] ?? " ") ? at - 1 : at);
  }

  private unclosed(opener: number): never {
    const mark = this.source.mark(opener);
    const line = this.source.lines[mark.line]!;
    const comment = COMMENT.exec(line.slice(mark.column));
    if (comment) this.comment(opener + comment.index);
    const sign = this.text[opener]!;
    const closing = sign === "[" ? "]" : "}";
    this.stop(opener, `this '${sign}' is not closed properly`, `close it with '${closing}', separate its parts by commas, or quote it if it is a symbol`, opener + 1, this.at);
  }

  private comment(at: number): never {
    this.stop(at, "'#' begins a comment that runs to the end of the line", "quote it if it is a symbol: '#'");
  }

  /** Complain about a '#' before this line that stands for a part of a bracket, and hides where the bracket is closed. */
  private hidden(): void {
    this.source.lines.slice(0, this.mark().line).forEach((line, n) => {
      const found = COMMENT.exec(line.replace(QUOTED, (quoted) => "'".repeat(quoted.length)))?.index;
      if (found !== undefined && /[[{,:]\s*$/.test(line.slice(0, found)) && /[\]}]/.test(line.slice(found))) this.comment(this.source.beginnings[n]! + found);
    });
  }

  // ── complaints ──────────────────────────────────────────────────────────────────────────────────────────
  /** A colon where none may be: a second one, or one behind a text that went on from the line above. */
  private mapping(start: number): never {
    const here = this.mark();
    const line = this.source.lines[here.line]!;
    if (line.slice(0, here.column).includes(": ")) this.stop(this.at, "this line has a second ':'", "quote the text, or write a mapping as {R: state}");
    const above = Math.max(0, here.line - 1);
    if (/^!/.test(this.source.lines[above]!.trimStart())) this.meaningful(start);
    if (this.source.lines[above]!.includes(": ")) {
      const indent = line.length - line.trimStart().length;
      this.stopped({ line: here.line, column: indent }, here, "this line is indented as if it were part of the text above", "indent it like the line above, or remove the text after that line's colon");
    }
    this.stopped({ line: above, column: 0 }, here, "this line is not 'key: value', so the next one is read as part of it", "put a space after its colon, or fix the indentation");
  }

  private noColon(start: number): never {
    this.blanks();
    this.stopped(this.source.mark(start), this.mark(), "there is no ':' after this key", "write 'key: value', with a space after the colon");
  }

  private tab(at: number): never {
    this.stop(at, "YAML does not allow a tab as indentation", "indent with spaces");
  }

  private meaningful(at: number): never {
    const sign = this.text[at]!;
    this.stop(at, `'${sign}' has a meaning in YAML and must be quoted here`, `if it is a symbol, write '${sign}'`);
  }

  /** Complain about the text from `at` to `end`; noticed: where PyYAML stops. */
  private stop(at: number, what: string, remedy: string, end = at + 1, noticed = at): never {
    throw new Stop({ at: noticed, span: this.source.span(this.source.mark(at), this.source.mark(end)), what, remedy });
  }

  private stopped(start: Mark, end: Mark, what: string, remedy: string): never {
    throw new Stop({ at: this.at, span: this.source.span(start, end), what, remedy });
  }

  // ── the text ────────────────────────────────────────────────────────────────────────────────────────────
  private rest(): string {
    return this.text.slice(this.at);
  }

  private mark(): Mark {
    return this.source.mark(this.at);
  }

  private spaces(): void {
    while (this.text[this.at] === " " || this.text[this.at] === "\t") this.at++;
  }

  /** Whether the line ends here, perhaps with a comment. */
  private ends(): boolean {
    const sign = this.text[this.at];
    return sign === undefined || sign === "\n" || (sign === "#" && /\s/.test(this.text[this.at - 1] ?? " "));
  }

  /** Skip spaces, comments and line breaks; refuse a tab in an indentation. */
  private blanks(): void {
    for (;;) {
      const from = this.at;
      while (this.text[this.at] === " ") this.at++;
      if (this.text[this.at] === "\t") {
        const start = this.at;
        const begins = start === 0 || this.text.slice(0, start).trimEnd() === "" || /\n *$/.test(this.text.slice(0, start));
        this.spaces();
        if (begins && !this.ends()) this.tab(start);
      }
      if (this.text[this.at] === "#" && /\s/.test(this.text[this.at - 1] ?? " ")) this.at += /^.*/.exec(this.rest())![0].length;
      if (this.text[this.at] === "\n") this.at++;
      if (this.at === from) return;
    }
  }
}
