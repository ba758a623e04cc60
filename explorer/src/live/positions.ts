// Position features by name, as tm2tfr/transformer/positions.py has them.

/** A position feature of position i of n. */
export type Feature = (i: number, n: number) => number;

/** A whole number, i, n, an operator, or `["^", k]` and `["in", k, …]`: a step of a stack machine, see tm2tfr/transformer/expressions.py. */
export type Step = number | string | [string, ...number[]];

/** What computes a feature that is written as an expression in i and n, and a bound on its absolute values. */
export interface Expression {
  steps: Step[];
  largest: number;
}

/** By the name of a feature, which is the text of the expression. */
export type Expressions = Record<string, Expression>;

/** A fraction of two whole numbers below 2^53, on which floats compute exactly; the second one is positive. */
type Ratio = [number, number];

const FEATURES: Record<string, Feature> = {
  "1/(i+1)": (i) => 1 / (i + 1),
  "1": () => 1,
  i: (i) => i,
  "i^2": (i) => i * i,
  "prime(i)": (i) => Number(isPrime(i)),
  "square(i)": (i) => Number(Math.round(Math.sqrt(i)) ** 2 === i),
  "power of 2(i)": (i) => Number(i > 0 && (i & (i - 1)) === 0),
  "(-1)^i": (i) => 1 - 2 * (i % 2),
};
const MODULO = /^i mod ([1-9][0-9]*) = (0|[1-9][0-9]*)$/;
const OPERATORS: Record<string, (left: Ratio, right: Ratio) => Ratio> = {
  "+": ([a, b], [c, d]) => [a * d + c * b, b * d],
  "-": ([a, b], [c, d]) => [a * d - c * b, b * d],
  "*": ([a, b], [c, d]) => [a * c, b * d],
  "/": ([a, b], [c, d]) => [a * d * Math.sign(c), b * Math.abs(c)],
  "%": ([a], [c]) => [c === 0 ? a : ((a % c) + c) % c, 1], // of whole numbers; with the sign of c
  "=": (left, right) => truth(difference(left, right) === 0),
  "!=": (left, right) => truth(difference(left, right) !== 0),
  "<": (left, right) => truth(difference(left, right) < 0),
  "<=": (left, right) => truth(difference(left, right) <= 0),
  ">": (left, right) => truth(difference(left, right) > 0),
  ">=": (left, right) => truth(difference(left, right) >= 0),
  "&": ([a], [c]) => truth(a !== 0 && c !== 0),
  "|": ([a], [c]) => truth(a !== 0 || c !== 0),
};

/** The position feature of this name. */
export function feature(name: string, expressions: Expressions): Feature {
  if (Object.hasOwn(expressions, name)) {
    const { steps } = expressions[name]!;
    return (i, n) => computed(steps, i, n);
  }
  if (Object.hasOwn(FEATURES, name)) return FEATURES[name]!;
  const found = MODULO.exec(name);
  if (!found) throw new Error(`unknown position feature '${name}'`);
  const [modulus, remainder] = [Number(found[1]), Number(found[2])];
  return (i) => Number(i % modulus === remainder);
}

/** The largest absolute value of a feature at the positions from 0 to i, or a bound on it. */
export function largest(name: string, i: number, expressions: Expressions): number {
  if (Object.hasOwn(expressions, name)) return expressions[name]!.largest;
  return name === "i" || name === "i^2" ? feature(name, expressions)(i, i + 1) : 1;
}

/** Whether a feature depends on the length. */
export function ofLength(name: string, expressions: Expressions): boolean {
  return Object.hasOwn(expressions, name) && expressions[name]!.steps.includes("n");
}

/** An expression at position i of n. */
function computed(steps: Step[], i: number, n: number): number {
  const stack: Ratio[] = [];
  for (const step of steps) {
    if (step === "i" || step === "n") stack.push([step === "i" ? i : n, 1]);
    else if (typeof step === "number") stack.push([step, 1]);
    else {
      const right = stack.pop()!;
      if (step === "!") stack.push(truth(right[0] === 0));
      else if (typeof step === "string") stack.push(OPERATORS[step]!(stack.pop()!, right));
      else if (step[0] === "^") stack.push([right[0] ** (step[1] as number), right[1] ** (step[1] as number)]);
      else stack.push(truth(step.slice(1).some((value) => right[0] === (value as number) * right[1])));
    }
  }
  const [above, below] = stack.pop()!;
  return above / below + 0; // -0 is 0
}

function difference([a, b]: Ratio, [c, d]: Ratio): number {
  return a * d - c * b;
}

function truth(holds: boolean): Ratio {
  return [Number(holds), 1];
}

function isPrime(i: number): boolean {
  for (let divisor = 2; divisor * divisor <= i; divisor++) if (i % divisor === 0) return false;
  return i > 1;
}
