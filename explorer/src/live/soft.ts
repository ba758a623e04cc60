// The same weights under softmax, with queries divided by a temperature, as tm2tfr/transformer/soft.py and lab/softness have it: which answers
// stay what they are under hard attention, and up to which temperature all of them do.

import type { Decoder } from "./decoder";
import { prompted } from "./generate";
import { type Watch, wholeRun } from "./dense";
import { plainNumber } from "./python";
import { answersOf } from "./readout";
import { Refused } from "./refusals";

/** Powers of 2 that are tried, from the warmest down; so many right ones in a row, and so many halvings, are enough. */
export const HIGHEST = 10;
export const LOWEST = -10;
const STREAK = 3;
const HALVINGS = 5;

/** The weights with softmax in place of average-hard attention. Throws `Refused` for weights with loops. */
export function softened(decoder: Decoder, temperature: number): Decoder {
  if (decoder.loops.length) throw new Refused("these weights have loops, in whose passes the errors of softmax add up, and no bound is known: use average-hard attention");
  const layers = decoder.layers.map((layer) => ({
    ...layer,
    heads: layer.heads.map((head) => {
      const values = head.query.values.map((value) => value / temperature);
      if (values.some((value) => !Number.isFinite(value))) throw new Refused(`queries divided by the temperature ${temperature} are too large: use a higher one`);
      return { ...head, soft: true, query: { ...head.query, values } };
    }),
  }));
  return { ...decoder, layers };
}

/** The answer of each output at a position as text: a label, a number, or a vector that is neither. */
function answersAt(decoder: Decoder, logits: Float64Array): string[] {
  return answersOf(decoder, logits).map((answer) => (typeof answer === "number" ? plainNumber(answer) : String(answer)));
}

/** A run of a whole input at a temperature. */
export interface SoftRun {
  /** By position and output. */
  answers: string[][];
  /** Position and output of the first answer that is another one than under hard attention; null: all are the same. */
  flips: [number, number] | null;
  /** By position, whether an answer flips there. */
  flipped: boolean[];
  /** The number of answers that are the same. */
  right: number;
  /** By layer, head and position, the weights of the positions in sight; null of a head that is uniform by construction. */
  weights: (Float64Array | null)[][][];
}

/** Runs of one input at any temperature. */
export class Softness {
  /** The answers under hard attention, by position and output. */
  readonly hard: string[][];
  private readonly given: number[];

  /** tokens: all that are fed. */
  constructor(
    private readonly decoder: Decoder,
    tokens: string[],
  ) {
    this.given = prompted(decoder, tokens);
    this.hard = wholeRun(decoder, this.given).map(({ logits }) => answersAt(decoder, logits));
  }

  at(temperature: number): SoftRun {
    const weights = this.decoder.layers.map(({ heads }) => heads.map((): (Float64Array | null)[] => []));
    const watch = (i: number): Watch => ({ stage() {}, head: (layer, head, look) => (weights[layer]![head]![i] = look && look.weights) });
    const soft = softened(this.decoder, temperature);
    const passed = wholeRun(soft, this.given, new Map(this.given.map((_, i) => [i, watch(i)])));
    const answers = passed.map(({ logits }) => answersAt(soft, logits));
    let [right, flips]: [number, [number, number] | null] = [0, null];
    answers.forEach((row, i) =>
      row.forEach((answer, k) => {
        if (answer === this.hard[i]![k]) right++;
        else flips ??= [i, k];
      }),
    );
    return { answers, flips, flipped: answers.map((row, i) => row.some((answer, k) => answer !== this.hard[i]![k])), right, weights };
  }

  /** The largest temperature found at which every answer is the same; null: none of those tried. */
  warmest(): number | null {
    const right = (power: number) => this.at(2 ** power).flips === null;
    let best: number | null = null;
    for (let power = HIGHEST; power >= LOWEST; power--) {
      if (!right(power)) best = null;
      else {
        best ??= power;
        if (best - power === STREAK) break;
      }
    }
    if (best === null) return null;
    let [low, high] = [best, best + 1];
    for (let n = 0; n < HALVINGS && best < HIGHEST; n++) {
      const middle = (low + high) / 2;
      [low, high] = right(middle) ? [middle, high] : [low, middle];
    }
    return 2 ** low;
  }
}
