// Weights as text, by name, as tm2tfr/transformer/listing.py writes them; each number knows which weight it is.

import type { About, Decoder, Matrix, Norm } from "../live/decoder";
import { answered } from "../live/decoder";
import { repr } from "../live/python";
import { counted, quoted, visible } from "../live/refusals";
import type { Change } from "./weights";

/** A part of a line: a text, and the weight that it stands for, if it is a term. */
export interface Piece {
  text: string;
  /** Of a term: the sign or space before it, the name behind the number, empty if there is none, and the weight. */
  before?: string;
  name?: string;
  weight: Change | null;
}
export type Line = Piece[];

const MASKED = { future: "future-masked", past: "past-masked", none: "unmasked" } as const;
/** A position table of more positions than this is abbreviated. */
const TABLED = 16;

type Terms = { name: string; weight: Change }[];

const plain = (text: string): Piece => ({ text: visible(text), weight: null });

/** A weight: an integer or a fraction if it is a simple one, otherwise all its digits. */
export function coefficient(value: number): string {
  for (let below = 1; below <= 64; below *= 2) {
    const above = value * below;
    if (!Number.isInteger(above)) continue;
    if (Math.abs(above) >= 1e6) break;
    return below === 1 ? String(above + 0) : `${above}/${below}`;
  }
  return repr(value);
}

/** A term alone: `2·h/(i+1)`, `-e_x[1]`, `1`. */
export function termText(value: number, name: string): string {
  if (!name) return coefficient(value);
  return Math.abs(value) === 1 ? (value > 0 ? name : `-${name}`) : `${coefficient(value)}·${name}`;
}

/** A linear form: `2·h/(i+1) - e_x[1] + 1`. */
function form(terms: Terms, constant: Change | null = null): Line {
  const pieces: Line = [];
  const add = (name: string, weight: Change) => {
    const text = termText(weight.value, name);
    const negative = text.startsWith("-");
    const before = pieces.length ? (negative ? " - " : " + ") : "";
    pieces.push({ before, text: visible(before && negative ? text.slice(1) : text), name, weight });
  };
  for (const { name, weight } of terms) add(name, weight);
  if (constant?.value) add("", constant);
  return pieces.length ? pieces : [plain("0")];
}

const weightsOf = (path: string, { rows, columns, values }: Matrix): Change[] => Array.from(values, (value, n) => ({ path, row: rows[n]!, column: columns[n]!, value }));

/** The entries of each row, or of each column, as terms with the names of the other axis. */
function grouped(path: string, matrix: Matrix, by: "row" | "column", names: string[]): Terms[] {
  const found: Terms[] = Array.from({ length: by === "row" ? matrix.height : matrix.width }, () => []);
  for (const weight of weightsOf(path, matrix)) found[weight[by]]!.push({ name: names[by === "row" ? weight.column : weight.row]!, weight });
  return found;
}

/** The entries of a vector, by row. */
const vectorOf = (path: string, matrix: Matrix): Map<number, Change> => new Map(weightsOf(path, matrix).map((weight) => [weight.row, weight]));

const sourced = (text: string, source: string): string => [text, source && `[${source}]`].filter(Boolean).join(" ");

/** What `tm2tfr.listing(decoder, layer)` returns, line by line; number: the layer's, from 1. */
export function layerListing(decoder: Decoder, about: About, number: number): Line[] {
  const layer = decoder.layers[number - 1]!;
  const { name, meaning, source, heads, feed_forward: said } = about.layers[number - 1]!;
  const { directions } = decoder.names;
  const path = `layers.${number}`;
  const told = sourced(meaning, source);
  const lines: Line[] = [[plain(name ? `layer ${number}: ${name}` : `layer ${number}`)]];
  if (told) lines.push([plain(`  ${told}`)]);
  lines.push(...normed(decoder, layer.attentionNorm, "attention", `${path}.attention_norm`, "  "));
  layer.heads.forEach((head, k) => {
    const about = heads[k]!;
    const own = `${path}.heads.${k}`;
    lines.push([plain(`  ${sourced(`head ${quoted(about.name)}`, about.source)}: ${MASKED[head.mask]}, ${about.weighting}`)]);
    if (!head.query.values.length && !head.key.values.length) lines.push([plain("    query = key = 0 (uniform attention)")]);
    for (const part of ["query", "key"] as const) grouped(`${own}.${part}`, head[part], "row", directions).forEach((terms, c) => lines.push([plain(`    ${part}[${c}] = `), ...form(terms)]));
    const targets = grouped(`${own}.output`, head.output, "column", directions);
    grouped(`${own}.value`, head.value, "row", directions).forEach((terms, c) => lines.push([plain(`    value[${c}] = `), ...form(terms), plain(" → "), ...form(targets[c]!)]));
  });
  lines.push(...normed(decoder, layer.feedForwardNorm, "feed-forward", `${path}.feed_forward_norm`, "  "));
  const part = layer.feedForward;
  if (part) {
    const own = `${path}.feed_forward`;
    const bias = vectorOf(`${own}.input_bias`, part.inputBias);
    const writes = grouped(`${own}.output`, part.output, "column", directions);
    const units = said!.units;
    lines.push([plain(`  feed-forward, ${units.length} hidden unit${units.length === 1 ? "" : "s"}`)]);
    grouped(`${own}.input`, part.input, "row", directions).forEach((terms, u) =>
      lines.push([plain(`    hidden[${u}] = ReLU(`), ...form(terms, bias.get(u)), plain(") → "), ...form(writes[u]!), plain(units[u] ? `  # ${units[u]}` : "")]),
    );
    const offset = weightsOf(`${own}.output_bias`, part.outputBias);
    if (offset.length) lines.push([plain("    bias → "), ...form(offset.map((weight) => ({ name: directions[weight.row]!, weight })))]);
  }
  return lines;
}

function normed(decoder: Decoder, norm: Norm | null, before: string, path: string, indent: string): Line[] {
  if (!norm) return [];
  const column = (name: "gain" | "bias"): Line => {
    const weights = weightsOf(`${path}.${name}`, norm[name]);
    const values = new Set(weights.map(({ value }) => value));
    if (weights.length < norm[name].height) values.add(0);
    const head = plain(`${indent}  ${name}: `);
    if (values.size === 1) return [head, plain(`${coefficient([...values][0]!)} everywhere`)];
    return [head, ...form(weights.map((weight) => ({ name: decoder.names.directions[weight.row]!, weight })))];
  };
  return [[plain(`${indent}layer norm before ${before}, epsilon = ${repr(norm.epsilon)}`)], column("gain"), column("bias")];
}

/** What the embedding adds for each token and position feature, and at the first positions of a table. */
export function embeddingListing(decoder: Decoder): Line[] {
  const { directions } = decoder.names;
  const lines: Line[] = [[plain("embedding")]];
  grouped("token_embedding", decoder.tokens, "column", directions).forEach((terms, n) => lines.push([plain(`  token ${decoder.vocabulary[n]!} → `), ...form(terms)]));
  grouped("position_embedding", decoder.place, "column", directions).forEach((terms, n) => lines.push([plain(`  position ${decoder.features[n]!} → `), ...form(terms)]));
  if (!decoder.table) return lines;
  const positions = decoder.table.width;
  lines.push([plain(`  table of ${counted(positions, "position")}`)]);
  grouped("position_table", decoder.table, "column", directions).forEach((terms, i) => {
    if (positions > TABLED && i === positions - 1) lines.push([plain(`    … ${counted(positions - TABLED, "more position")}`)]);
    if (i < TABLED - 1 || i === positions - 1 || positions <= TABLED) lines.push([plain(`    at ${i} → `), ...form(terms)]);
  });
  return lines;
}

/** The logit of each answer. */
export function unembeddingListing(decoder: Decoder): Line[] {
  const bias = vectorOf("unembedding_bias", decoder.unembeddingBias);
  const names = answered(decoder);
  const lines = [...normed(decoder, decoder.norm, "the unembedding", "norm", ""), [plain("unembedding")]];
  grouped("unembedding", decoder.unembedding, "row", decoder.names.directions).forEach((terms, n) => lines.push([plain(`  logit ${names[n]!} = `), ...form(terms, bias.get(n))]));
  return lines;
}

/** Lines as one text. */
export function textOf(lines: Line[]): string {
  return lines.map((line) => `${line.map(({ before, text }) => (before ?? "") + text).join("")}\n`).join("");
}
