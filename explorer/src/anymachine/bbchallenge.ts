// bbchallenge text, `1RB1LB_1LA1RZ`, as a machine: tm2tfr/sources/turing/formats/bbchallenge.py again. Of a list of machines the
// page says that it is one.

import { counted, quoted } from "../live/refusals";
import { Draft, type Loaded } from "./draft";
import type { Rule } from "./machine";
import { decoded, Log, type Mark, type SourceText } from "./text";
import type { Scalar } from "./yaml";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS = "0123456789";
const UNDEFINED = "---";
const MANY_SYMBOLS = 4;
const CELL = /^([0-9])([LR])([A-Z])$|^---$/;
const OLDER = /^([A-Z])([0-9])([LR])$/;
const LIKE = "(?:[0-9][LRSN][A-Z0-9]|---)";
const ARGUMENT = new RegExp(
  `^(?:(?=.*[0-9][LR])(?:${LIKE}{1,10}(?:_${LIKE}{1,10})*|${LIKE}(?: {1,4}${LIKE})+|${LIKE}{2,10}(?: {1,4}${LIKE}{2,10})+)` +
    "|(?:[A-Z][0-9][LR]|---)(?: +(?:[A-Z][0-9][LR]|---)){3,})$",
);
const ONE_SYMBOL = /^(?:0[LR][A-Z](?:_(?:0[LR][A-Z]|---))*|---(?:_?---)*)$/;

const OLD = "(?:[A-Z][0-9][LR]|---)";
const ROW = `(?:${LIKE} ){0,10}${LIKE}`;
const SEPARATORS = "\\s,;|\"'";
const LISTED = new RegExp(`(?<![^${SEPARATORS}])(?:(?<dense>${LIKE}{1,10}(?:_${LIKE}{1,10})+)|${ROW}(?: {2,4}${ROW})+|${OLD}(?:[ \\t]+${OLD}){3,})(?=[${SEPARATORS}]|$)`);
const CELLS = /^(?:(?:[0-9][LRSN][A-Z0-9])+|[A-Z][0-9][LR])$/;
const LIKE_CELL = /^(?:[0-9][LRSNlr]\w?|[A-Za-z][0-9][LRlr]?|-{1,4}|[A-Za-z0-9][LRlr][A-Za-z])$/;
const LIKE_ROWS = /^(?:[0-9][LRSNlr]\w*_|---\w*_)/;
const NUMBER = /^[\d.,:+*-]+$/;
const BREAK = /[,;|"']/;
const FIELD = new RegExp(`[^${SEPARATORS}]+`, "g");

interface Cell {
  mark: Mark;
  text: string;
}

/** Whether a text is a machine as an argument of the command line is one. */
export function isArgument(text: string): boolean {
  return text.length > 3 && ARGUMENT.test(text.replaceAll("...", UNDEFINED));
}

/** Whether a text looks like bbchallenge text. */
export function looksLike(text: string): boolean {
  const lines = text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/).map(plain).filter((line) => line.trim());
  if (lines.length === 1 && ONE_SYMBOL.test(lines[0]!.trim())) return true;
  return lines.length > 0 && lines.every((line) => isArgument(line.replace(/\s/g, "")) || older(line));
}

/** Read a machine. Throws `SpecError` with every error. */
export function read(text: string, file: string, name: string): Loaded {
  const source = decoded(text, file);
  const draft = new Draft(new Log(source), name);
  refuseList(draft, source);
  const rows = rowsOf(source);
  if (!rows.length) draft.refuse(null, "this text contains no machine", "write rows such as 1RB1LB_1LA1RZ");
  if (rows.length > LETTERS.length) draft.refuse(node(rows[26]![0]!), `there are ${rows.length} rows`, `the states are ${LETTERS}: write at most 26 rows`);
  readRows(draft, rows);
  const machine = draft.machine();
  return { machine, warnings: draft.log.conclude() };
}

function plain(line: string): string {
  return line.split("#", 1)[0]!.replaceAll("...", UNDEFINED);
}

function readRows(draft: Draft, rows: Cell[][]): void {
  const width = rows[0]!.length;
  const { values } = draft;
  rows.forEach((row, n) => {
    const state = LETTERS[n]!;
    if (row.length !== width || width > 10) {
      const problem = `the row of state ${state} has ${counted(row.length, "cell")}, and ${width > 10 ? "at most 10 are allowed" : `the first row has ${width}`}`;
      draft.error(node(row[0]!), problem, "write one cell per symbol, --- where nothing is defined");
    }
    row.slice(0, DIGITS.length).forEach((cell, symbol) => {
      const rule = ruleOf(draft, cell, width);
      if (rule) values.rules.set(state, DIGITS[symbol]!, rule);
    });
  });
  const rules = values.rules.entries;
  if (rows.length === 1 && width >= MANY_SYMBOLS && rules.some(({ rule }) => !["A", "Z", "H"].includes(rule.state))) {
    const [first, last] = [node(rows[0]![0]!), node(rows[0]!.at(-1)!)];
    draft.warn({ ...first, end: last.end }, `this is one state with ${width} symbols, and every state but A halts`, "put an underscore after each row: 1RB1LB_1LA1RZ");
  }
  const own = [...LETTERS.slice(0, rows.length)];
  const halts = [...new Set(rules.map(({ rule }) => rule.state))].filter((state) => !own.includes(state)).sort();
  Object.assign(values, { start: "A", blank: "0", states: [...own, ...halts], tapeAlphabet: [...DIGITS.slice(0, Math.min(width, 10))], accept: null });
}

/** Refuse a list: most of its lines are machines, and there are several or one with columns. */
function refuseList(draft: Draft, source: SourceText): void {
  const lines = source.lines.map(plain).filter((line) => line.trim());
  const found = lines.map(listed).filter((match) => match !== null);
  const [one] = found;
  if (!one || found.length * 2 < lines.length || (lines.length === 1 && !columns(lines[0]!, one))) return;
  const texts = found.map((match) => rowsIn(0, match[0]).map((row) => row.map(({ text }) => text.replace(OLDER, "$2$3$1")).join("")).join("_"));
  draft.refuse(null, `this is a list of ${counted(new Set(texts).size, "machine")}`, "go through it with 'tm2tfr check' or 'tm2tfr sweep', or give one of them");
}

/** Where the machine of a line of a list is; null without one, or if a field next to it is a cell with a mistake. */
function listed(line: string): RegExpExecArray | null {
  const match = LISTED.exec(line);
  if (!match) return null;
  const [before, after] = [line.slice(0, match.index), line.slice(match.index + match[0].length)];
  const first = before.split(BREAK).at(-1)!.split(/\s+/).filter(Boolean);
  const last = after.split(BREAK)[0]!.split(/\s+/).filter(Boolean);
  if (match.groups!["dense"]) {
    const broken = (before.match(FIELD) ?? []).some((field) => LIKE_ROWS.test(field)) || [...first.slice(-1), ...last.slice(0, 1)].some((field) => CELLS.test(field));
    return broken ? null : match;
  }
  const broken = last.some((field) => CELLS.test(field)) || last.slice(0, 1).some((field) => LIKE_CELL.test(field));
  return broken || !first.every((field) => NUMBER.test(field)) ? null : match;
}

/** Whether a line of a list has fields other than its machine, but for a single number before it. */
function columns(line: string, match: RegExpExecArray): boolean {
  const before = line.slice(0, match.index).match(FIELD) ?? [];
  const after = line.slice(match.index + match[0].length).match(FIELD) ?? [];
  return after.length > 0 || before.length > 1 || (before.length === 1 && !NUMBER.test(before[0]!));
}

/** The cells of each row; rows are separated by underscores, several spaces, or line breaks. */
function rowsOf(source: SourceText): Cell[][] {
  return source.lines.flatMap((line, number) => rowsIn(number, plain(line)));
}

function rowsIn(number: number, line: string): Cell[][] {
  if (older(line)) {
    const cells = [...line.matchAll(/\S+/g)].map((found) => ({ mark: { line: number, column: found.index }, text: found[0] }));
    const width = symbolsOf(cells);
    return Array.from({ length: Math.ceil(cells.length / width) }, (_, n) => cells.slice(n * width, (n + 1) * width));
  }
  const spaced = line.split(/\s+/).filter(Boolean).every((word) => word.length === 3);
  const apart = line.includes("_") ? "_" : spaced ? "\\s{2,}" : "\\s+";
  const rows: Cell[][] = [];
  let start = 0;
  for (const piece of line.split(new RegExp(`(${apart})`))) {
    const cells = [...piece.replaceAll("_", " ").matchAll(/\S+/g)].flatMap(({ 0: word, index }) =>
      Array.from({ length: Math.ceil(word.length / 3) }, (_, n) => ({ mark: { line: number, column: start + index + 3 * n }, text: word.slice(3 * n, 3 * n + 3) })),
    );
    if (cells.length) rows.push(cells);
    start += piece.length;
  }
  return rows;
}

/** Whether a line has cells in the older notation, state first. */
function older(line: string): boolean {
  const words = line.split(/\s+/).filter(Boolean);
  return words.some((word) => OLDER.test(word)) && words.every((word) => OLDER.test(word) || word === UNDEFINED);
}

/** The number of symbols of a machine whose rows follow each other: as few as what is written allows. */
function symbolsOf(cells: Cell[]): number {
  const written = cells.flatMap(({ text }) => (OLDER.test(text) ? [Number(text[1])] : []));
  const least = Math.max(2, 1 + Math.max(...written));
  for (let k = least; k <= Math.floor(cells.length / 2); k++) if (cells.length % k === 0) return k;
  return least;
}

function ruleOf(draft: Draft, { mark, text }: Cell, width: number): Rule | null {
  const newer = text.replace(OLDER, "$2$3$1");
  const match = CELL.exec(newer);
  if (!match) {
    draft.error(node({ mark, text }), `${quoted(text)} is not a cell`, "a cell is a digit, L or R, and a letter, as in 1RB, or ---");
    return null;
  }
  const [, write, move, state] = match;
  if (write === undefined) return null;
  if (Number(write) >= width) {
    const problem = `${quoted(text)} writes ${write}, but the rows have ${width} cells, for the symbols up to ${width - 1}`;
    draft.error(node({ mark, text: text[0]! }), problem, `write a symbol below ${width}, or add cells to the rows`);
    return null;
  }
  return { state: state!, write, move: move === "L" ? -1 : 1 };
}

function node({ mark, text }: Cell): Scalar {
  return { kind: "scalar", start: mark, end: { line: mark.line, column: mark.column + text.length }, text, plain: true, block: false };
}
