// The columns of a decoder's table, read off the residual stream as tm2tfr/runs/rows.py reads them.

import type { SubspaceSpec } from "../data";
import { type Decoder, isSoft } from "./decoder";
import { sixDigits } from "./python";
import type { Cell } from "./truth/reference";

/** How the cells of a column are read (tm2tfr/web/explorer/document.py writes it). */
export interface ReadSpec {
  kind: "fed" | "label" | "number" | "bits" | "answered";
  /** The number of the subspace that a label or a number is read from. */
  at: number | null;
  /** Its labels, if the page does not show them as they are. */
  labels: string[] | null;
  /** The numbers of the subspaces that bits are read from, and names for their digits. */
  bits: number[];
  names: Record<string, string>;
}

/** Under softmax a value this close to a whole number, or to a one-hot vector by coordinate, is read as such (Theorem 26). */
const NEAR = 0.25;

/** The answer of each output: a label if its logits are exactly one-hot, else their combination; or a number. */
export function answersOf(decoder: Decoder, logits: Float64Array): Cell[] {
  const soft = isSoft(decoder);
  let start = 0;
  return decoder.outputs.map(({ labels }) => {
    let values = logits.slice(start, (start += labels ? labels.length : 1));
    const whole = values.map(even);
    if (soft && values.every((value, k) => Math.abs(value - whole[k]!) <= NEAR)) values = whole;
    if (!labels) return values[0]! + 0; // -0 is 0
    const hot = labels.filter((_, k) => values[k]);
    return hot.length === 1 && values.includes(1) ? hot[0]! : combination(labels, values);
  });
}

/** The nearest whole number, the even one of two, as Python rounds. */
function even(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
}

/** Where each subspace begins in the stream, and at the end the width of the stream. */
export function startsOf(subspaces: SubspaceSpec[]): number[] {
  const starts = [0];
  for (const { labels } of subspaces) starts.push(starts.at(-1)! + (labels ? labels.length : 1));
  return starts;
}

export class Readout {
  private readonly starts: number[];

  constructor(
    private readonly columns: ReadSpec[],
    private readonly subspaces: SubspaceSpec[],
  ) {
    this.starts = startsOf(subspaces);
  }

  /** The cells of a position; x: (width,) the stream after the last layer. */
  cells(fed: string, answer: string, x: Float64Array): Cell[] {
    return this.columns.map((column) => {
      switch (column.kind) {
        case "fed":
          return fed;
        case "answered":
          return answer;
        case "bits":
          return this.bits(column, x);
        case "label":
          return label(column.labels ?? this.subspaces[column.at!]!.labels!, this.part(column.at!, x));
        case "number":
          return x[this.starts[column.at!]!]! + 0; // -0 is 0
      }
    });
  }

  private part(n: number, x: Float64Array): Float64Array {
    return x.subarray(this.starts[n]!, this.starts[n + 1]!);
  }

  private bits({ bits, names }: ReadSpec, x: Float64Array): string {
    const values = bits.map((n) => x[this.starts[n]!]!);
    const digits = values.every((value) => value === 0 || value === 1) ? values.map((value) => String(value + 0)).join("") : "";
    if (names[digits] || digits) return names[digits] ?? digits;
    return combination(bits.map((n) => this.subspaces[n]!.name), values);
  }
}

/** What a one-hot vector stands for: k + 1 for its k-th label, 0 for the zero vector, -1 for anything else. */
export function oneHot(part: Float64Array): number {
  let [best, size] = [0, 0];
  for (let k = 0; k < part.length; k++) {
    if (part[k]! > part[best]!) best = k;
    size += Math.abs(part[k]!);
  }
  if (size === 1 && part[best] === 1) return best + 1;
  return size === 0 ? 0 : -1;
}

function label(labels: string[], part: Float64Array): string | null {
  const found = oneHot(part);
  if (found > 0) return labels[found - 1]!;
  return found === 0 ? null : combination(labels, part);
}

/** A vector that is not one-hot as text: `⟨0.5·q1 + q2⟩`. */
export function combination(labels: string[], values: ArrayLike<number>): string {
  const terms = Array.from(values).flatMap((value, k) => (value ? [value === 1 ? labels[k]! : `${sixDigits(value)}·${labels[k]!}`] : []));
  return `⟨${terms.slice(0, 4).join(" + ")}${terms.length > 4 ? " + …" : ""}⟩`;
}
