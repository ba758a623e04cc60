// A head with its cache of keys and values, as tm2tfr/engines/dense_heads.py computes it: average-hard, or with softmax.

import type { Head, Mask } from "./decoder";
import { LinearMap, selected } from "./matrix";
import type { Feature } from "./positions";
import { firstInfinite, quoted, tooLarge, tooSoft } from "./refusals";

/** Queries of more components than this may be mostly 0, such as those for positions as one-hot vectors. */
const MANY = 8;
const FIRST_SIZE = 64;

/** Where a head looks from one position. */
export interface Look {
  /** (n_key,) of the positions in sight, in order; valid until the head looks again. */
  scores: Float64Array;
  /** The positions that share the weight, in order. */
  attended: Int32Array;
  /** The first position with the best score of all others; -1 if there are none. */
  runner: number;
  /** Under softmax, the weights of the positions in sight, (n_key,); null: those attended to share the weight evenly. */
  weights: Float64Array | null;
}

/** A growing list of vectors, one for each position: component by component, so that a loop over positions is fast. */
class Cache {
  private used = 0;
  private size = FIRST_SIZE;
  /** Of a component that was 0 at every position so far, only this. */
  private zeros = new Float64Array(FIRST_SIZE);
  private readonly components: (Float64Array | null)[];
  /** The sum of each component over all positions so far, from the first. */
  readonly sums: Float64Array;

  constructor(readonly width: number) {
    this.components = new Array<null>(width).fill(null);
    this.sums = new Float64Array(width);
  }

  /** Add a vector, (width,), for the next position. */
  append(vector: Float64Array): void {
    if (this.used === this.size) this.grow();
    for (let c = 0; c < this.width; c++) {
      const value = vector[c]!;
      if (value === 0) continue;
      (this.components[c] ??= new Float64Array(this.size))[this.used] = value;
      this.sums[c]! += value;
    }
    this.used++;
  }

  /** Forget all positions. */
  clear(): void {
    this.used = 0;
    this.components.fill(null);
    this.sums.fill(0);
  }

  /** A component at all positions so far, and zeros after them. */
  component(c: number): Float64Array {
    return this.components[c] ?? this.zeros;
  }

  private grow(): void {
    const larger = (old: Float64Array) => {
      const found = new Float64Array(2 * this.size);
      found.set(old);
      return found;
    };
    this.components.forEach((old, c) => (this.components[c] = old && larger(old)));
    this.zeros = new Float64Array(2 * this.size);
    this.size *= 2;
  }
}

/** The positions that a head with this mask sees from `position` in a sequence of this length: the first, and after the last. */
export function inSight(mask: Mask, position: number, length: number): [number, number] {
  return [mask === "past" ? position : 0, mask === "future" ? position + 1 : length];
}

export class AttentionHead {
  /** The rows of the stream that it adds to. */
  readonly rows: Int32Array;
  /** What it adds to them, once it has looked. */
  readonly added: Float64Array;
  /** Whether all scores are 0 by construction, so that all positions in sight share the attention. */
  readonly uniform: boolean;
  private readonly mask: Mask;
  private readonly soft: boolean;
  private readonly query: LinearMap;
  private readonly key: LinearMap;
  private readonly value: LinearMap;
  private readonly output: LinearMap;
  private readonly asked: Float64Array;
  private readonly taken: Float64Array;
  private readonly mean: Float64Array;
  private readonly carried: Float64Array;
  private readonly keys: Cache;
  private readonly values: Cache;
  private readonly name: string;
  private scores = new Float64Array(FIRST_SIZE);

  /** where: what its layer is called; careful: whether a number can get too large; inverse: 1/τ at a position, null for 1. */
  constructor(
    head: Head,
    private readonly where: string,
    private readonly careful: boolean,
    private readonly inverse: Feature | null,
  ) {
    const keys = new Set(head.key.rows);
    // a component that is 0 in every query or in every key adds 0 to every score: drop it
    const both = Int32Array.from(new Set(head.query.rows)).filter((row) => keys.has(row));
    [this.name, this.mask, this.soft, this.uniform] = [head.name, head.mask, head.soft, both.length === 0];
    this.query = new LinearMap(selected(head.query, both));
    this.key = new LinearMap(selected(head.key, both));
    this.value = new LinearMap(head.value);
    this.output = new LinearMap(head.output);
    this.rows = this.output.rows;
    this.added = new Float64Array(this.rows.length);
    [this.keys, this.values] = [new Cache(both.length), new Cache(this.value.rows.length)];
    this.asked = new Float64Array(both.length);
    this.taken = new Float64Array(Math.max(both.length, this.value.rows.length));
    this.mean = new Float64Array(this.value.rows.length);
    this.carried = new Float64Array(head.value.height);
  }

  /** Keep the key and the value of the next position; x: (width,) what the head reads there. */
  take(x: Float64Array): void {
    this.key.into(this.taken, x);
    this.keys.append(this.taken);
    this.value.into(this.taken, x);
    this.values.append(this.taken);
  }

  /** Drop the keys and values so far: those of an earlier pass of a loop. */
  forget(): void {
    this.keys.clear();
    this.values.clear();
  }

  /** Attend from `position`, in a sequence of which `length` positions are taken; x: (width,) what the head reads there.
   *
   * Sets `added`. Returns where the head looked, null if it is uniform.
   */
  look(x: Float64Array, position: number, length: number): Look | null {
    const [start, end] = inSight(this.mask, position, length);
    let look: Look | null = null;
    if (!this.uniform) {
      this.query.into(this.asked, x);
      if (this.scores.length < end - start) this.scores = new Float64Array(2 * (end - start));
      const scores = this.scores.subarray(0, end - start);
      this.score(scores, start);
      if (this.inverse) {
        const factor = this.inverse(position, length);
        for (let n = 0; n < scores.length; n++) scores[n]! *= factor;
      }
      if (this.careful && firstInfinite(scores) >= 0) throw this.soft ? tooSoft(this.named, position) : tooLarge(this.named, position, "a score");
      look = best(scores, start);
      if (this.soft) look.weights = softmax(scores);
    }
    if (look?.weights) this.weigh(look.weights, start);
    else this.average(look && look.attended, start, end, length);
    for (let n = 0; n < this.mean.length; n++) this.carried[this.value.rows[n]!] = this.mean[n]!;
    this.output.into(this.added, this.carried);
    return look;
  }

  /** Put the scores of the positions from `start` on into `scores`: products are added component by component. */
  private score(scores: Float64Array, start: number): void {
    const used = this.components();
    const many = scores.length;
    const [a, b, c] = used.map((n) => this.asked[n]!);
    const [k, l, m] = used.map((n) => this.keys.component(n));
    switch (used.length) {
      case 1:
        for (let n = 0, j = start; n < many; n++, j++) scores[n] = a! * k![j]!;
        return;
      case 2:
        for (let n = 0, j = start; n < many; n++, j++) scores[n] = a! * k![j]! + b! * l![j]!;
        return;
      default:
        for (let n = 0, j = start; n < many; n++, j++) scores[n] = a! * k![j]! + b! * l![j]! + c! * m![j]!;
    }
    for (const component of used.slice(3)) {
      const [asked, keys] = [this.asked[component]!, this.keys.component(component)];
      for (let n = 0, j = start; n < many; n++, j++) scores[n]! += asked * keys[j]!;
    }
  }

  /** The components that are not skipped: with finite keys, those that are 0 in a query add 0 to every score. */
  private components(): number[] {
    const all = Array.from(this.asked.keys());
    if (this.careful || all.length <= MANY) return all;
    const found = all.filter((n) => this.asked[n] !== 0);
    return found.length ? found : all.slice(0, 1);
  }

  private get named(): string {
    return `${this.where}, head ${quoted(this.name)}`;
  }

  /** Put the sum of the values, each times its weight, into `mean`, from the first position in sight on. */
  private weigh(weights: Float64Array, start: number): void {
    for (let c = 0; c < this.mean.length; c++) {
      const component = this.values.component(c);
      let sum = component[start]! * weights[0]!;
      for (let n = 1; n < weights.length; n++) sum += component[start + n]! * weights[n]!;
      this.mean[c] = sum;
    }
  }

  /** Put the mean of the values into `mean`: over the positions attended to, all in sight if null. */
  private average(attended: Int32Array | null, start: number, end: number, length: number): void {
    const { values, mean } = this;
    const many = attended ? attended.length : end - start;
    const whole = start === 0 && end === length && many === length;
    for (let c = 0; c < mean.length; c++) {
      const component = values.component(c);
      let sum: number;
      if (whole) sum = values.sums[c]!;
      else if (attended) {
        sum = component[attended[0]!]!;
        for (let n = 1; n < many; n++) sum += component[attended[n]!]!;
      } else {
        sum = component[start]!;
        for (let j = start + 1; j < end; j++) sum += component[j]!;
      }
      mean[c] = sum / many;
    }
  }
}

/** The positions of maximal score, ties being exact equality, and the runner-up. */
function best(scores: Float64Array, start: number): Look {
  let first = 0;
  let count = 1;
  let runner = -1;
  let most = scores[0]!;
  let second = -Infinity;
  for (let n = 1; n < scores.length; n++) {
    const score = scores[n]!;
    if (score > most) {
      second = most;
      runner = first;
      most = score;
      first = n;
      count = 1;
    } else if (score === most) count++;
    else if (score > second) {
      second = score;
      runner = n;
    }
  }
  const attended = new Int32Array(count);
  for (let n = first, k = 0; k < count; n++) if (scores[n] === most) attended[k++] = start + n;
  return { scores, attended, runner: runner < 0 ? -1 : start + runner, weights: null };
}

/** The weights `e^(s - max)` divided by their sum, from the first to the last. `Math.exp` may differ from numpy's in the last bit. */
function softmax(scores: Float64Array): Float64Array {
  let most = -Infinity;
  for (const score of scores) if (score > most) most = score;
  const powers = scores.map((score) => Math.exp(score - most));
  let sum = 0;
  for (const power of powers) sum += power;
  return powers.map((power) => power / sum);
}
