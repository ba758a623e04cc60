// What the engine refuses, in the words of the dense engine (tm2tfr/engines/overflow.py).

import type { Decoder } from "./decoder";

/** A run that cannot go on, or cannot begin: the message says why, and what to do. */
export class Refused extends Error {
  override name = "Refused";
}

/** `what`, at a place of the decoder, is too large for float64. */
export function tooLarge(where: string, position: number, what: string): Refused {
  return new Refused(`${where}, position ${thousands(position)}: ${what} is too large for float64: use --engine exact, or smaller weights`);
}

/** The scores of a head with softmax are too large for float64. */
export function tooSoft(head: string, position: number): Refused {
  return new Refused(`${head}, position ${thousands(position)}: its scores are too large for float64: use a higher temperature or a wider dtype`);
}

export function beyondTheTable(position: number): Refused {
  return new Refused(`position ${thousands(position)}: these weights have ${counted(position, "position")}: stop before it`);
}

/** "layer 4 (read tape)"; number: from 1. */
export function layerCalled(decoder: Decoder, number: number): string {
  return `layer ${number} (${decoder.layers[number - 1]!.name})`;
}

/** The index of the first number that is infinite or NaN, -1 if there is none. */
export function firstInfinite(numbers: Float64Array): number {
  for (let n = 0; n < numbers.length; n++) if (!Number.isFinite(numbers[n]!)) return n;
  return -1;
}

/** "1 token", "1,024 tokens" */
export function counted(number: number, noun: string): string {
  return `${thousands(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function thousands(number: number): string {
  return number.toLocaleString("en-US");
}

/** A text in quotes, as Python writes it. */
export function quoted(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  let inside = "";
  for (const sign of text) inside += sign === "\\" || sign === mark ? `\\${sign}` : escaped(sign);
  return `${mark}${inside}${mark}`;
}

/** A text for a line that people read: what cannot be printed as `\\n` or `\\x1b`. */
export function visible(text: string): string {
  return UNPRINTABLE.test(text) ? [...text].map(escaped).join("") : text;
}

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
/** What Python escapes: controls, formats, surrogates, unassigned, separators other than the space. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

function escaped(sign: string): string {
  if (SHORT[sign]) return SHORT[sign];
  if (!UNPRINTABLE.test(sign)) return sign;
  const code = sign.codePointAt(0)!.toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
}
