// The data of the page: JSON, and columns of numbers in one deflated buffer (tm2tfr/web/explorer/document.py writes both).

import type { Claims } from "./broken/cause";
import { inSight } from "./live/attention";
import type { DecoderSpec, Mask } from "./live/decoder";
import type { BoxSpec } from "./live/inputs";
import type { ReadSpec } from "./live/readout";
import type { Reference } from "./live/truth/reference";
import type { SequenceSpec } from "./sequence/spec";

export interface Place {
  type: "u1" | "i1" | "u2" | "i2" | "i4" | "f8";
  at: number;
  count: number;
}

export type Numbers = Uint8Array | Int8Array | Uint16Array | Int16Array | Int32Array | Float64Array;

export interface ColumnSpec {
  values: Place;
  others?: Record<string, (number | string)[]>;
}

/** A column of the table, without the position's: the first is the token at the position, the last the answer. */
export interface Heading {
  name: string;
  title: string;
  number: boolean;
  /** Whether a positive number has a sign. */
  signed: boolean;
}

/** By the name of a column. */
export type SheetSpec = Record<string, Place>;

export interface SeenSpec {
  winner: Place;
  count: Place;
  score: Place;
  runner: Place;
  runner_score: Place;
}

export interface HeadSpec {
  name: string;
  source: string;
  score: string;
  moves: [string, string][];
  mask: Mask;
  /** What the weights claim of the positions that it attends to; empty if they claim nothing. */
  claim: string;
  /** By position; in a loop those of its first pass, then those of the next. In `sharers` positions count on in the same way. */
  seen: SeenSpec | null;
  sharers?: Record<string, number[]>;
  /** Of a head with softmax: for each position in turn, the weights of the positions in its sight. */
  weights?: Place;
}

export interface LayerSpec {
  name: string;
  meaning: string;
  source: string;
  equation: string;
  units: number;
  /** The weights as `tm2tfr.listing` writes them, where the page has no others. */
  weights: Place | null;
  heads: HeadSpec[];
}

export interface SubspaceSpec {
  name: string;
  labels: string[] | null;
}

export interface DivergenceSpec {
  position: number;
  column: string;
  expected: string;
  found: string;
  cause: string[];
}

export interface RunSpec {
  T: number | null;
  agrees: boolean | null;
  compared: number;
  engine: string;
  dtype: string;
  answer: string;
  /** The kind of source of the run, and its reference: a machine and its simulator, a circuit and its evaluator. */
  noun: string;
  reference: string;
  /** The outputs of a circuit in words, if the run was checked. */
  result: string;
  /** Whether the run answers at every position of its input, by outputs, and generates nothing: RASP, formulas, automata. */
  labels: boolean;
  /** The attention in words where heads have softmax of their own; empty for hard attention. */
  softmax: string;
  /** Whether a token of its own ends the prompt. */
  bos: boolean;
  boundary: string;
  input: string;
  /** The number of tokens before BOS, or before the first that is answered; the first `lead` of them describe the machine. */
  prompt: number;
  lead: number;
  /** The layer and the head, both from 0, that find a rule in the prompt; null if none does. */
  finds: [number, number] | null;
  count: number;
  columns: Heading[];
  /** Whether the rows tell what is on a tape: they have the columns b and h of a Turing machine. */
  tape: boolean;
  rows: SheetSpec;
  expected: SheetSpec | null;
  checked: number;
  /** By the name of a column, 1 for each cell of which the reference says nothing; a column without such cells is left out. */
  unspecified: SheetSpec;
  divergence: DivergenceSpec | null;
  /** Whether the page stopped it some positions after the divergence, for its weights are changed. */
  stopped?: boolean;
  stop: string[];
  layers: LayerSpec[];
  /** The layers, from 0, in the order in which they ran, each with its pass, from 1; 0 where no loop runs it. */
  steps: [number, number][];
  /** The first and the last layer of each loop, from 0. */
  loops: [number, number][];
  subspaces: SubspaceSpec[];
  stages: [number, ColumnSpec][][];
  texts: string[];
  /** The weights, or why the page cannot run them. */
  decoder: DecoderSpec | { none: string };
  live: LiveSpec;
}

/** What the page needs to record another run of the same weights. */
export interface LiveSpec {
  /** What the weights claim; null where there is no model of the stream. */
  claims: Claims | null;
  /** Whether the recorded run was compared with a reference, be it in the page or not. */
  compared: boolean;
  /** How the cells of each column are read. */
  readout: ReadSpec[];
  /** The reference; null if there is none. */
  reference: Reference | null;
  /** How texts are shown that are not shown as they are. */
  shown: Record<string, string>;
}

export interface MachineSpec {
  name: string;
  description: string;
  tape: "one-way" | "two-way";
  blank: string;
  states: { name: string; end: string | null }[];
  /** [state, symbol read, new state, symbol written, move, line of the arrow's label] */
  rules: [number, string, number, string, number, number][];
  graph: DrawingSpec;
}

export interface CircuitSpec {
  name: string;
  /** The number of inputs, whose nets come first. */
  inputs: number;
  nets: string[];
  /** What gates do: a name, and the bits of the truth table. */
  functions: { name: string; table: string }[];
  /** The function of each gate. */
  kinds: Place;
  /** The nets of the first, the second and the third operand of each gate; -1: there is none. */
  operands: Place[];
  /** [name, net] */
  outputs: [string, number][];
  graph: DrawingSpec;
}

/** A drawing of the program, for kinds without a view of their own. */
export interface PictureSpec {
  /** What is drawn: `state graph of the automaton`. */
  name: string;
  graph: DrawingSpec;
  /** What is marked at a position: by the cell of a column, a node; and the node before position 0. */
  marks: { column: string; nodes: Record<string, string>; start: string } | null;
}

/** A drawing, or the text that the page draws itself, or the reason why there is none. */
export interface DrawingSpec {
  svg?: Place;
  dot?: string;
  none?: string;
}

/** The model of the source, as `tm2tfr explain --to json` writes it; layers count from 1, and the embedding is layer 0. */
export interface ModelSpec {
  variables: { name: string; meaning: string; formula: string; source: string; stored: boolean; since: { layer: number; part: string }; read_by: string }[];
  patterns: { name: string; claim: string; meaning: string; formula: string; source: string }[];
}

export interface PageData {
  title: string;
  machine: MachineSpec | null;
  circuit: CircuitSpec | null;
  /** The nodes of a program that answers at every position: RASP, a formula, an automaton. */
  sequence: SequenceSpec | null;
  drawing: PictureSpec | null;
  /** null: the page knows no source, or its kind has no model with equations. */
  model: ModelSpec | null;
  runs: RunSpec[];
  box: BoxSpec;
  /** How many inputs were searched in vain for one on which two runs differ. */
  searched?: number | null;
}

/** The size of what a cell should be, relative to what it is. */
const DUE = 0.8;

export type Buffers = (place: Place) => Numbers;

/** Undo zlib and base64. */
export async function unpacked(text: string): Promise<Buffers> {
  const bytes = Uint8Array.from(atob(text.trim()), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  return (place) => column(buffer, place);
}

/** A long text, which is stored as the column of its bytes. */
export function textAt(buffers: Buffers, place: Place): string {
  return new TextDecoder().decode(buffers(place) as Uint8Array);
}

function column(buffer: ArrayBuffer, { type, at, count }: Place): Numbers {
  const width = Number(type[1]);
  const part = buffer.slice(at, at + width * count);
  switch (type) {
    case "u1":
      return new Uint8Array(part);
    case "i1":
      return new Int8Array(part);
    case "u2":
      return new Uint16Array(part);
    case "i2":
      return new Int16Array(part);
    case "i4":
      return new Int32Array(part);
    case "f8": {
      // all first bytes come first, then all second bytes, and so on
      const planes = new Uint8Array(part);
      const bytes = new Uint8Array(planes.length);
      for (let plane = 0; plane < 8; plane++)
        for (let n = 0; n < count; n++) bytes[8 * n + plane] = planes[plane * count + n]!;
      return new Float64Array(bytes.buffer);
    }
  }
}

/** The rows of the table, cell by cell as text, null for ⊥. */
export class Sheet {
  private readonly columns: Map<string, { heading: Heading; values: Numbers }>;
  private readonly token: string;
  private readonly answered: string;

  constructor(
    spec: SheetSpec,
    headings: Heading[],
    buffers: Buffers,
    private readonly texts: string[],
  ) {
    this.columns = new Map(headings.map((heading) => [heading.name, { heading, values: buffers(spec[heading.name]!) }]));
    this.token = headings[0]!.name;
    this.answered = headings.at(-1)!.name;
  }

  /** The token at position i. */
  fed(i: number): string {
    return this.text(this.token, i) ?? "⊥";
  }

  /** The token answered at position i. */
  answer(i: number): string {
    return this.text(this.answered, i) ?? "⊥";
  }

  number(column: string, i: number): number {
    return this.columns.get(column)!.values[i]!;
  }

  text(column: string, i: number): string | null {
    const n = this.columns.get(column)!.values[i]!;
    return n === 0 ? null : this.texts[n - 1]!;
  }

  /** A cell as the table writes it. */
  cell(column: string, i: number): string {
    const { number, signed } = this.columns.get(column)!.heading;
    if (!number) return this.text(column, i) ?? "⊥";
    const value = this.number(column, i);
    return signed && value > 0 ? `+${value}` : String(value).replace("-", "−");
  }

  /** The length of the longest text in a column. */
  widest(column: string): number {
    const { heading, values } = this.columns.get(column)!;
    if (heading.number) {
      let longest = 2;
      for (const value of values) longest = Math.max(longest, String(value).length);
      return longest;
    }
    let longest = 1;
    for (const n of new Set(values)) longest = Math.max(longest, n ? this.texts[n - 1]!.length : 1);
    return longest;
  }
}

/** The content of a subspace at a position. */
export interface Value {
  /** 0: the zero vector, k + 1: the k-th label, -1: neither; of a number, the number itself. */
  readonly number: number;
  readonly coordinates: number[];
}

/** The least weight of softmax with which a head is said to look at a position. */
const LOOKS = 0.05;

/** Where a head looked at a position. */
export interface Look {
  /** Whether all positions in sight have the same score, if there are several. */
  uniform: boolean;
  /** The positions in sight: the first, and after the last. */
  sight: [number, number];
  winner: number;
  count: number;
  score: number;
  runner: number;
  runnerScore: number;
  /** The positions that share the attention; under softmax those with most of it, the largest weight first. */
  sharers: number[];
  /** Under softmax, the weights of the positions in sight; null: those attended to share the attention evenly. */
  weights: Numbers | null;
}

export class Run {
  readonly rows: Sheet;
  readonly expected: Sheet;
  /** The number of steps: layers, those of a loop once for each pass. A step counts from 0; -1 is the embedding. */
  readonly steps: number;
  private readonly stages: Map<number, { values: Numbers; others: Map<number, number[]> }>[];
  private readonly seen: ((i: number, pass: number) => Look)[][];
  /** The weights of each layer, as `tm2tfr.listing` writes them; null where the page has the weights themselves. */
  readonly weights: (string | null)[];
  private readonly unspecified: Map<string, Numbers>;

  constructor(
    readonly spec: RunSpec,
    buffers: Buffers,
  ) {
    this.rows = new Sheet(spec.rows, spec.columns, buffers, spec.texts);
    this.expected = spec.expected ? new Sheet(spec.expected, spec.columns, buffers, spec.texts) : this.rows;
    this.stages = spec.stages.map(
      (written) =>
        new Map(
          written.map(([n, { values, others }]) => [
            n,
            {
              values: buffers(values),
              others: new Map(Object.entries(others ?? {}).map(([i, row]) => [Number(i), row.map(Number)])),
            },
          ]),
        ),
    );
    this.steps = spec.steps.length;
    this.weights = spec.layers.map((layer) => layer.weights && textAt(buffers, layer.weights));
    this.unspecified = new Map(Object.entries(spec.unspecified).map(([name, place]) => [name, buffers(place)]));
    this.seen = spec.layers.map((layer) => layer.heads.map((head) => looks(head, spec.count, buffers)));
  }

  get count(): number {
    return this.spec.count;
  }

  /** The position that answers the prompt, with the first token that the decoder generates. */
  get turn(): number {
    return this.spec.bos ? this.spec.prompt : this.spec.prompt - 1;
  }

  /** Whether position i carries a token that the decoder generated. */
  generated(i: number): boolean {
    return i > this.turn;
  }

  /** Whether the run ends with the answer at position i. */
  ends(i: number): boolean {
    return this.spec.stop.includes(this.rows.answer(i)) || (!this.spec.stop.length && this.spec.T !== null && i === this.count - 1);
  }

  /** Where a head of the layer of a step looks from position i. */
  look(step: number, head: number, i: number): Look {
    const [layer, pass] = this.spec.steps[step]!;
    return this.seen[layer]![head]!(i, pass);
  }

  /** The layer of a step, from 0; -1 for the embedding, the number of layers for what comes after the last. */
  layerOf(step: number): number {
    return step < 0 ? -1 : (this.spec.steps[step]?.[0] ?? this.spec.layers.length);
  }

  /** The step of each layer that goes with a chosen step: in the loop of that one the same pass, in any other the last. */
  stepsWith(chosen: number): number[] {
    const { steps, loops, layers } = this.spec;
    const [layer, pass] = steps[chosen] ?? [-1, 0];
    const loop = loops.find(([first, last]) => first <= layer && layer <= last) ?? [0, -1];
    return layers.map((_, n) => steps.findLastIndex(([each, at]) => each === n && (at === pass || n < loop[0] || n > loop[1])));
  }

  /** The number of passes that a layer ran in; 0: no loop runs it. */
  passes(layer: number): number {
    return this.spec.steps.findLast(([each]) => each === layer)?.[1] ?? 0;
  }

  /** What the cell should be, if the check found a difference; undefined if it is right or unchecked. */
  wrong(column: string, i: number): string | undefined {
    if (!this.spec.divergence || this.free(column, i)) return undefined;
    if (i >= this.spec.checked) return column === this.spec.columns[0]!.name ? "⊥" : undefined;
    const due = this.expected.cell(column, i);
    return due === this.rows.cell(column, i) ? undefined : due;
  }

  /** The length of the longest text in a column of the table; below it a wrong cell says what it should be. */
  widest(column: string): number {
    let longest = this.rows.widest(column);
    for (let i = this.spec.divergence?.position ?? this.count; i < this.count; i++) {
      const due = this.wrong(column, i);
      if (due !== undefined) longest = Math.max(longest, DUE * (due.length + 2));
    }
    return longest;
  }

  /** Whether a cell was compared with anything. */
  compared(column: string, i: number): boolean {
    return i < this.spec.checked && !this.free(column, i);
  }

  /** Whether the reference says nothing of a cell. */
  private free(column: string, i: number): boolean {
    return Boolean(this.unspecified.get(column)?.[i]);
  }

  /** Subspace n after a stage (0: the embedding; then attention and feed-forward of each layer in turn). */
  value(n: number, stage: number, i: number): Value {
    const subspace = this.spec.subspaces[n]!;
    for (let s = Math.min(stage, 2 * this.steps); s >= 0; s--) {
      const column = this.stages[s]!.get(n);
      if (!column) continue;
      const number = column.values[i]!;
      if (!subspace.labels) return { number, coordinates: [number] };
      const coordinates = column.others.get(i) ?? subspace.labels.map((_, k) => (k + 1 === number ? 1 : 0));
      return { number, coordinates };
    }
    return { number: 0, coordinates: subspace.labels ? subspace.labels.map(() => 0) : [0] };
  }

  /** Whether a step (-1: the embedding) changed subspace n at position i. */
  changed(n: number, step: number, i: number): boolean {
    if (step >= this.steps) return false;
    const after = this.value(n, 2 * step + 2, i).coordinates;
    if (step < 0) return after.some((value) => value !== 0);
    const before = this.value(n, 2 * step, i).coordinates;
    return after.some((value, k) => !Object.is(value, before[k]) && value !== before[k]);
  }
}

function looks({ mask, seen, sharers, weights: all }: HeadSpec, positions: number, buffers: Buffers): (i: number, pass: number) => Look {
  const sight = (i: number) => inSight(mask, i, positions);
  if (!seen) {
    return (i) => {
      const [start, end] = sight(i);
      return { uniform: true, sight: [start, end], winner: start, count: end - start, score: 0, runner: -1, runnerScore: 0, sharers: [], weights: null };
    };
  }
  const [winner, count, score, runner, runnerScore] = (["winner", "count", "score", "runner", "runner_score"] as const).map((name) => buffers(seen[name]));
  const soft = all ? buffers(all) : null;
  const starts = [0];
  for (let i = 0; soft && i < positions; i++) starts.push(starts[i]! + sight(i)[1] - sight(i)[0]);
  return (i, pass) => {
    const n = Math.max(0, pass - 1) * positions + i;
    const [start, end] = sight(i);
    const uniform = count![n]! > 1 && count![n]! === end - start;
    const first = Math.max(0, pass - 1) * starts.at(-1)! + starts[soft ? i : 0]!;
    const weights = soft && soft.slice(first, first + end - start);
    const most = weights && mostOf(weights, start);
    return {
      uniform,
      sight: [start, end],
      winner: winner![n]!,
      count: uniform || !most ? count![n]! : most.length,
      score: score![n]!,
      runner: runner![n]!,
      runnerScore: runnerScore![n]!,
      sharers: most ?? sharers?.[n] ?? [winner![n]!],
      weights,
    };
  };
}

/** The positions with most of the weight, the largest first; start: the position of the first weight. */
function mostOf(weights: Numbers, start: number): number[] {
  const order = Array.from(weights.keys()).sort((a, b) => weights[b]! - weights[a]! || a - b);
  return order.filter((k, n) => n === 0 || weights[k]! >= LOOKS).map((k) => start + k);
}

/** The weights of the positions that a head looks at under softmax, as text: "3: 0.94, 5: 0.06". */
export function shares({ sharers, sight, weights }: Look, most = Infinity): string {
  const told = sharers.slice(0, most).map((j) => `${j}: ${hundredths(weights![j - sight[0]]!)}`);
  return told.join(", ") + (sharers.length > most ? ", …" : "");
}

function hundredths(weight: number): string {
  return weight > 0.995 && weight < 1 ? "> 0.99" : String(Number(weight.toFixed(2)));
}
