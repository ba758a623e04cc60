// A run recorded from the inside, as tm2tfr/web/explorer/record.py records it: what each stage changed, and where heads look.

import type { SubspaceSpec } from "../data";
import { inSight, type Look } from "./attention";
import type { Decoder } from "./decoder";
import { type Part, type Passed, type Watch, wholeRun } from "./dense";
import { oneHot, startsOf } from "./readout";

const MOST_SHARERS = 64;
const FIRST_SIZE = 64;

/** A growing column of numbers. */
export class Growing {
  private values = new Float64Array(FIRST_SIZE);

  set(i: number, value: number): void {
    while (i >= this.values.length) {
      const larger = new Float64Array(2 * this.values.length);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[i] = value;
  }

  get(i: number): number {
    return this.values[i]!;
  }

  upto(count: number): Float64Array {
    return this.values.slice(0, count);
  }
}

/** What a subspace holds after a stage, by position: see `Value` in data.ts; `others` has the coordinates where that is -1. */
interface Column {
  values: Growing;
  others: Map<number, number[]>;
}

/** The content of a subspace at the present position, as far as it is computed. */
interface Standing {
  value: number;
  other: number[] | null;
}

/** Where a head looks, by position. */
export interface Seen {
  winner: Growing;
  count: Growing;
  score: Growing;
  runner: Growing;
  runner_score: Growing;
  sharers: Map<number, number[]>;
  /** Of a head with softmax, the weights of the positions in sight, from the first. */
  weights: Map<number, Float64Array>;
}

export class Recorder implements Watch {
  /** By step and head: see `RunSpec.steps`. */
  readonly seen: Seen[][];
  /** By stage, the columns of the subspaces that it changes anywhere. */
  readonly written: Map<number, Column>[];
  private readonly starts: number[];
  private readonly before: Float64Array;
  private readonly standing: Standing[];
  private position = -1;
  private number = 0;

  /** heads: the number of heads of the layer of each step; mostSharers: the most positions sharing a head's weight that are kept. */
  constructor(
    readonly subspaces: SubspaceSpec[],
    heads: number[],
    readonly steps: [number, number][],
    private readonly mostSharers = MOST_SHARERS,
  ) {
    this.starts = startsOf(subspaces);
    this.before = new Float64Array(this.starts.at(-1)!);
    this.standing = subspaces.map(() => ({ value: 0, other: null }));
    this.written = Array.from({ length: 1 + 2 * heads.length }, () => new Map());
    this.seen = heads.map((many) => Array.from({ length: many }, () => ({ winner: new Growing(), count: new Growing(), score: new Growing(), runner: new Growing(), runner_score: new Growing(), sharers: new Map(), weights: new Map() })));
  }

  stage(layer: number, _part: string, x: Float64Array): void {
    if (layer < 0) [this.position, this.number] = [this.position + 1, 0];
    const [here, columns, first] = [this.position, this.written[this.number]!, this.number === 0];
    for (let n = 0; n < this.subspaces.length; n++) {
      let column = columns.get(n);
      if (first || this.differs(n, x)) {
        this.standing[n] = this.content(n, x);
        column ??= this.begun(n, columns);
      }
      if (column) this.put(column, here, this.standing[n]!);
    }
    this.before.set(x);
    this.number++;
  }

  /** step: its index, which is the layer's where no loop runs it again; start: the position of the first score. */
  head(step: number, head: number, look: Look | null, start = 0): void {
    const [seen, here] = [this.seen[step]![head]!, this.position];
    const count = look ? look.attended.length : here + 1;
    const first = look ? look.attended[0]! : 0;
    const runner = look ? look.runner : -1;
    seen.winner.set(here, first);
    seen.count.set(here, count);
    seen.score.set(here, look ? look.scores[first - start]! : 0);
    seen.runner.set(here, runner);
    seen.runner_score.set(here, runner < 0 ? 0 : look!.scores[runner - start]!);
    if (look?.weights) seen.weights.set(here, look.weights);
    if (look && runner >= 0 && count > 1) seen.sharers.set(here, Array.from(look.attended.subarray(0, this.mostSharers)));
  }

  private differs(n: number, x: Float64Array): boolean {
    for (let k = this.starts[n]!; k < this.starts[n + 1]!; k++) if (x[k] !== this.before[k]) return true;
    return false;
  }

  private content(n: number, x: Float64Array): Standing {
    const { labels } = this.subspaces[n]!;
    if (labels === null) return { value: x[this.starts[n]!]!, other: null };
    if (!labels.length) return { value: 0, other: null };
    const part = x.subarray(this.starts[n]!, this.starts[n + 1]!);
    const value = oneHot(part);
    return { value, other: value < 0 ? Array.from(part) : null };
  }

  /** A column that begins here: at the positions before, the stage left the subspace as an earlier one had made it. */
  private begun(n: number, columns: Map<number, Column>): Column {
    const column = { values: new Growing(), others: new Map<number, number[]>() };
    columns.set(n, column);
    let earlier = this.number - 1;
    while (earlier >= 0 && !this.written[earlier]!.has(n)) earlier--;
    const old = earlier < 0 ? undefined : this.written[earlier]!.get(n)!;
    for (let i = 0; old && i < this.position; i++) this.put(column, i, { value: old.values.get(i), other: old.others.get(i) ?? null });
    return column;
  }

  private put(column: Column, i: number, { value, other }: Standing): void {
    column.values.set(i, value);
    if (other) column.others.set(i, other);
  }
}

/** What is shown of a whole run at a position, in order: streams after stages, and where heads look. */
interface Shown {
  stages: { layer: number; part: Part; x: Float64Array }[];
  looks: (Look | null)[];
}

/** Run a whole sequence at once, tokens by their numbers, and record it. Throws `Refused` as `wholeRun` does. */
export function recordedWhole(decoder: Decoder, given: number[], subspaces: SubspaceSpec[]): { passed: Passed[]; recorder: Recorder } {
  const shown = given.map((): Shown => ({ stages: [], looks: [] }));
  const watch = ({ stages, looks }: Shown): Watch => ({
    stage: (layer, part, x) => stages.push({ layer, part, x: x.slice() }),
    head: (_layer, _head, look) => looks.push(look && { ...look, scores: look.scores.slice() }),
  });
  const passed = wholeRun(decoder, given, new Map(shown.map((each, i) => [i, watch(each)])));
  const passes = decoder.layers.map(() => 0);
  const steps = shown[0]!.stages.flatMap(({ layer, part }): [number, number][] => {
    if (part !== "attention") return [];
    const looped = decoder.loops.some(({ first, last }) => first <= layer + 1 && layer < last);
    return [[layer, looped ? ++passes[layer]! : 0]];
  });
  const heads = steps.map(([layer]) => decoder.layers[layer]!.heads);
  const recorder = new Recorder(subspaces, heads.map(({ length }) => length), steps, given.length);
  shown.forEach(({ stages, looks }, i) => {
    for (const { layer, part, x } of stages) recorder.stage(layer, part, x);
    const each = looks.values();
    heads.forEach((those, step) => those.forEach(({ mask }, k) => recorder.head(step, k, each.next().value!, inSight(mask, i, given.length)[0])));
  });
  return { passed, recorder };
}
