// Exact numbers: fractions of whole numbers of any size.

export interface Rational {
  above: bigint;
  /** Positive. */
  below: bigint;
}

export const ZERO: Rational = { above: 0n, below: 1n };

/** The exact value of a float. */
export function exactly(value: number): Rational {
  let below = 1n;
  while (!Number.isInteger(value)) {
    value *= 2; // exact: only the exponent changes
    below *= 2n;
  }
  return { above: BigInt(value), below };
}

/** The fraction that a float of a run stands for: one with a denominator of at most `most` that rounds to it, as shares and means do. */
export function meant(value: number, most: number): Rational {
  for (let below = 1; below <= most; below++) {
    const above = Math.round(value * below);
    if (above / below === value) return { above: BigInt(above), below: BigInt(below) };
  }
  return exactly(value);
}

export function plus(a: Rational, b: Rational): Rational {
  if (a.below === b.below) return { above: a.above + b.above, below: a.below };
  return { above: a.above * b.below + b.above * a.below, below: a.below * b.below };
}

export function times(a: Rational, b: Rational): Rational {
  return { above: a.above * b.above, below: a.below * b.below };
}

export function minus(a: Rational, b: Rational): Rational {
  return plus(a, { above: -b.above, below: b.below });
}

export function less(a: Rational, b: Rational): boolean {
  return a.above * b.below < b.above * a.below;
}

/** The nearest float, but for its last digits. */
export function nearest({ above, below }: Rational): number {
  const excess = Math.max(0, Math.min(bits(above), bits(below)) - 900);
  return Number(above >> BigInt(excess)) / Number(below >> BigInt(excess));
}

function bits(number: bigint): number {
  return 4 * (number < 0n ? -number : number).toString(16).length;
}
