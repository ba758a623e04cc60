// Weights that cannot lead to numbers too large for float64: bounds stage by stage, as in tm2tfr/engines/overflow.py.

import type { Decoder, FeedForward, Head, Matrix, Norm } from "./decoder";
import { largest } from "./positions";

const MOST_POSITIONS = 2 ** 31;
/** A bound below this leaves room for all roundings: nothing under it is infinite. */
const SAFE = 1e290;

/** Whether every number is certain to be finite, for any tokens, up to 2^31 positions. */
export function everythingIsFinite(decoder: Decoder): boolean {
  if (decoder.loops.length) return false; // a bound of a stream grows with every pass
  let x: Float64Array = new Float64Array(decoder.width);
  const raise = (by: Matrix) => {
    const most = new Float64Array(x.length);
    by.rows.forEach((row, n) => (most[row] = Math.max(most[row]!, Math.abs(by.values[n]!))));
    x = sum(x, most);
  };
  raise(decoder.tokens);
  x = sum(x, times(decoder.place, Float64Array.from(decoder.features, (name) => largest(name, MOST_POSITIONS, decoder.expressions))));
  if (decoder.table) raise(decoder.table);
  let fine = small(x);
  for (const { heads, feedForward, attentionNorm, feedForwardNorm } of decoder.layers) {
    const [attends, reads] = normed(attentionNorm, x);
    const sizes = heads.map((head) => ofHead(head, reads, largest(head.inverse, MOST_POSITIONS, decoder.expressions)));
    fine = fine && attends && sizes.every(([safe]) => safe);
    for (const [, added] of sizes) x = sum(x, added);
    if (feedForward) {
      const [feeds, given] = normed(feedForwardNorm, x);
      const [safe, added] = ofFeedForward(feedForward, given);
      fine = fine && feeds && safe;
      x = sum(x, added);
    }
    fine = fine && small(x);
  }
  const [answers, reads] = normed(decoder.norm, x);
  return fine && answers && small(sum(times(decoder.unembedding, reads), column(decoder.unembeddingBias)));
}

/** Whether the variance is small, and a bound on what is read from a stream up to x. */
function normed(norm: Norm | null, x: Float64Array): [boolean, Float64Array] {
  if (!norm) return [true, x];
  const variance = 4 * x.length * x.reduce((most, value) => Math.max(most, value), 0) ** 2;
  // an entry of width w is at most √(w - 1) standard deviations away from the mean
  const bound = sum(
    column(norm.gain).map((value) => value * Math.sqrt(x.length)),
    column(norm.bias),
  );
  return [variance < SAFE && small(bound), bound];
}

/** Whether scores, and sums of values over all positions, are small, and a bound on the head's output; inverse: a bound on 1/τ. */
function ofHead(head: Head, x: Float64Array, inverse: number): [boolean, Float64Array] {
  const [query, key, value] = [times(head.query, x), times(head.key, x), times(head.value, x)];
  const asked = new Set(head.query.rows);
  let score = 0;
  let fine = true;
  for (const c of new Set(head.key.rows)) {
    if (!asked.has(c)) continue;
    score += query[c]! * key[c]! * Math.max(1, inverse);
    fine = fine && query[c]! < SAFE && key[c]! < SAFE;
  }
  return [fine && score < SAFE && small(value.map((each) => each * MOST_POSITIONS)), times(head.output, value)];
}

function ofFeedForward(layer: FeedForward, x: Float64Array): [boolean, Float64Array] {
  const hidden = sum(times(layer.input, x), column(layer.inputBias));
  return [small(hidden), sum(times(layer.output, hidden), column(layer.outputBias))];
}

/** The product of absolute values: x (columns,) → (rows,). */
function times(matrix: Matrix, x: Float64Array): Float64Array {
  const found = new Float64Array(matrix.height);
  matrix.rows.forEach((row, n) => (found[row]! += Math.abs(matrix.values[n]!) * x[matrix.columns[n]!]!));
  return found;
}

function column(matrix: Matrix): Float64Array {
  return times(matrix, Float64Array.of(1));
}

function sum(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, n) => value + b[n]!);
}

/** Whether all numbers are below the bound; false for NaN. */
function small(numbers: Float64Array): boolean {
  return numbers.every((number) => number < SAFE);
}
