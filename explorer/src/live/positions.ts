// Position features by name, as tm2tfr/transformer/positions.py has them.

export type Feature = (i: number) => number;

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

/** The position feature of this name. */
export function feature(name: string): Feature {
  if (Object.hasOwn(FEATURES, name)) return FEATURES[name]!;
  const found = MODULO.exec(name);
  if (!found) throw new Error(`unknown position feature '${name}'`);
  const [modulus, remainder] = [Number(found[1]), Number(found[2])];
  return (i) => Number(i % modulus === remainder);
}

/** The largest absolute value of a feature at the positions from 0 to i, or a bound on it. */
export function largest(name: string, i: number): number {
  return name === "i" || name === "i^2" ? feature(name)(i) : 1;
}

function isPrime(i: number): boolean {
  for (let divisor = 2; divisor * divisor <= i; divisor++) if (i % divisor === 0) return false;
  return i > 1;
}
