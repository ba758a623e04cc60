// The history of writes: the tape at any position, according to the prompt and the decoder's own tokens.

import type { Run } from "./data";

/** The number of cells that are kept between the head and the end of what is shown. */
const MARGIN = 3;

/** Some cells of the tape: the symbols starting at a cell, and the one under the head, null if it is not among them. */
export interface Stretch {
  cells: string[];
  head: number | null;
  cut: boolean;
}

export class History {
  /** The first and the last cell of the input and of the head's path. */
  readonly lowest: number;
  readonly highest: number;
  private readonly writes = new Map<number, { at: number[]; symbol: string[] }>();

  constructor(
    private readonly run: Run,
    private readonly blank: string,
  ) {
    const { rows, spec } = run;
    const word = spec.prompt - spec.lead;
    for (let n = 0; n < word; n++) this.write(n, -1, rows.fed(spec.lead + n));
    let [lowest, highest] = [0, Math.max(0, word - 1)];
    for (let n = 0; n < run.count; n++) {
      const cell = this.written(n);
      if (cell !== null) this.write(cell, n, rows.text("b", n)!);
      const h = rows.number("h", n);
      if (Number.isInteger(h)) [lowest, highest] = [Math.min(lowest, h), Math.max(highest, h)];
    }
    [this.lowest, this.highest] = [lowest, highest];
  }

  /** The cell that the token at position i writes, null if there is none. */
  written(i: number): number | null {
    const { rows, spec } = this.run;
    if (i <= spec.prompt || rows.text("b", i) === null) return null;
    const cell = rows.number("h", i - 1);
    return Number.isInteger(cell) ? cell : null;
  }

  /** The content of a cell before step i, undefined if nothing was ever written there. */
  symbol(cell: number, i: number): string | undefined {
    const writes = this.writes.get(cell);
    if (!writes) return undefined;
    let [low, high] = [0, writes.at.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (writes.at[middle]! <= i) low = middle + 1;
      else high = middle;
    }
    return writes.symbol[low - 1];
  }

  /** The length of the longest symbol. */
  widest(): number {
    let longest = this.blank.length;
    for (const { symbol } of this.writes.values()) for (const text of symbol) longest = Math.max(longest, text.length);
    return longest;
  }

  /** The stretch of at most this many cells that each row of the table shows, as `tm2tfr trace` chooses it. */
  stretches(window: number): (i: number) => Stretch | null {
    const { run, lowest, highest, blank } = this;
    const size = Math.min(window, highest - lowest + 1);
    const margin = Math.min(MARGIN, (size - 1) >> 1);
    const firsts = new Float64Array(run.count);
    let first = lowest;
    for (let n = run.spec.prompt + 1; n < run.count; n++) {
      const h = run.rows.number("h", n);
      if (Number.isInteger(h)) {
        first = Math.min(Math.max(first, h + margin + 1 - size), h - margin);
        first = Math.max(lowest, Math.min(first, highest + 1 - size));
      }
      firsts[n] = first;
    }
    return (i) => {
      if (!run.generated(i)) return null;
      const [from, h] = [firsts[i]!, run.rows.number("h", i)];
      const cells = Array.from({ length: size }, (_, k) => this.symbol(from + k, i) ?? blank);
      return { cells, head: Number.isInteger(h) ? h - from : null, cut: from > lowest || lowest < 0 };
    };
  }

  private write(cell: number, at: number, symbol: string): void {
    const writes = this.writes.get(cell) ?? { at: [], symbol: [] };
    writes.at.push(at);
    writes.symbol.push(symbol);
    this.writes.set(cell, writes);
  }
}
