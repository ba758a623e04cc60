// A decoder's weights as they are in the page (tm2tfr/web/explorer/weights_data.py writes them), and as matrices.

import { type Buffers, type Numbers, type Place, textAt } from "../data";
import type { Expressions } from "./positions";

export type Mask = "future" | "past" | "none";

export interface NormSpec {
  epsilon: number;
}

export interface DecoderSpec {
  /** Why the page cannot run these weights; then nothing else is there. */
  none?: undefined;
  width: number;
  vocabulary: string[];
  /** The number of the token that ends the prompt, if there is one. */
  bos: number | null;
  /** The numbers of the tokens that end a generation. */
  stop: number[];
  features: string[];
  expressions: Expressions;
  positions: number | null;
  outputs: { name: string; labels: string[] | null }[];
  layers: {
    name: string;
    heads: { name: string; mask: Mask; soft: boolean; inverse: string; keys: number; values: number }[];
    hidden: number | null;
    attention_norm: NormSpec | null;
    feed_forward_norm: NormSpec | null;
  }[];
  norm: NormSpec | null;
  /** Layers that are run again: the first and the last, from 1; the most passes, null if none are stated. */
  loops: { first: number; last: number; times: number | null; until: boolean }[];
  counts: Place;
  rows: Place;
  columns: Place;
  values: Place;
  /** What a weight file says of the weights beside the matrices, as JSON (tm2tfr/transformer/stored.py). */
  about: Place;
}

/** Of what a weight file says, what the page reads. */
export interface About {
  layout: { name: string; labels: string[] | null; holds: string }[];
  layers: { name: string; meaning: string; source: string; heads: { name: string; source: string; mask: Mask; weighting: string }[]; feed_forward: { units: string[] } | null }[];
  /** The shapes of the matrices that are stored by their entries, by path. */
  sparse: Record<string, [number, number]>;
}

/** A matrix by its entries, sorted by row and then column. */
export interface Matrix {
  height: number;
  width: number;
  rows: Int32Array;
  columns: Int32Array;
  values: Float64Array;
}

export interface Norm {
  gain: Matrix;
  bias: Matrix;
  epsilon: number;
}

export interface Head {
  name: string;
  mask: Mask;
  /** Whether its weights are those of softmax; otherwise the positions of maximal score share them. */
  soft: boolean;
  /** 1/τ, a position feature by which softmax multiplies the scores at each position. */
  inverse: string;
  /** (d_k, width) */
  query: Matrix;
  key: Matrix;
  /** (d_v, width) */
  value: Matrix;
  /** (width, d_v) */
  output: Matrix;
}

export interface FeedForward {
  /** (hidden, width) and (hidden, 1) */
  input: Matrix;
  inputBias: Matrix;
  /** (width, hidden) and (width, 1) */
  output: Matrix;
  outputBias: Matrix;
}

export interface Layer {
  name: string;
  heads: Head[];
  feedForward: FeedForward | null;
  attentionNorm: Norm | null;
  feedForwardNorm: Norm | null;
}

/** Layers, from 1, that are run again, in passes. */
export interface Loop {
  first: number;
  last: number;
  times: number | null;
  /** (1, width): it ends where this times the stream is 1/2 or more at every position; null: after `times` passes. */
  until: Matrix | null;
}

/** Plain data, which can be sent to a worker. */
export interface Decoder {
  width: number;
  vocabulary: string[];
  bos: number | null;
  stop: number[];
  features: string[];
  expressions: Expressions;
  /** The number of positions that there are; null: any number. */
  positions: number | null;
  outputs: { name: string; labels: string[] | null }[];
  layers: Layer[];
  loops: Loop[];
  norm: Norm | null;
  tokens: Matrix;
  place: Matrix;
  table: Matrix | null;
  unembedding: Matrix;
  unembeddingBias: Matrix;
  names: { directions: string[]; units: string[][] };
}

/** The weights of a page. The order of the matrices is that of `tm2tfr.transformer.weights.matrices`. */
export function decoderOf(spec: DecoderSpec, buffers: Buffers): Decoder {
  const { width, vocabulary, features, expressions, positions, outputs } = spec;
  const [counts, rows, columns, values] = [buffers(spec.counts), buffers(spec.rows), buffers(spec.columns), buffers(spec.values)];
  let matrix = 0;
  let entry = 0;
  const next = (height: number, across: number): Matrix => {
    const end = entry + counts[matrix++]!;
    const found = { height, width: across, rows: sums(rows, entry, end), columns: sums(columns, entry, end), values: Float64Array.from(values.subarray(entry, end)) };
    entry = end;
    return found;
  };
  const answers = outputs.length ? outputs.reduce((sum, { labels }) => sum + (labels ? labels.length : 1), 0) : vocabulary.length;
  const tokens = next(width, vocabulary.length);
  const place = next(width, features.length);
  const table = positions === null ? null : next(width, positions);
  const unembedding = next(answers, width);
  const unembeddingBias = next(answers, 1);
  const norm = (given: NormSpec | null): Norm | null => given && { gain: next(width, 1), bias: next(width, 1), epsilon: given.epsilon };
  const norms = spec.layers.map((layer) => ({ attentionNorm: norm(layer.attention_norm), feedForwardNorm: norm(layer.feed_forward_norm) }));
  const last = norm(spec.norm);
  const layers = spec.layers.map(({ name, heads, hidden }, n): Layer => {
    const own = heads.map(({ name, mask, soft, inverse, keys, values }): Head => {
      const [query, key, value] = [next(keys, width), next(keys, width), next(values, width)];
      return { name, mask, soft, inverse, query, key, value, output: next(width, values) };
    });
    const feedForward = hidden === null ? null : { input: next(hidden, width), inputBias: next(hidden, 1), output: next(width, hidden), outputBias: next(width, 1) };
    return { name, heads: own, feedForward, ...norms[n]! };
  });
  const loops = spec.loops.map(({ first, last, times, until }): Loop => ({ first, last, times, until: until ? next(1, width) : null }));
  const names = namesOf(aboutOf(spec, buffers));
  const { bos, stop } = spec;
  return { width, vocabulary, bos, stop, features, expressions, positions, outputs, layers, loops, norm: last, tokens, place, table, unembedding, unembeddingBias, names };
}

/** What a weight file says of the weights of a page beside the matrices. */
export function aboutOf(spec: DecoderSpec, buffers: Buffers): About {
  return JSON.parse(textAt(buffers, spec.about)) as About;
}

/** The names of directions, and of the hidden units of each layer. */
function namesOf({ layout, layers }: About): Decoder["names"] {
  return {
    directions: layout.flatMap(({ name, labels }) => labels?.map((label) => `${name}[${label}]`) ?? [name]),
    units: layers.map(({ feed_forward: part }) => part?.units ?? []),
  };
}

/** Whether any head has softmax. */
export function isSoft({ layers }: Decoder): boolean {
  return layers.some(({ heads }) => heads.some(({ soft }) => soft));
}

/** What each row of the unembedding is called. */
export function answered({ outputs, vocabulary }: Decoder): string[] {
  if (!outputs.length) return vocabulary;
  return outputs.flatMap(({ name, labels }) => (labels === null ? [name] : labels.map((label) => `${name}[${label}]`)));
}

/** The places from their distances: the sum of all up to each. */
function sums(steps: Numbers, start: number, end: number): Int32Array {
  const found = new Int32Array(end - start);
  let sum = 0;
  for (let n = start; n < end; n++) {
    sum += steps[n]!;
    found[n - start] = sum;
  }
  return found;
}
