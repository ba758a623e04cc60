// A labeller's run on another input: what it answers, where its heads look, and what every stage changes.

import { inSight } from "../live/attention";
import type { Decoder } from "../live/decoder";
import { type Part, type Watch, wholeRun } from "../live/dense";
import { prompted } from "../live/generate";
import { plainNumber } from "../live/python";
import { combination } from "../live/readout";
import { quoted, Refused, thousands, visible } from "../live/refusals";

/** What the page says of its weights and their inputs (tm2tfr/web/explorer/labeller.py writes it). */
export interface LabellerSpec {
  name: string;
  /** The input of the recorded run. */
  word: string;
  /** The tokens that are fed before and after those of an input. */
  before: string[];
  after: string[];
  /** Whether tokens stand beside the positions where heads look. */
  named: boolean;
  /** What each layer and its heads are called. */
  layers: { heading: string; heads: string[] }[];
  /** The most positions in a page. */
  most: number;
  subspaces: { name: string; labels: string[] | null }[];
}

export interface Stage {
  layer: number;
  part: Part;
  /** The pass of its loop, from 1; 0: no loop runs its layer. */
  pass: number;
  /** By position, the stream after it. */
  streams: Float64Array[];
}

export interface Labelled {
  tokens: string[];
  /** By position, the answer of each output. */
  answers: string[][];
  /** By layer, head and position, the positions attended to; in a loop, in its last pass. */
  attended: number[][][][];
  stages: Stage[];
}

/** The tokens of an input: one for each character, or a JSON list. */
export function tokensOf(text: string): string[] {
  if (text.startsWith("[")) {
    try {
      const found: unknown = JSON.parse(text);
      if (Array.isArray(found) && found.length && found.every((token) => ["string", "number"].includes(typeof token))) return found.map(String);
    } catch {
      // a token for each character, then
    }
  }
  return [...text];
}

/** The tokens that an input can have. */
export function lettersOf(decoder: { vocabulary: string[] }, { before, after }: LabellerSpec): string[] {
  const ends = new Set([...before, ...after]);
  return decoder.vocabulary.filter((token) => !ends.has(token));
}

/** Run a labeller on an input. Throws `Refused` for one that cannot be run. */
export function labelled(decoder: Decoder, spec: LabellerSpec, text: string): Labelled {
  const word = tokensOf(text);
  const letters = lettersOf(decoder, spec);
  const wrong = word.findIndex((token) => !letters.includes(token));
  const named = visible(spec.name);
  if (!word.length) throw new Refused(`${named}: the input is empty: give at least one token`);
  if (wrong >= 0) throw new Refused(`${named}: token ${wrong} of the input, ${quoted(word[wrong]!)}, is not in the alphabet: use ${letters.map(visible).join(", ")}`);
  const tokens = [...spec.before, ...word, ...spec.after];
  if (tokens.length > spec.most) {
    const what = `the page shows every pair of positions, and ${thousands(tokens.length)} positions are too many`;
    throw new Refused(`${named}: ${what}: use at most ${spec.most}`);
  }
  const given = prompted(decoder, tokens);
  const attended: number[][][][] = decoder.layers.map(({ heads }) => heads.map(() => []));
  const stages: Stage[] = [];
  const watch = (i: number): Watch => {
    let number = 0;
    const shown = new Map<string, number>();
    return {
      stage(layer, part, x) {
        const again = decoder.loops.some(({ first, last }) => first <= layer + 1 && layer < last);
        const pass = (shown.get(`${layer} ${part}`) ?? 0) + 1;
        shown.set(`${layer} ${part}`, pass);
        (stages[number++] ??= { layer, part, pass: again ? pass : 0, streams: [] }).streams[i] = x.slice();
      },
      head(layer, head, look) {
        const [start, end] = inSight(decoder.layers[layer]!.heads[head]!.mask, i, given.length);
        attended[layer]![head]![i] = look ? Array.from(look.attended) : Array.from({ length: end - start }, (_, n) => start + n);
      },
    };
  };
  const passed = wholeRun(decoder, given, new Map(given.map((_, i) => [i, watch(i)])));
  return { tokens, answers: passed.map(({ logits }) => answersOf(decoder, logits)), attended, stages };
}

/** The answer of each output: a label if its logits are exactly one-hot, else their combination; or a number. */
function answersOf({ outputs }: Decoder, logits: Float64Array): string[] {
  let start = 0;
  return outputs.map(({ labels }) => {
    const values = logits.subarray(start, (start += labels ? labels.length : 1));
    if (!labels) return plainNumber(values[0]!);
    const hot = labels.filter((_, k) => values[k]);
    return hot.length === 1 && values.includes(1) ? hot[0]! : combination(labels, values);
  });
}
