// Another input, as people write it: checked, and refused in the words of the command line.

import { counted, quoted, Refused, visible } from "./refusals";
import type { Bus } from "./truth/circuit";

/** What the page says of its inputs (tm2tfr/web/explorer/document.py writes it). */
export interface BoxSpec {
  /** The name of the program. */
  name: string;
  /** The input of the recorded run, its limit of steps, and the largest that the page takes. */
  word: string;
  steps: number | null;
  most: number;
  examples: string[];
  /** The input alphabet of a machine, and its blank. */
  alphabet: string[] | null;
  blank: string | null;
  /** How an input may have other symbols of a machine, in the words of the format that it was read from. */
  about?: string;
  /** Of runs that label: the tokens that are fed before and after those of an input, those that an input can have, and what messages
   * say of inputs; null: there is no program. */
  tokens: { before: string[]; after: string[]; alphabet: string[]; about: TokensAbout | null } | null;
  circuit: { inputs: number; encoding: string; buses: Bus[]; outputs: Bus[] } | null;
}

/** What messages say of the inputs of a program that answers at every position (the page.py of its source writes it). */
export interface TokensAbout {
  /** The number of the first token. */
  first: number;
  /** The message for the empty input. */
  empty: string;
  /** The message for an unknown token, in parts: between them are its number and the token in quotes. */
  unknown: [string, string, string];
}

const NEAR = 60;
/** Signs that take the place of two. */
export const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60]/u;
const SEPARATORS = /\s*[+*,]\s*/;
const NUMBER = /^(?:0x([0-9a-f]+)|0b([01]+)|([0-9]+))$/i;
const MOST_NAMED = 8;
const BLOCK_BYTES = 64;

/** The tokens of an input, without those that describe a machine. Throws `Refused`. */
export function wordOf(box: BoxSpec, text: string): string[] {
  if (box.tokens) return labelledWord(box, box.tokens, text);
  const signs = [...text];
  if (box.circuit) return [...bitsOf(box, text)];
  if (box.alphabet) checkSymbols(box, box.alphabet, signs);
  return signs;
}

/** The largest number of steps, as it is written; null: nothing is. Throws `Refused`. */
export function stepsOf(text: string, most: number): number | null {
  const limit = Number(text);
  if (text.trim() === "") return null;
  if (Number.isInteger(limit) && limit >= 1 && limit <= most) return limit;
  throw stepsRefused(most);
}

export function stepsRefused(most: number): Refused {
  return new Refused(`the largest number of steps must be a whole number from 1 to ${most.toLocaleString("en")}: change it`);
}

function checkSymbols({ name, blank, about }: BoxSpec, alphabet: string[], signs: string[]): void {
  const known = new Set(alphabet);
  const first = signs.findIndex((sign) => !known.has(sign));
  if (first < 0) return;
  const near = signs.slice(Math.max(0, first - NEAR), first + NEAR);
  const shown = near.map((sign) => (visible(sign) === sign ? sign : "\ufffd")).join("");
  const marks = near.map((sign) => (known.has(sign) ? " " : "^").repeat(WIDE.test(sign) ? 2 : 1)).join("").trimEnd();
  const symbols = alphabet.length ? `{${alphabet.map(visible).join(", ")}}` : "empty";
  const why = signs[first] === blank ? " (it is the blank)" : "";
  throw new Refused(`input of ${name}: position ${first}: ${quoted(signs[first]!)} is not in the input alphabet${why}: use only its symbols (${symbols})${about ? `, or ${about}` : ""}\n  ${shown}\n  ${marks}`);
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

function labelledWord({ name, most }: BoxSpec, { before, after, alphabet, about }: NonNullable<BoxSpec["tokens"]>, text: string): string[] {
  const word = tokensOf(text);
  if (about && !word.length) throw new Refused(about.empty);
  const wrong = about ? word.findIndex((token) => !alphabet.includes(token)) : -1;
  if (about && wrong >= 0) {
    const [start, middle, end] = about.unknown;
    throw new Refused(`${start}${wrong + about.first}${middle}${quoted(word[wrong]!)}${end}`);
  }
  const many = before.length + word.length + after.length;
  if (many > most) throw new Refused(`${name}: the page shows every pair of positions, and ${many.toLocaleString("en-US")} positions are too many: use at most ${most}`);
  return word;
}

/** The bits of a circuit's inputs: as such, as a number for each bus, or as a text. */
function bitsOf({ name, circuit }: BoxSpec, text: string): string {
  const { inputs, encoding, buses } = circuit!;
  const bits = text.trim();
  const refused = (what: string, remedy: string) => new Refused(`input of ${name}: ${what}: ${remedy}`);
  const named = buses.slice(0, MOST_NAMED).map((bus) => `${visible(bus.name)} (${counted(bus.bits.length, "bit")})`);
  const wanted = `a number for each of ${named.join(", ")}${buses.length > named.length ? ` and ${buses.length - named.length} more` : ""}`;
  if (bits.length === inputs && /^[01]*$/.test(bits)) return bits;
  if (encoding) return padded(text);
  if (/^[01]*$/.test(bits)) throw refused(`${counted(bits.length, "bit")} for ${counted(inputs, "input")}`, `give a bit for each input, or ${wanted}`);
  const parts = bits.split(SEPARATORS);
  if (parts.length !== buses.length) throw refused(`${counted(parts.length, "number")} where there must be ${buses.length}`, `give a bit for each input, or ${wanted}`);
  const found = new Array<string>(inputs).fill("0");
  buses.forEach((bus, n) => {
    const part = parts[n]!;
    const short = quoted(part.length <= 30 ? part : `${part.slice(0, 30)}…`);
    const number = NUMBER.exec(part);
    if (!number) throw refused(`${short} is not a number`, `give ${wanted}, such as 58, 0x3A or 0b111010`);
    const digits = number[1] ? `0x${number[1]}` : number[2] ? `0b${number[2]}` : number[3]!;
    const value = BigInt(digits);
    const width = bus.bits.length;
    if (value >> BigInt(width)) throw refused(`${short} does not fit ${visible(bus.name)}, which has ${counted(width, "bit")}`, `use at most ${width <= 64 ? (1n << BigInt(width)) - 1n : `2^${width} - 1`}`);
    bus.bits.forEach((place, k) => (found[place] = String((value >> BigInt(k)) & 1n)));
  });
  return found.join("");
}

/** The bytes of a message: those of `0x616263`, otherwise the text as UTF-8. */
function bytesOf(text: string): Uint8Array {
  const digits = /^0x([0-9a-fA-F]+)$/.exec(text)?.[1];
  if (digits === undefined) return new TextEncoder().encode(text);
  if (digits.length % 2) {
    const own = Array.from(text.slice(0, 4), (sign) => sign.charCodeAt(0).toString(16).padStart(2, "0")).join("");
    const shown = text.length <= 40 ? text : `${text.slice(0, 40)}…`;
    const what = `${shown} has ${counted(digits.length, "digit")} after 0x`;
    throw new Refused(`input: ${what}: write two for each byte; the bytes of this text itself are 0x${own}…`);
  }
  return Uint8Array.from(digits.match(/../g)!, (pair) => parseInt(pair, 16));
}

/** The bits of the only block of a message for SHA-256 (FIPS 180-4, Section 5.1.1). */
function padded(text: string): string {
  const message = bytesOf(text);
  const most = BLOCK_BYTES - 9;
  if (message.length > most) {
    const what = `the text has ${counted(message.length, "byte")}, and one block of SHA-256 takes ${most}`;
    throw new Refused(`input: ${what}: shorten it; a longer text would need a circuit of more blocks`);
  }
  const block = new Uint8Array(BLOCK_BYTES);
  block.set(message);
  block[message.length] = 0x80;
  new DataView(block.buffer).setBigUint64(BLOCK_BYTES - 8, BigInt(8 * message.length));
  return Array.from(block, (byte) => byte.toString(2).padStart(8, "0")).join("");
}

/** What can be written in the box, in words. */
export function hint({ alphabet, blank, circuit, tokens, examples }: BoxSpec): string {
  const quote = (text: string) => (text === "" ? "the empty word" : visible(text));
  if (tokens) return tokensHint(tokens.alphabet);
  const such = examples.length ? `, such as ${examples.slice(0, 4).map(quote).join(", ")}` : "";
  if (circuit?.encoding) return "any text, bytes such as 0x616263, or a bit for each input";
  if (circuit) {
    const whole = circuit.buses.some((bus) => bus.bits.length > 1) ? `, or a number for each of ${circuit.buses.map((bus) => visible(bus.name)).join(", ")}` : "";
    return `${counted(circuit.inputs, "bit")}, one for each input${whole}`;
  }
  if (!alphabet) return "one token for each character";
  if (!alphabet.length) return "the empty word alone: the machine has no input symbols";
  return `symbols ${alphabet.map((a) => (a === " " ? "␣ (space)" : visible(a))).join(" ")}${such}; the blank is ${blank === " " ? "␣ (space)" : visible(blank ?? "")}`;
}

function tokensHint(alphabet: string[]): string {
  const most = 40;
  const shown = alphabet.slice(0, most).map((token) => (token === " " ? "␣ (space)" : visible(token)));
  const more = alphabet.length > most ? ` and ${(alphabet.length - most).toLocaleString("en-US")} more` : "";
  const long = alphabet.filter((token) => [...token].length > 1).slice(0, 2);
  const how = long.length ? `as a JSON list, such as ${JSON.stringify(long)}` : "one character each";
  return `tokens ${shown.join(" ")}${more}; ${how}`;
}
