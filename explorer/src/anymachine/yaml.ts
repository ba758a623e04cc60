// A YAML document: nodes that know their place, with scalars as they are written; the package yaml reads it.
//
// As in tm2tfr/base/text/nodes.py no tag is resolved, and anchors, aliases, tags and further documents are refused.

import { Composer, type CST, isMap, isScalar, isSeq, type Node as YamlNode, Parser, Scalar as YamlScalar, type YAMLSeq } from "yaml";
import { Log, type Mark, type SourceText } from "./text";
import { MAX_DEPTH, offence, type Offence } from "./syntax";

interface Place {
  start: Mark;
  end: Mark;
}

/** A text: as it was written if it is `plain`, otherwise the contents of its quotes or its block. */
export interface Scalar extends Place {
  kind: "scalar";
  text: string;
  plain: boolean;
  /** Whether it is a literal block, line by line. */
  block: boolean;
}

export interface List extends Place {
  kind: "list";
  items: Node[];
}

/** Keys and values in the order of the text, duplicates among them. */
export interface Mapping extends Place {
  kind: "map";
  pairs: [Node, Node][];
}

export type Node = Scalar | List | Mapping;

const NULLS = new Set(["", "~", "null", "Null", "NULL"]);
/** An anchor or an alias with a name that PyYAML does not take. */
const UNNAMED = /^[&*](?![\w-]+(?![\w-]|[^\s?:,\]}%@`]))/;
const TOKEN = /[^\s,\]}]{0,40}/y;
/** Errors of the package in texts that PyYAML reads: closing brackets in any column; a key in brackets below another key, at
 * which release 2.9 takes the space before it for a comment. */
const TOLERATED = /must be sufficiently indented and end with|^Map comment with trailing content/;

/** Whether nothing at all is written. */
export function empty(node: Node): boolean {
  return node.kind === "scalar" && node.plain && !node.text;
}

/** Whether YAML reads it as no value. */
export function isNull(node: Node): boolean {
  return node.kind === "scalar" && node.plain && NULLS.has(node.text);
}

/** What to call a node in a message. */
export function kindOf(node: Node): string {
  if (empty(node)) return "nothing";
  return { scalar: "text", list: "a list", map: "a mapping" }[node.kind];
}

/** The root of a document, null if it has none. Throws `SpecError` if it is not YAML, or uses what a machine does not need. */
export function compose(source: SourceText): Node | null {
  const log = new Log(source);
  const tokens = [...new Parser().parse(source.text)];
  const deep = tooDeep(tokens);
  const before = (offset: number) => deep === null || offset <= deep;
  const documents = deep === null ? [...new Composer({ schema: "failsafe", uniqueKeys: false, keepSourceTokens: true }).compose(tokens, true, source.text.length)] : [];
  const errors = documents.flatMap((each) => [...each.errors, ...each.warnings.filter(({ code }) => code === "BAD_DIRECTIVE")]);
  let found: Offence | null = deep === null ? null : tooDeepAt(source, deep);
  if (errors.length || deep !== null) {
    const seen = offence(source, errors);
    if (seen && before(seen.at)) found = seen;
    if (!seen && deep === null && !errors.every(({ message }) => TOLERATED.test(message))) {
      const { message, pos } = errors.find((error) => !TOLERATED.test(error.message))!;
      found = { at: pos[0], span: source.span(source.mark(pos[0])), what: `this is not YAML (${message})`, remedy: "fix it, or quote it if it is a symbol" };
    }
  }
  found ??= misread(source, tokens);
  const last = found?.at ?? Infinity;
  for (const complaint of refused(source, tokens)) if (complaint.at < last) log.add(complaint.span, complaint.what, complaint.remedy);
  if (found && !log.size) log.add(found.span, found.what, found.remedy); // a refused tag or alias explains an error behind it
  const [document] = documents;
  const root = document?.contents;
  const made = !log.size && root ? node(source, root as YamlNode, log) : null;
  log.conclude();
  return made;
}

// ── the nodes ─────────────────────────────────────────────────────────────────────────────────────────────
function node(source: SourceText, found: YamlNode, log: Log): Node {
  const [from, to] = found.range!;
  const place = { start: source.mark(from), end: source.mark(to) };
  if (isScalar(found)) {
    const plain = found.type === YamlScalar.PLAIN;
    const text = String(found.value ?? "");
    if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text)) log.add(source.span(place.start, place.end), "a surrogate (U+D800 to U+DFFF) is not a character", "write the character itself");
    return { kind: "scalar", ...place, text, plain, block: found.type === YamlScalar.BLOCK_LITERAL };
  }
  const end = found.srcToken?.type === "flow-collection" ? place.end : source.mark(following(source.text, to));
  if (isSeq(found)) return { kind: "list", ...place, end, items: found.items.map((item, n) => (isPair(item) ? single(source, item, log) : child(source, item, dashed(source, found, n) ?? place.start, log))) };
  if (!isMap(found)) return absent(place.start);
  const pairs = found.items.map((pair): [Node, Node] => entry(source, pair as Pair, place.start, log));
  return { kind: "map", ...place, end, pairs };
}

/** Where an entry of a list begins that is empty: behind its dash. */
function dashed(source: SourceText, { srcToken }: YAMLSeq, n: number): Mark | null {
  const dash = srcToken?.type === "block-seq" ? srcToken.items[n]?.start.find(({ type }) => type === "seq-item-ind") : undefined;
  return dash ? source.mark(dash.offset + 1) : null;
}

interface Pair {
  key: unknown;
  value: unknown;
  srcToken?: { sep?: CST.SourceToken[] };
}

function isPair(item: unknown): item is Pair {
  return typeof item === "object" && item !== null && "key" in item && !("range" in item);
}

/** `[a: b]`: a mapping of one pair in a list. */
function single(source: SourceText, pair: Pair, log: Log): Mapping {
  const [key, value] = entry(source, pair, { line: 0, column: 0 }, log);
  return { kind: "map", start: key.start, end: value.end, pairs: [[key, value]] };
}

function entry(source: SourceText, { key, value, srcToken }: Pair, otherwise: Mark, log: Log): [Node, Node] {
  const colon = srcToken?.sep?.find(({ type }) => type === "map-value-ind");
  const first = child(source, key, colon ? source.mark(colon.offset) : otherwise, log);
  return [first, child(source, value, colon ? source.mark(colon.offset + 1) : first.end, log)];
}

/** A node; where nothing is written, an empty text at `at`. */
function child(source: SourceText, found: unknown, at: Mark, log: Log): Node {
  if (found === null || typeof found !== "object") return absent(at);
  if (isScalar(found) && found.type === YamlScalar.PLAIN && found.range![0] === found.range![1]) return absent(at);
  return node(source, found as YamlNode, log);
}

function absent(at: Mark): Scalar {
  return { kind: "scalar", start: at, end: at, text: "", plain: true, block: false };
}

/** Where the next token begins: a collection in a block ends there. */
function following(text: string, offset: number): number {
  const rest = /(?:\s|#.*)*/y;
  rest.lastIndex = offset;
  return offset + rest.exec(text)![0].length;
}

// ── what is refused: anchors, aliases, tags, a second document, more levels than a machine has ────────────
const FEATURES: Record<string, [string, string]> = { anchor: ["anchor", "&"], alias: ["alias", "*"], tag: ["tag", "!"] };

function* refused(source: SourceText, tokens: CST.Token[]): Generator<Offence> {
  let document = 0;
  for (const token of walked(tokens)) {
    if (token.type === "document" && document++ > 0) {
      const at = Math.max(token.offset, following(source.text, token.offset));
      yield complaint(source, at, "a second document begins here", "keep one machine per file");
    }
    const feature = FEATURES[token.type];
    if (!feature || !("source" in token) || token.source === "!!str" || UNNAMED.test(token.source)) continue;
    yield complaint(source, token.offset, `{} is a YAML ${feature[0]}, which is not supported here`, `quote it if it is a symbol: '${feature[1]}'`);
  }
}

/** What is said of the token at an offset, which stands for {}. */
function complaint(source: SourceText, at: number, what: string, remedy: string): Offence {
  const start = source.mark(at);
  TOKEN.lastIndex = start.column;
  const shown = TOKEN.exec(source.lines[start.line]!)?.[0] ?? "";
  return { at, span: source.span(start, { line: start.line, column: start.column + shown.length }), what: what.replace("{}", `'${shown}'`), remedy };
}

/** All tokens in the order of the text. */
function* walked(tokens: readonly unknown[]): Generator<CST.Token> {
  const waiting = [...tokens].reverse();
  while (waiting.length) {
    const token = waiting.pop() as CST.Token | CST.CollectionItem | undefined | null;
    if (!token) continue;
    if ("type" in token) yield token as CST.Token;
    const parts = "items" in token ? token.items : "start" in token && !("type" in token) ? [...token.start, token.key, ...(token.sep ?? []), token.value] : "value" in token && token.type === "document" ? [...token.start, token.value] : [];
    for (let n = parts.length - 1; n >= 0; n--) waiting.push(parts[n] as CST.Token);
  }
}

/** Where the first collection begins that is nested too deep; null if none is. */
function tooDeep(tokens: CST.Token[]): number | null {
  const waiting: [unknown, number][] = tokens.map((token): [unknown, number] => [token, 0]).reverse();
  while (waiting.length) {
    const [token, depth] = waiting.pop() as [CST.Token | CST.CollectionItem | null | undefined, number];
    if (!token) continue;
    let [inside, parts]: [number, unknown[]] = [depth, []];
    if ("items" in token) {
      inside = depth + 1;
      if (inside > MAX_DEPTH) return token.type === "flow-collection" ? token.start.offset : token.offset;
      parts = token.items;
    } else if (!("type" in token)) parts = [token.key, token.value];
    else if (token.type === "document") parts = [token.value];
    for (let n = parts.length - 1; n >= 0; n--) waiting.push([parts[n], inside]);
  }
  return null;
}

function tooDeepAt(source: SourceText, at: number): Offence {
  return { at, span: source.span(source.mark(at)), what: `the text is nested more than ${MAX_DEPTH} levels deep`, remedy: "quote the bracket if it is a symbol; a machine has at most 5 levels" };
}

/** What the package reads and PyYAML refuses: `[0, :]` and `: R` as an empty key, `[:0]` as a text, `&: R` as an anchor. */
function misread(source: SourceText, tokens: CST.Token[]): Offence | null {
  const quoted = (at: number): Offence => {
    const sign = source.text[at]!;
    return { at, span: source.span(source.mark(at)), what: `'${sign}' has a meaning in YAML and must be quoted here`, remedy: `if it is a symbol, write '${sign}'` };
  };
  for (const token of walked(tokens)) {
    if ((token.type === "anchor" || token.type === "alias") && UNNAMED.test(token.source)) return quoted(token.offset);
    if (token.type !== "flow-collection" && token.type !== "block-map") continue;
    for (const { start, key, sep, value } of token.items) {
      const begins = [key, value].find((each) => token.type === "flow-collection" && each?.type === "scalar" && each.source.startsWith(":"));
      if (begins) return quoted(begins.offset);
      const colon = sep?.find(({ type }) => type === "map-value-ind");
      if (key || !colon || start.some(({ type }) => type === "explicit-key-ind")) continue;
      return quoted("[{".includes(source.text[colon.offset - 1] ?? " ") ? colon.offset - 1 : colon.offset);
    }
  }
  return null;
}
