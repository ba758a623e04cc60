// Single weights by path, row and column: where they are, what they are called, and changes as people write them
// (tm2tfr/transformer/changes.py), in the same words.

import { answered, type Decoder, type Matrix, type Norm } from "../live/decoder";
import { quoted, Refused, thousands, visible } from "../live/refusals";

/** A weight that gets a value. */
export interface Change {
  path: string;
  row: number;
  column: number;
  value: number;
}

/** The rows or the columns of a matrix: what one of them is, how many there are, and their names; [] if they have none. */
export interface Axis {
  noun: string;
  size: number;
  names: string[];
}

/** Every matrix by its path, in the order of `tm2tfr.transformer.weights.matrices`. */
export function matricesOf(decoder: Decoder): Map<string, Matrix> {
  const found = new Map<string, Matrix>();
  const norm = (path: string, part: Norm | null) => {
    if (part) found.set(`${path}.gain`, part.gain).set(`${path}.bias`, part.bias);
  };
  found.set("token_embedding", decoder.tokens).set("position_embedding", decoder.place);
  if (decoder.table) found.set("position_table", decoder.table);
  found.set("unembedding", decoder.unembedding).set("unembedding_bias", decoder.unembeddingBias);
  decoder.layers.forEach(({ attentionNorm, feedForwardNorm }, n) => {
    norm(`layers.${n + 1}.attention_norm`, attentionNorm);
    norm(`layers.${n + 1}.feed_forward_norm`, feedForwardNorm);
  });
  norm("norm", decoder.norm);
  decoder.layers.forEach(({ heads, feedForward: part }, n) => {
    heads.forEach((head, k) => {
      for (const name of ["query", "key", "value", "output"] as const) found.set(`layers.${n + 1}.heads.${k}.${name}`, head[name]);
    });
    if (!part) return;
    const path = `layers.${n + 1}.feed_forward`;
    found.set(`${path}.input`, part.input).set(`${path}.input_bias`, part.inputBias).set(`${path}.output`, part.output).set(`${path}.output_bias`, part.outputBias);
  });
  decoder.loops.forEach(({ until }, n) => until && found.set(`loops.${n + 1}.until`, until));
  return found;
}

/** A copy of a decoder with these changes; the decoder itself stays as it is. */
export function changed(decoder: Decoder, changes: Change[]): Decoder {
  const copy = structuredClone(decoder);
  const matrices = matricesOf(copy);
  for (const { path, row, column, value } of changes) put(matrices.get(path)!, row, column, value);
  return copy;
}

export function entry(matrix: Matrix, row: number, column: number): number {
  const n = placeOf(matrix, row, column);
  return matrix.rows[n] === row && matrix.columns[n] === column ? matrix.values[n]! : 0;
}

/** The index of the first entry that is not before a place. */
function placeOf({ rows, columns }: Matrix, row: number, column: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]! < row || (rows[middle] === row && columns[middle]! < column)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function put(matrix: Matrix, row: number, column: number, value: number): void {
  const n = placeOf(matrix, row, column);
  const there = matrix.rows[n] === row && matrix.columns[n] === column;
  const end = n + Number(there);
  const own = value === 0 ? [] : [value];
  const spliced = <T extends Int32Array | Float64Array>(array: T, made: (numbers: number[]) => T, middle: number[]) => made([...array.subarray(0, n), ...middle, ...array.subarray(end)]);
  matrix.values = spliced(matrix.values, (numbers) => Float64Array.from(numbers), own);
  matrix.rows = spliced(matrix.rows, (numbers) => Int32Array.from(numbers), own.length ? [row] : []);
  matrix.columns = spliced(matrix.columns, (numbers) => Int32Array.from(numbers), own.length ? [column] : []);
}

/** The rows and the columns of the matrix at a path. Throws `Refused` for an unknown one. */
export function axesOf(decoder: Decoder, path: string): [Axis, Axis] {
  const matrices = matricesOf(decoder);
  const matrix = matrices.get(path);
  if (!matrix) throw new Refused(unknown(path, [...matrices.keys()]));
  const axis = (noun: string, size: number, names: string[] = []): Axis => ({ noun, size, names });
  const { height, width } = matrix;
  const parts = path.split(".");
  const inner = parts.at(-2) === "feed_forward" ? "hidden unit" : "component";
  const stream = axis("direction", decoder.width, decoder.names.directions);
  const one = axis("column", 1);
  const answers = () => axis("answer", height, answered(decoder));
  const outer: Record<string, () => [Axis, Axis]> = {
    token_embedding: () => [stream, axis("token", width, decoder.vocabulary)],
    position_embedding: () => [stream, axis("position feature", width, decoder.features)],
    position_table: () => [stream, axis("position", width)],
    unembedding: () => [answers(), stream],
    unembedding_bias: () => [answers(), one],
  };
  const inside: Record<string, () => [Axis, Axis]> = {
    gain: () => [stream, one],
    bias: () => [stream, one],
    until: () => [axis("row", height), stream],
    input_bias: () => [axis(inner, height), one],
    output_bias: () => [stream, one],
    output: () => [stream, axis(inner, width)],
  };
  const known = (parts.length === 1 ? outer : inside)[parts.at(-1)!];
  return known ? known() : [axis(inner, height), stream];
}

const CHANGE = /^\s*([\w.]+)\s*\[(.*)\]\s*=([^=\]]*)$/su;
const NUMBER = /^[-+]?(?:(\d+)\s*\/\s*(\d+)|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)$/;

/** What a text changes: `layers.4.heads.0.query[h, 1] = -1`, in a layer's card (0: in none) also without `layers.4.`. Throws `Refused`.
 *
 * Row and column may come in either order where names tell which is which; of a vector one of them is enough.
 */
export function readChange(decoder: Decoder, text: string, layer = 0): Change {
  const match = CHANGE.exec(text);
  const example = firstChange(decoder, layer);
  if (!match) {
    const write = `write for example ${quoted(example)}`;
    if (/^[^[\]]*@\s*\d+/.test(text)) throw new Refused(`${quoted(text)} sets a variable of a run, which is 'tm2tfr intervene --set', and a weight is changed here: ${write}`);
    throw new Refused(`${quoted(text)} does not say which weight gets which value: ${write}`);
  }
  const value = numberOf(match[3]!.trim());
  if (value === null) throw new Refused(`${quoted(text)}: ${quoted(match[3]!.trim())} is not a finite number: write for example -1, 0.5 or 1/2`);
  try {
    const path = pathOf(decoder, match[1]!, layer);
    const [row, column] = placesOf(axesOf(decoder, path), match[2]!);
    return { path, row, column, value };
  } catch (error) {
    if (error instanceof Refused) throw new Refused(`${quoted(text)}: ${error.message}`);
    throw error;
  }
}

/** The path that is meant in the card of a layer: the whole one, without `layers.4.`, or without its only head as well. */
function pathOf(decoder: Decoder, path: string, layer: number): string {
  if (!layer || path.startsWith("layers.")) return path;
  const known = matricesOf(decoder);
  const own = `layers.${layer}.${path}`;
  const ofHead = `layers.${layer}.heads.0.${path}`;
  if (!known.has(own) && decoder.layers[layer - 1]!.heads.length === 1 && known.has(ofHead)) return ofHead;
  return known.has(own) || !known.has(path) ? own : path;
}

function numberOf(text: string): number | null {
  const match = NUMBER.exec(text.replaceAll("−", "-"));
  if (!match) return null;
  const sign = match[0].startsWith("-") ? -1 : 1;
  const value = match[2] === undefined ? Number(match[0]) : (sign * Number(match[1])) / Number(match[2]);
  return Number.isFinite(value) ? value + 0 : null;
}

function placesOf([rows, columns]: [Axis, Axis], text: string): [number, number] {
  if (rows.size === 1 || columns.size === 1) {
    const short = columns.size === 1;
    try {
      const number = read(short ? rows : columns, text.trim());
      return short ? [number, 0] : [0, number];
    } catch (error) {
      if (!text.includes(",")) throw error;
    }
  }
  const halves = halvesOf(text); // names may contain commas: e_y[(q1,1,+1)]
  const errors: unknown[] = [];
  for (const [first, second] of halves)
    for (const [row, column] of [[first, second], [second, first]] as const) {
      try {
        return [read(rows, row), read(columns, column)];
      } catch (error) {
        errors.push(error);
      }
    }
  if (!errors.length) throw new Refused(`it names one place in brackets: give a ${rows.noun} and a ${columns.noun}, with a comma between`);
  const swap = columns.names.length && !rows.names.length && !/^\d+$/.test(halves[0]![0]);
  throw errors[swap ? 1 : 0];
}

/** A name comes before a number, since listings print names. */
function read({ noun, size, names }: Axis, text: string): number {
  const named = names.indexOf(text);
  if (named >= 0) return named;
  const most = size > 1 ? `a number from 0 to ${thousands(size - 1)}` : "the number 0";
  if (/^\d+$/.test(text)) {
    const number = Number(text);
    if (number < size) return number;
    throw new Refused(`there is no ${noun} ${BigInt(text)}: use ${most}`);
  }
  if (!names.length) throw new Refused(`${quoted(text)} is not a ${noun}: use ${most}`);
  const [close] = near(text, names, 1);
  const meant = close === undefined ? "" : ` (did you mean ${quoted(close)}?)`;
  throw new Refused(`no ${noun} is called ${quoted(visible(text))}${meant}: use a name that the listing shows, or ${most}`);
}

/** The two parts of a text around each comma, the commas outside of brackets first. */
function halvesOf(text: string): [string, string][] {
  let depth = 0;
  const [outer, inner]: [number[], number[]] = [[], []];
  for (let n = 0; n < text.length; n++) {
    depth += Number("[(".includes(text[n]!)) - Number("])".includes(text[n]!));
    if (text[n] === ",") (depth ? inner : outer).push(n);
  }
  return [...outer, ...inner].map((n) => [text.slice(0, n).trim(), text.slice(n + 1).trim()]);
}

function unknown(path: string, known: string[]): string {
  let owner = path;
  while (owner && !known.some((each) => each.startsWith(`${owner}.`))) owner = owner.slice(0, Math.max(0, owner.lastIndexOf(".")));
  const inside = owner.includes(".") ? known.filter((each) => each.startsWith(`${owner}.`)) : [];
  let found = near(path, inside.length ? inside : known, 3);
  if (!found.length) found = inside.slice(0, 3);
  const remedy = found.length ? `use ${found.map(quoted).join(" or ")}` : `use a path such as ${known[0]!}`;
  return `no weight matrix is called ${quoted(path)}: ${remedy}; layers count from 1, heads of a layer from 0`;
}

/** The names that resemble a text, the most similar first. */
function near(text: string, names: string[], most: number): string[] {
  const rated = names.map((name): [number, string] => [distance(text.slice(0, 80), name.slice(0, 80)) / Math.max(text.length, name.length, 1), name]);
  return rated.filter(([far]) => far <= 0.5).sort(([a], [b]) => a - b).slice(0, most).map(([, name]) => name);
}

/** The number of characters to insert, remove or replace (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + Number(a[i - 1] !== b[j - 1])));
    row = next;
  }
  return row[b.length]!;
}

/** The names or numbers of a place, as a change is written. */
export function placeNames(decoder: Decoder, { path, row, column }: Change): [string, string] {
  const [rows, columns] = axesOf(decoder, path);
  return [rows.names[row] ?? String(row), columns.names[column] ?? String(column)];
}

/** A place as a change is written: `layers.4.heads.0.query[1, h]`. */
export function placeText(decoder: Decoder, change: Change, layer = 0): string {
  const own = `layers.${layer}.`;
  const path = layer && change.path.startsWith(own) ? change.path.slice(own.length) : change.path;
  return `${path}[${placeNames(decoder, change).join(", ")}]`;
}

/** A weight as it is written: digits that say it exactly. */
export function weightText(value: number): string {
  for (const below of [2, 4, 8, 16, 32, 64]) if (!Number.isInteger(value) && Number.isInteger(value * below) && Math.abs(value * below) < 1e6) return `${value * below}/${below}`;
  return String(value);
}

function firstChange(decoder: Decoder, layer: number): string {
  const found = [...matricesOf(decoder)].filter(([path, { values }]) => values.length && (!layer || path.startsWith(`layers.${layer}.`)));
  const chosen = found.find(([path]) => path.endsWith("query")) ?? found[0];
  if (!chosen) return "unembedding_bias[0] = 1";
  const [path, { rows, columns, values }] = chosen;
  const change = { path, row: rows[0]!, column: columns[0]!, value: -values[0]! };
  return `${placeText(decoder, change, layer)} = ${weightText(change.value)}`;
}

/** The same change for people who use the library. */
export function pythonOf(decoder: Decoder, change: Change): string {
  const axes = axesOf(decoder, change.path);
  const names = [change.row, change.column].map((n, k) => (axes[k]!.names.length ? quoted(axes[k]!.names[n]!) : String(n)));
  return `decoder = tm2tfr.with_weight(decoder, "${change.path}", ${names.join(", ")}, ${String(change.value)})`;
}
