// Values of RASP and of formulas, and what the operators of RASP do with them, as Python's interpreter has it (tm2tfr/sources/rasp/values.py):
// texts, truth values, whole numbers without a limit, and exact fractions in the place of floats. A truth value counts as 0 or 1.

import type { AtomSpec } from "../../sequence/spec";
import { thousands } from "../refusals";

export class Fraction {
  readonly over: bigint;
  readonly under: bigint;

  constructor(over: bigint, under = 1n) {
    const common = under === 1n ? 1n : gcd(over < 0n ? -over : over, under < 0n ? -under : under) * (under < 0n ? -1n : 1n);
    [this.over, this.under] = [over / common, under / common];
  }
}

export type Whole = bigint;
type Num = Whole | boolean | Fraction;
export type Atom = string | Num;

/** An operator cannot be applied to these values; its message says why. */
export class ValueRefused extends Error {
  override name = "ValueRefused";
}

const MOST_BITS = 1 << 16;
const MOST_LETTERS = 1 << 20;

export function atomOf(spec: AtomSpec): Atom {
  if (typeof spec === "number") return BigInt(spec);
  if (typeof spec !== "object") return spec;
  return "whole" in spec ? BigInt(spec.whole) : new Fraction(BigInt(spec.over[0]), BigInt(spec.over[1]));
}

function gcd(a: bigint, b: bigint): bigint {
  while (b) [a, b] = [b, a % b];
  return a || 1n;
}

// ── values as text ──
/** As tables show it: text as it is, T and F, whole numbers, and fractions as a/b. */
export function shownAtom(value: Atom): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "T" : "F";
  if (typeof value === "bigint") return String(value);
  return value.under === 1n ? String(value.over) : `${value.over}/${value.under}`;
}

/** As labels have it: a truth value among numbers is 0 or 1. */
export function shownValue(value: Atom, numeric: boolean): string {
  return numeric && typeof value === "boolean" ? String(Number(value)) : shownAtom(value);
}

/** As RASP text writes it: `"a"`, `True`, `3`, `0.5`, and `1/3` where no decimal is exact. */
export function shown(value: Atom): string {
  if (typeof value === "string") return `"${value}"`;
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "bigint") return String(value);
  if (value.under === 1n) return `${value.over}.0`;
  let [digits, rest] = [0, value.under];
  while ([0n, 2n, 4n, 5n, 6n, 8n].includes(rest % 10n) && rest > 1n && digits < 60) {
    rest /= gcd(rest, 10n);
    digits++;
  }
  if (rest !== 1n) return shownAtom(value);
  const size = value.over < 0n ? -value.over : value.over;
  const decimal = String((size * 10n ** BigInt(digits)) / value.under).padStart(digits + 1, "0");
  return `${value.over < 0n ? "-" : ""}${decimal.slice(0, -digits)}.${decimal.slice(-digits)}`;
}

function kind(value: Atom): string {
  if (typeof value === "string") return "text";
  if (typeof value === "boolean") return "truth value";
  return typeof value === "bigint" ? "whole number" : "float";
}

function refused(word: string, ...values: Atom[]): ValueRefused {
  return new ValueRefused(`'${word}' cannot be applied to ${values.map((v) => `the ${kind(v)} ${shown(v)}`).join(" and ")}`);
}

// ── numbers ──
function whole(value: Whole | boolean): Whole {
  return typeof value === "boolean" ? BigInt(value) : value;
}

function fraction(value: Num): Fraction {
  return value instanceof Fraction ? value : new Fraction(whole(value));
}

/** An operation on two numbers: on whole numbers as such, otherwise on fractions. */
function exactly(a: Num, b: Num, wholes: (a: Whole, b: Whole) => Whole, fractions: (a: Fraction, b: Fraction) => Fraction): Num {
  if (a instanceof Fraction || b instanceof Fraction) return fractions(fraction(a), fraction(b));
  return wholes(whole(a), whole(b));
}

function two(sign: string, a: Atom, b: Atom): [Num, Num] {
  if (typeof a === "string" || typeof b === "string") throw refused(sign, a, b);
  return [a, b];
}

/** The largest whole number that is not larger than a quotient. */
function floored(a: Whole, b: Whole): Whole {
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

function floorOf(a: Fraction, b: Fraction): Whole {
  return floored(a.over * b.under, a.under * b.over);
}

function isZero(value: Num): boolean {
  return value instanceof Fraction ? value.over === 0n : !value;
}

function bits(number: Whole): number {
  const digits = absolute(number).toString(16); // of powers of 2 the digits are found in linear time
  return digits === "0" ? 0 : 4 * (digits.length - 1) + parseInt(digits[0]!, 16).toString(2).length;
}

function bounded(value: Num): Num {
  const { over, under } = fraction(value);
  if (bits(over) + bits(under) > MOST_BITS) throw tooManyDigits();
  return value;
}

function tooManyDigits(): ValueRefused {
  return new ValueRefused(`the number has more than ${thousands(MOST_BITS)} binary digits`);
}

function tooLong(): ValueRefused {
  return new ValueRefused(`the text has more than ${thousands(MOST_LETTERS)} characters`);
}

/** The number of characters, as Python counts them. */
function letters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** The sum of numbers divided by how many they are. */
export function mean(values: Atom[]): Fraction {
  let sum: Num = 0n;
  for (const value of values) sum = plus(sum, value as Num);
  const { over, under } = fraction(sum);
  return new Fraction(over, under * BigInt(values.length));
}

function plus(a: Num, b: Num): Num {
  return exactly(a, b, (x, y) => x + y, (x, y) => new Fraction(x.over * y.under + y.over * x.under, x.under * y.under));
}

function times(a: Num, b: Num): Num {
  return exactly(a, b, (x, y) => x * y, (x, y) => new Fraction(x.over * y.over, x.under * y.under));
}

function negated(a: Num): Num {
  return a instanceof Fraction ? new Fraction(-a.over, a.under) : -whole(a);
}

function power(a: Atom, b: Atom): Atom {
  const [base, exponent] = two("^", a, b).map(fraction) as [Fraction, Fraction];
  if (base.over === 0n && exponent.over < 0n) throw new ValueRefused("division by zero: a power of 0 with a negative exponent");
  const size = Math.max(bits(base.over), bits(base.under));
  if (size > 1 && BigInt(size) * absolute(exponent.over) > BigInt(MOST_BITS) * exponent.under) throw tooManyDigits();
  if (exponent.under === 1n) {
    const made = raised(base, exponent.over);
    return a instanceof Fraction || b instanceof Fraction || exponent.over < 0n ? made : made.over;
  }
  if (base.over < 0n) throw new ValueRefused(`${shown(a)} ^ ${shown(b)} is not a real number`);
  const [over, under] = [root(base.over, exponent.under), root(base.under, exponent.under)];
  if (over === null || under === null) throw new ValueRefused(`${shown(a)} ^ ${shown(b)} is irrational, and values are exact`);
  return raised(new Fraction(over, under || 1n), exponent.over);
}

function raised({ over, under }: Fraction, exponent: Whole): Fraction {
  if (exponent >= 0n) return new Fraction(rise(over, exponent), rise(under, exponent));
  return new Fraction(rise(under, -exponent), rise(over, -exponent));
}

/** A power; of 0, 1 and -1 also one that is too large to be counted out. */
function rise(base: Whole, exponent: Whole): Whole {
  if (base === 0n || base === 1n) return exponent === 0n ? 1n : base;
  return base === -1n ? (exponent % 2n ? -1n : 1n) : base ** exponent;
}

function absolute(number: Whole): Whole {
  return number < 0n ? -number : number;
}

/** The whole root of a number that is not negative; null: it is irrational. */
function root(number: Whole, degree: Whole): Whole | null {
  if (number < 2n) return number;
  if (degree >= BigInt(bits(number))) return null; // 2 ** degree is larger
  let [low, high] = [0n, 1n << (BigInt(bits(number)) / degree + 1n)];
  while (low < high) {
    const middle = (low + high) / 2n;
    if (middle ** degree < number) low = middle + 1n;
    else high = middle;
  }
  return low ** degree === number ? low : null;
}

/** The nearest whole number; of two, the even one. */
function rounded(a: Num): Whole {
  if (!(a instanceof Fraction)) return whole(a);
  const below = floored(a.over, a.under);
  const twice = 2n * (a.over - below * a.under);
  if (twice === a.under) return below % 2n === 0n ? below : below + 1n;
  return twice < a.under ? below : below + 1n;
}

/** The float that is nearest to a number, the even one of two; infinite if it is too large. */
export function nearest(value: Num): number {
  if (!(value instanceof Fraction)) return Number(whole(value));
  const { under } = value;
  const over = absolute(value.over);
  if (!over) return 0;
  // a quotient of at least 66 bits, whose last one says whether anything is left, is rounded once, by Number
  const shift = BigInt(Math.max(0, 66 - bits(over) + bits(under)));
  const scaled = over << shift;
  const quotient = scaled / under;
  const sticky = scaled % under ? quotient | 1n : quotient;
  const size = shift > 1000n ? tiny(sticky, shift) : Number(sticky) / 2 ** Number(shift);
  return value.over < 0n ? -size : size;
}

/** A number divided by a large power of 2, rounded once also where floats are subnormal. */
function tiny(number: Whole, shift: Whole): number {
  const spare = BigInt(Math.max(0, Number(shift) - 1074));
  const kept = number >> spare;
  const half = spare ? (number >> (spare - 1n)) & 1n : 0n;
  const rest = spare > 1n ? number & ((1n << (spare - 1n)) - 1n) : 0n;
  const up = half && (rest || (kept & 1n)) ? 1n : 0n;
  const fits = bits(number) - Number(shift) > -1022;
  if (fits) return (Number(number) / 2 ** 1000) / 2 ** (Number(shift) - 1000);
  return Number(kept + up) * 2 ** -1074;
}

// ── comparing ──
/** Whether two values are equal, as Python has it: True is 1, and 1 is 1.0. */
export function equal(a: Atom, b: Atom): boolean {
  if (typeof a === "string" || typeof b === "string") return a === b;
  const [x, y] = [fraction(a), fraction(b)];
  return x.over === y.over && x.under === y.under;
}

/** Equal values have the same key. */
export function keyOf(value: Atom): string {
  if (typeof value === "string") return `"${value}`;
  const { over, under } = fraction(value);
  return `${over.toString(16)}/${under.toString(16)}`;
}

/** Below 0, 0 or above, as the first of two values of one kind is less than the second, equal, or greater. */
function order(a: Atom, b: Atom): number {
  if (typeof a === "string" && typeof b === "string") return byCodePoint(a, b);
  const [x, y] = [fraction(a as Num), fraction(b as Num)];
  const difference = x.over * y.under - y.over * x.under;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Python compares texts by code points, JavaScript by halves of them. */
function byCodePoint(a: string, b: string): number {
  const [x, y] = [[...a], [...b]];
  for (let n = 0; n < Math.min(x.length, y.length); n++) if (x[n] !== y[n]) return x[n]!.codePointAt(0)! - y[n]!.codePointAt(0)!;
  return x.length - y.length;
}

function compare(sign: string, holds: (order: number) => boolean): Binary {
  return (a, b) => {
    if ((typeof a === "string") !== (typeof b === "string")) throw refused(sign, a, b);
    return holds(order(a, b));
  };
}

/** Whether Python takes a value as true. */
export function truthy(value: Atom): boolean {
  return typeof value === "string" ? value !== "" : !isZero(value);
}

// ── operators ──
type Unary = (a: Atom) => Atom;
type Binary = (a: Atom, b: Atom) => Atom;

function number(word: string, of: (a: Num) => Num): Unary {
  return (a) => {
    if (typeof a === "string") throw refused(word, a);
    return of(a);
  };
}

export const UNARY: Record<string, Unary> = {
  not: (a) => !truthy(a),
  neg: number("-", negated),
  pos: number("+", (a) => (a instanceof Fraction ? a : whole(a))),
  round: number("round", rounded),
  indicator: (a) => (truthy(a) ? 1n : 0n),
};

export const BINARY: Record<string, Binary> = {
  "+": (a, b) => {
    if (typeof a === "string" && typeof b === "string") {
      if (letters(a) + letters(b) > MOST_LETTERS) throw tooLong();
      return a + b;
    }
    return plus(...two("+", a, b));
  },
  "-": (a, b) => {
    const [x, y] = two("-", a, b);
    return plus(x, negated(y));
  },
  "*": (a, b) => {
    const [text, count] = typeof a === "string" ? [a, b] : [b, a];
    if (typeof text !== "string") return bounded(times(...two("*", a, b)));
    if (typeof count === "string" || count instanceof Fraction) throw refused("*", a, b);
    const many = whole(count) < 0n ? 0n : whole(count);
    if (BigInt(letters(text)) * many > BigInt(MOST_LETTERS)) throw tooLong();
    return text ? text.repeat(Number(many)) : "";
  },
  "/": (a, b) => {
    const [x, y] = two("/", a, b).map(fraction) as [Fraction, Fraction];
    if (isZero(y)) throw new ValueRefused("division by zero");
    return new Fraction(x.over * y.under, x.under * y.over);
  },
  "//": (a, b) => {
    const [x, y] = two("//", a, b);
    if (isZero(y)) throw new ValueRefused("division by zero");
    return exactly(x, y, floored, (p, q) => new Fraction(floorOf(p, q)));
  },
  "%": (a, b) => {
    const [x, y] = two("%", a, b);
    if (isZero(y)) throw new ValueRefused("remainder of a division by zero");
    return exactly(
      x,
      y,
      (p, q) => p - q * floored(p, q),
      (p, q) => fraction(plus(p, negated(times(q, floorOf(p, q))))),
    );
  },
  "^": power,
  "==": equal,
  "<": compare("<", (order) => order < 0),
  "<=": compare("<=", (order) => order <= 0),
  ">": compare(">", (order) => order > 0),
  ">=": compare(">=", (order) => order >= 0),
  and: (a, b) => truthy(a) && truthy(b),
  or: (a, b) => truthy(a) || truthy(b),
};

/** Of `select`: of a key and a query. */
export const RELATIONS: Record<string, Binary> = { ...BINARY, "!=": (a, b) => !equal(a, b) };

/** Whether these may be a sequence: all of them texts, or none. */
export function oneType(values: Atom[]): boolean {
  return values.every((value) => (typeof value === "string") === (typeof values[0] === "string"));
}

/** Whether a mean may be taken of some of these: numbers, not all of them truth values. */
export function averaged(values: Atom[]): boolean {
  return !values.some((value) => typeof value === "string") && !values.every((value) => typeof value === "boolean");
}
