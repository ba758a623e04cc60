// The dense engine of tm2tfr/engines/dense.py in the browser: the same float64 operations in the same order.

import { AttentionHead, type Look } from "./attention";
import { answered, type Decoder, type Loop } from "./decoder";
import { ColumnsOf, LinearMap, vector } from "./matrix";
import { LayerNorm, read } from "./norm";
import { everythingIsFinite } from "./overflow";
import { type Feature, feature, ofLength } from "./positions";
import { beyondTheTable, firstInfinite, layerCalled, quoted, Refused, thousands, tooLarge } from "./refusals";

export type Part = "embedding" | "attention" | "feed_forward";

/** An observer of a forward pass from the inside. Layers count from 0, and those of a loop are shown again in every pass.
 *
 * What it is shown is valid during the call alone.
 */
export interface Watch {
  /** The residual stream, (width,), after the embedding (layer -1), or after a part of a layer. */
  stage(layer: number, part: Part, x: Float64Array): void;
  /** Where a head looks; null: all scores are 0 by construction, and it looks at all positions in sight. */
  head(layer: number, head: number, look: Look | null): void;
}

/** What there is at a position at the end. */
export interface Passed {
  /** (width,) the stream after the last layer */
  residual: Float64Array;
  /** (answers,) */
  logits: Float64Array;
}

interface FeedForwardPart {
  input: LinearMap;
  inputBias: Float64Array;
  output: LinearMap;
  outputBias: LinearMap;
  /** The units that write something. */
  writes: Int32Array;
}

interface LayerParts {
  attentionNorm: LayerNorm | null;
  heads: AttentionHead[];
  feedForwardNorm: LayerNorm | null;
  feedForward: FeedForwardPart | null;
}

const ONE = Float64Array.of(1);

/** The weights of a decoder, and the arithmetic that concerns one position at a time. */
class Weights {
  /** By layer and head, whether all its scores are 0 by construction. */
  readonly uniform: boolean[][];
  protected readonly layers: LayerParts[];
  private readonly careful: boolean;
  private readonly features: Feature[];
  private readonly tokens: ColumnsOf;
  private readonly place: LinearMap;
  private readonly table: ColumnsOf | null;
  private readonly norm: LayerNorm | null;
  private readonly unembedding: LinearMap;
  private readonly bias: Float64Array;

  constructor(protected readonly decoder: Decoder) {
    this.careful = !everythingIsFinite(decoder);
    this.features = decoder.features.map((name) => feature(name, decoder.expressions));
    this.tokens = new ColumnsOf(decoder.tokens);
    this.place = new LinearMap(decoder.place);
    this.table = decoder.table && new ColumnsOf(decoder.table);
    this.layers = decoder.layers.map((_, n) => this.partsOf(n));
    this.uniform = this.layers.map(({ heads }) => heads.map((head) => head.uniform));
    this.norm = decoder.norm && new LayerNorm(decoder.norm, "norm before the unembedding");
    this.unembedding = new LinearMap(decoder.unembedding);
    this.bias = vector(decoder.unembeddingBias);
  }

  protected embedded(token: number, position: number, length: number): Float64Array {
    const x = new Float64Array(this.decoder.width);
    this.tokens.addTo(x, token);
    this.place.addTo(x, Float64Array.from(this.features, (at) => at(position, length)));
    if (this.table) {
      if (position >= this.table.length) throw beyondTheTable(position);
      this.table.addTo(x, position);
    }
    this.check(x, -1, position);
    return x;
  }

  /** Add to x what the heads of layer n carry: all of them read the stream before any writes to it. */
  protected attend(n: number, x: Float64Array, reads: Float64Array, position: number, length: number, watch: Watch | undefined): void {
    const { heads } = this.layers[n]!;
    const looks = heads.map((head) => head.look(reads, position, length));
    if (watch) looks.forEach((look, k) => watch.head(n, k, look));
    for (const { rows, added } of heads) for (let r = 0; r < rows.length; r++) x[rows[r]!]! += added[r]!;
  }

  /** Add to x what the feed-forward part of layer n answers. */
  protected feedForward(n: number, x: Float64Array, position: number, watch: Watch | undefined): void {
    const { feedForward: part, feedForwardNorm } = this.layers[n]!;
    watch?.stage(n, "attention", x);
    if (part) {
      const reads = read(feedForwardNorm, x, position);
      const hidden = part.inputBias.slice();
      part.input.addTo(hidden, reads);
      if (this.careful) this.checkHidden(n, part, hidden, position);
      for (let u = 0; u < hidden.length; u++) if (!(hidden[u]! > 0)) hidden[u] = 0;
      part.output.addTo(x, hidden);
      part.outputBias.addTo(x, ONE);
    }
    this.check(x, n, position);
    watch?.stage(n, "feed_forward", x);
  }

  /** The logits of a position: (answers,). */
  protected answers(x: Float64Array, position: number): Float64Array {
    const logits = this.bias.slice();
    this.unembedding.addTo(logits, read(this.norm, x, position));
    const wrong = this.careful ? firstInfinite(logits) : -1;
    if (wrong >= 0) throw tooLarge("unembedding", position, `the logit of ${quoted(answered(this.decoder)[wrong]!)}`);
    return logits;
  }

  private partsOf(n: number): LayerParts {
    const { heads, feedForward, attentionNorm, feedForwardNorm } = this.decoder.layers[n]!;
    const where = layerCalled(this.decoder, n + 1);
    return {
      attentionNorm: attentionNorm && new LayerNorm(attentionNorm, `${where}, norm before attention`),
      heads: heads.map((head) => new AttentionHead(head, where, this.careful, head.inverse === "1" ? null : feature(head.inverse, this.decoder.expressions))),
      feedForwardNorm: feedForwardNorm && new LayerNorm(feedForwardNorm, `${where}, norm before feed-forward`),
      feedForward: feedForward && {
        input: new LinearMap(feedForward.input),
        inputBias: vector(feedForward.inputBias),
        output: new LinearMap(feedForward.output),
        outputBias: new LinearMap(feedForward.outputBias),
        writes: Int32Array.from(new Set(feedForward.output.columns)).sort(),
      },
    };
  }

  /** Refuse a stream that is not finite after a layer, from 0; -1: after the embedding. */
  private check(x: Float64Array, after: number, position: number): void {
    const wrong = this.careful ? firstInfinite(x) : -1;
    if (wrong < 0) return;
    const direction = this.decoder.names.directions[wrong] ?? String(wrong);
    const where = after < 0 ? "embedding" : layerCalled(this.decoder, after + 1);
    throw tooLarge(where, position, `direction ${quoted(direction)} of the stream`);
  }

  private checkHidden(n: number, { writes }: FeedForwardPart, hidden: Float64Array, position: number): void {
    const unit = writes.find((u) => !Number.isFinite(hidden[u]!));
    if (unit === undefined) return;
    const name = this.decoder.names.units[n]?.[unit] ?? String(unit);
    throw tooLarge(layerCalled(this.decoder, n + 1), position, `the sum of hidden unit ${quoted(name)}`);
  }
}

/** A decoder in the middle of a sequence, with its KV cache. */
export class Dense extends Weights {
  position = 0;
  /** (width,) the stream at the last position, after the last layer */
  residual: Float64Array = new Float64Array(0);
  /** (answers,) the logits at the last position */
  logits: Float64Array = new Float64Array(0);

  /** Throws `Refused` if a head looks ahead, or a number depends on the length. */
  constructor(decoder: Decoder) {
    refuseAhead(decoder);
    super(decoder);
  }

  /** Run the next position on a token, by its number, and return the first token with the largest logit.
   *
   * Throws `Refused` if a number is too large, a layer norm divides by 0, or the position table has no such position; the
   * session cannot be used after that.
   */
  feed(token: number, watch?: Watch): number {
    const { position } = this;
    const x = this.embedded(token, position, position + 1);
    watch?.stage(-1, "embedding", x);
    this.layers.forEach(({ heads, attentionNorm }, n) => {
      if (heads.length) {
        const reads = read(attentionNorm, x, position);
        for (const head of heads) head.take(reads);
        this.attend(n, x, reads, position, position + 1, watch);
      }
      this.feedForward(n, x, position, watch);
    });
    [this.residual, this.logits] = [x, this.answers(x, position)];
    this.position++;
    return argmax(this.logits);
  }
}

class Whole extends Weights {
  run(tokens: ArrayLike<number>, watches: ReadonlyMap<number, Watch>): Passed[] {
    const streams = Array.from(tokens, (token, i) => this.embedded(token, i, tokens.length));
    for (const [i, watch] of watches) watch.stage(-1, "embedding", streams[i]!);
    const through = (from: number, to: number) => {
      for (let n = from; n < to; n++) this.layer(n, streams, watches);
    };
    let done = 0;
    for (const loop of this.decoder.loops) {
      through(done, loop.first - 1);
      this.repeat(loop, streams, () => through(loop.first - 1, loop.last));
      done = loop.last;
    }
    through(done, this.layers.length);
    return streams.map((residual, i) => ({ residual, logits: this.answers(residual, i) }));
  }

  /** Run layer n, from 0, at all positions. */
  private layer(n: number, streams: Float64Array[], watches: ReadonlyMap<number, Watch>): void {
    const { heads, attentionNorm } = this.layers[n]!;
    if (heads.length) {
      const reads = streams.map((x, i) => read(attentionNorm, x, i));
      for (const head of heads) head.forget();
      for (const x of reads) for (const head of heads) head.take(x);
      streams.forEach((x, i) => this.attend(n, x, reads[i]!, i, streams.length, watches.get(i)));
    }
    streams.forEach((x, i) => this.feedForward(n, x, i, watches.get(i)));
  }

  /** Make the passes of a loop. */
  private repeat({ first, last, times, until }: Loop, streams: Float64Array[], pass: () => void): void {
    const row = until && new LinearMap(until);
    const ended = (x: Float64Array) => {
      const found = new Float64Array(1);
      row!.addTo(found, x);
      return found[0]! >= 0.5;
    };
    for (let number = 1; number <= (times ?? MOST_PASSES); number++) {
      pass();
      if (row && streams.every(ended)) return;
    }
    if (times === null) throw new Refused(`the loop over ${first === last ? `layer ${first}` : `layers ${first} to ${last}`} until its condition holds everywhere: it has not ended after ${thousands(MOST_PASSES)} passes: state how often it is run at most, 'repeat 200 until …'`);
  }
}

/** A loop that states no number of passes is refused after this many. */
const MOST_PASSES = 10_000;

/** Run a whole sequence at once, with heads of any mask; watches: by position, who is shown the computation at it.
 *
 * Throws `Refused` as `Dense.feed` does.
 */
export function wholeRun(decoder: Decoder, tokens: ArrayLike<number>, watches: ReadonlyMap<number, Watch> = new Map()): Passed[] {
  return new Whole(decoder).run(tokens, watches);
}

/** The first index of the largest number. */
export function argmax(numbers: Float64Array): number {
  let found = 0;
  for (let n = 1; n < numbers.length; n++) if (numbers[n]! > numbers[found]!) found = n;
  return found;
}

function refuseAhead(decoder: Decoder): void {
  const named = decoder.features.find((name) => ofLength(name, decoder.expressions));
  const what = named === undefined ? "the temperature depends" : `the position feature ${quoted(named)} depends`;
  const inverses = decoder.layers.flatMap(({ heads }) => heads.map(({ inverse }) => inverse));
  if (named !== undefined || inverses.some((inverse) => ofLength(inverse, decoder.expressions))) {
    throw new Refused(`${what} on the length, so these weights cannot run position by position: run the whole sequence`);
  }
  if (decoder.loops.length) throw new Refused("these weights run layers again, so they cannot run position by position: run the whole sequence at once");
  const head = decoder.layers.flatMap(({ heads }) => heads).find(({ mask }) => mask !== "future");
  if (!head) return;
  throw new Refused(`head ${quoted(head.name)} has the mask ${quoted(head.mask)} and looks ahead, so it cannot run position by position: run the whole sequence at once`);
}
