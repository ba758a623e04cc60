// Layer normalisation of what a part reads, as tm2tfr/engines/dense_parts.py computes it.

import type { Norm } from "./decoder";
import { vector } from "./matrix";
import { Refused, thousands } from "./refusals";

export class LayerNorm {
  private readonly gain: Float64Array;
  private readonly bias: Float64Array;
  private readonly epsilon: number;

  /** where: what the norm is called in refusals. */
  constructor(
    norm: Norm,
    private readonly where: string,
  ) {
    [this.gain, this.bias, this.epsilon] = [vector(norm.gain), vector(norm.bias), norm.epsilon];
  }

  /** gain · ((x - μ) / √(σ² + ε)) + bias: x (width,), which stays as it is, → (width,). */
  of(x: Float64Array, position: number): Float64Array {
    if (!x.length) return x;
    const centred = new Float64Array(x.length);
    let sum = x[0]!;
    for (let n = 1; n < x.length; n++) sum += x[n]!;
    const mean = sum / x.length;
    for (let n = 0; n < x.length; n++) centred[n] = x[n]! - mean;
    let squares = centred[0]! * centred[0]!;
    for (let n = 1; n < x.length; n++) squares += centred[n]! * centred[n]!;
    const root = Math.sqrt(squares / x.length + this.epsilon);
    const here = `${this.where}, position ${thousands(position)}`;
    if (root === 0) throw new Refused(`${here}: its variance and its epsilon are 0, so that it divides by 0: use an epsilon above 0`);
    if (!(root < Infinity)) throw new Refused(`${here}: the variance is too large for float64: use smaller weights`);
    for (let n = 0; n < x.length; n++) centred[n] = this.gain[n]! * (centred[n]! / root) + this.bias[n]!;
    return centred;
  }
}

/** What a part reads from the stream x: x itself if there is no norm. */
export function read(norm: LayerNorm | null, x: Float64Array, position: number): Float64Array {
  return norm ? norm.of(x, position) : x;
}
