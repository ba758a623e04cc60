// A text with its lines, and the complaints about it, in the words of tm2tfr/base/text/source.py and tm2tfr/base/errors.py.

import { WIDE } from "../live/inputs";
import { quoted } from "../live/refusals";

/** A place: line and column from 0, the column in UTF-16 units, as strings of JavaScript have it. */
export interface Mark {
  line: number;
  column: number;
}

/** A part of a line: line and column from 1, and its length, in characters; `at`: its offsets in the whole text. */
export interface Span {
  line: number;
  column: number;
  length: number;
  text: string;
  at: [number, number];
}

export interface Diagnostic {
  what: string;
  remedy: string;
  file: string;
  span: Span | null;
  severity: "error" | "warning";
}

const LINE_BREAK = /\r\n|[\n\r\x85\u2028\u2029]/;
const UNPRINTABLE = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u;
const EVERY_UNPRINTABLE = new RegExp(UNPRINTABLE, "gu");
export const MOST_BYTES = 1 << 20;
export const MOST_DIAGNOSTICS = 100;
const MOST_SHOWN = 20;
const MOST_COMPARED = 30_000;
const LONGEST_NAME = 200;
const WIDEST = 160;

/** The number of characters, as Python counts them. */
export function size(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** A text that cannot be read: with every complaint, in the order of the text. */
export class SpecError extends Error {
  override name = "SpecError";

  constructor(readonly diagnostics: Diagnostic[]) {
    super(diagnostics.map(written).join("\n"));
  }
}

/** `file:line:column: what is wrong: what to do`, and the marked line. */
export function written({ what, remedy, file, span, severity }: Diagnostic): string {
  const place = span ? `${file}:${span.line}:${span.column}` : file;
  const head = `${place}: ${severity === "warning" ? "warning: " : ""}${what}: ${remedy}`;
  return span ? `${head}\n${underlined(span)}` : head;
}

function underlined(span: Span): string {
  let shown = [...span.text.replaceAll("\t", " ")];
  let column = Math.min(span.column - 1, shown.length);
  let length = Math.max(1, Math.min(span.length, shown.length - column));
  if (shown.length > WIDEST) {
    const cut = Math.max(0, column - Math.floor((3 * WIDEST) / 8));
    [shown, column] = [shown.slice(cut, cut + WIDEST), column - cut];
    length = Math.min(length, Math.max(1, WIDEST - column));
  }
  const pad = shown.slice(0, column).map((sign) => (WIDE.test(sign) ? "  " : " ")).join("");
  return `  ${shown.join("")}\n  ${pad}^${"~".repeat(length - 1)}`;
}

/** A text; outer: the text of which this is a block of lines, and the line there of the first one. */
export class SourceText {
  readonly lines: string[];
  readonly beginnings: number[] = [];

  constructor(
    readonly text: string,
    readonly file: string,
    private readonly outer: [SourceText, number] | null = null,
  ) {
    this.lines = text.split(LINE_BREAK);
    let at = 0;
    for (const line of this.lines) {
      this.beginnings.push(at);
      at += line.length;
      at += text.startsWith("\r\n", at) ? 2 : 1;
    }
  }

  /** The place of an offset. */
  mark(offset: number): Mark {
    let [low, high] = [0, this.beginnings.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.beginnings[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low, column: offset - this.beginnings[low]! };
  }

  /** From one place to another, limited to the first line; without an end, one character. */
  span(start: Mark, end?: Mark): Span {
    const line = Math.min(start.line, this.lines.length - 1);
    const text = this.lines[line]!;
    if (this.outer) {
      const [source, first] = this.outer;
      const indent = source.lines[Math.min(first + line, source.lines.length - 1)]!.length - text.length;
      const there = (mark: Mark): Mark => ({ line: first + mark.line, column: mark.column + indent });
      return source.span(there(start), end && there(end));
    }
    const column = line === start.line ? Math.min(start.column, text.length) : text.length;
    const last = !end ? column : end.line === start.line ? end.column : text.trimEnd().length;
    const [before, inside] = [size(text.slice(0, column)), size(text.slice(column, last))];
    const begin = this.beginnings[line]! + column;
    return { line: line + 1, column: before + 1, length: Math.max(1, inside), text: text.replace(EVERY_UNPRINTABLE, "\ufffd"), at: [begin, Math.max(begin + 1, begin + last - column)] };
  }
}

/** The complaints about a source, collected as it is read. */
export class Log {
  constructor(
    readonly source: SourceText,
    private readonly found = new Map<string, Diagnostic>(),
    private readonly compared = { count: 0 },
  ) {}

  get size(): number {
    return this.found.size;
  }

  /** Record a complaint, unless it is recorded already. */
  add(span: Span | null, what: string, remedy: string, severity: Diagnostic["severity"] = "error"): void {
    const complaint = { what, remedy, file: this.source.file, span, severity };
    const key = JSON.stringify(complaint);
    if (!this.found.has(key)) this.found.set(key, complaint);
  }

  /** ` (did you mean 'x'?)` for the name among the first 1,000 that this one resembles; nothing after many of them. */
  didYouMean(name: string, known: Iterable<string>): string {
    if (this.compared.count >= MOST_COMPARED) return "";
    const some = [...known].slice(0, 1000);
    this.compared.count += some.length;
    return didYouMean(name, some);
  }

  /** A log for a text within this one. */
  inside(source: SourceText): Log {
    return new Log(source, this.found, this.compared);
  }

  /** The complaints, all of them warnings. Throws `SpecError` if one is an error. */
  conclude(): Diagnostic[] {
    if ([...this.found.values()].some(({ severity }) => severity === "error")) throw this.failure();
    return this.shown();
  }

  failure(): SpecError {
    return new SpecError(this.shown());
  }

  private shown(): Diagnostic[] {
    const order = ({ span }: Diagnostic): [number, number] => (span ? [span.line, span.column] : [0, 0]);
    const found = [...this.found.values()].sort((a, b) => order(a)[0] - order(b)[0] || order(a)[1] - order(b)[1]);
    if (found.length <= MOST_SHOWN) return found;
    const first = [...found.filter(({ severity }) => severity === "error"), ...found.filter(({ severity }) => severity !== "error")];
    const chosen = new Set(first.slice(0, MOST_SHOWN));
    const what = `… and ${(found.length - MOST_SHOWN).toLocaleString("en-US")} more`;
    return [...found.filter((each) => chosen.has(each)), { what, remedy: "fix those above first", file: this.source.file, span: null, severity: first[MOST_SHOWN]!.severity }];
  }
}

/** A text as a source, without a byte order mark. Throws `SpecError` for controls, and for more than a machine needs. */
export function decoded(text: string, file: string): SourceText {
  const source = new SourceText(text.replace(/^\ufeff/, ""), file);
  const log = new Log(source);
  if (text.length > MOST_BYTES) {
    log.add(null, "the text is larger than 1 MiB, the most that this page reads", "use tm2tfr check for a machine of that size");
    throw log.failure();
  }
  if (!UNPRINTABLE.test(source.text)) return source;
  source.lines.forEach((line, number) => {
    let column = 0;
    for (const sign of line) {
      if (UNPRINTABLE.test(sign) && log.size < MOST_DIAGNOSTICS) {
        const code = sign.codePointAt(0)!;
        const quoted = `"\\${code < 0x100 ? "x" : "u"}${code.toString(16).padStart(code < 0x100 ? 2 : 4, "0")}"`;
        const what = `the character U+${code.toString(16).toUpperCase().padStart(4, "0")} is not allowed in a text`;
        log.add(source.span({ line: number, column }), what, `remove it; if it is a symbol, write it as ${quoted}, in double quotes`);
      }
      column += sign.length;
    }
  });
  log.conclude();
  return source;
}

/** `'a', 'b', … and 5 more`. */
export function listing(names: readonly string[], most = 8): string {
  const shown = names.slice(0, most).map(quoted).join(", ");
  return names.length <= most ? shown : `${shown} and ${names.length - most} more`;
}

/** ` (did you mean 'x'?)` if one of the names resembles this one, as difflib.get_close_matches of Python has it. */
export function didYouMean(name: string, known: readonly string[]): string {
  if (size(name) > LONGEST_NAME) return "";
  const word = [...name];
  let best: [number, string] | null = null;
  for (const each of known) {
    const ratio = alike([...each], word);
    if (ratio >= 0.6 && (!best || ratio > best[0] || (ratio === best[0] && each > best[1]))) best = [ratio, each];
  }
  return best && best[1] !== name ? ` (did you mean ${quoted(best[1])}?)` : "";
}

/** The ratio of Ratcliff and Obershelp: twice the matching signs, among all. */
function alike(a: string[], b: string[]): number {
  const total = a.length + b.length;
  return total ? (2 * matching(a, b, 0, a.length, 0, b.length)) / total : 1;
}

function matching(a: string[], b: string[], low: number, high: number, from: number, to: number): number {
  let [start, there, length] = [low, from, 0];
  let before = new Map<number, number>();
  for (let i = low; i < high; i++) {
    const now = new Map<number, number>();
    for (let j = from; j < to; j++) {
      if (a[i] !== b[j]) continue;
      const run = (before.get(j - 1) ?? 0) + 1;
      now.set(j, run);
      if (run > length) [start, there, length] = [i - run + 1, j - run + 1, run];
    }
    before = now;
  }
  if (!length) return 0;
  return length + matching(a, b, low, start, from, there) + matching(a, b, start + length, high, there + length, to);
}
