// A decoder on its own answers, as tm2tfr/engines/decode.py generates them.

import type { Decoder } from "./decoder";
import { Dense, type Watch } from "./dense";
import { counted, quoted, Refused } from "./refusals";

/** The numbers of the tokens prompt · BOS, or of the prompt alone if there is no BOS. Throws `Refused` for a prompt that cannot be run. */
export function prompted(decoder: Decoder, prompt: string[]): number[] {
  const { vocabulary, bos, positions, outputs } = decoder;
  const numbers = new Map(vocabulary.map((token, n) => [token, n]));
  const found = prompt.map((token, i) => {
    const number = numbers.get(token);
    if (number !== undefined) return number;
    const more = vocabulary.length > 8 ? ", …" : "";
    throw new Refused(`token ${i} of the prompt, ${quoted(token)}, is not in the vocabulary: use ${vocabulary.slice(0, 8).join(", ")}${more}`);
  });
  if (!found.length && bos === null) throw new Refused("the prompt is empty, and these weights have no BOS to start with: give at least one token");
  if (bos !== null) found.push(bos);
  if (positions !== null && found.length > positions) {
    const longer = outputs.length ? `, or compile the program with --max-length ${prompt.length}` : "";
    const what = `the prompt has ${counted(prompt.length, "token")}, and these weights have ${counted(positions, "position")}`;
    throw new Refused(`${what}: give a shorter one${longer}`);
  }
  return found;
}

/** What there was at a position: the numbers of the token fed and of the token answered. */
export interface Step {
  position: number;
  fed: number;
  answer: number;
  residual: Float64Array;
  logits: Float64Array;
}

/** Run a decoder on the tokens `given` and then on its own answers (Definition 8.1), position by position.
 *
 * Ends after the position that answers with a stop token, after `maxPositions` positions, or where the position table ends.
 * Throws `Refused` as `Dense` does.
 */
export function* generate(decoder: Decoder, given: number[], maxPositions = Infinity, watch?: Watch): Generator<Step> {
  const most = Math.min(maxPositions, decoder.positions ?? Infinity);
  const stop = new Set(decoder.stop);
  const session = new Dense(decoder);
  let answer = -1;
  for (let position = 0; position < most; position++) {
    const fed = given[position] ?? answer;
    answer = session.feed(fed, watch);
    yield { position, fed, answer, residual: session.residual, logits: session.logits };
    if (stop.has(answer) && position + 1 >= given.length) return;
  }
}
