// Why changed weights went wrong: the first layer and subspace with a wrong value, searched for as tm2tfr/runs/cause.py does.
//
// The reference is the stream of the unchanged weights on the tokens of the right run, as long as every cell of their table
// is right; tm2tfr check compares with the model instead. The data of the page says which subspace holds a value after which
// stage, and which heads have a known target.

import type { About, Decoder, Head } from "../live/decoder";
import { inSight, type Look } from "../live/attention";
import { Dense, type Watch, wholeRun } from "../live/dense";
import { general } from "../live/python";
import { combination, startsOf } from "../live/readout";
import { quoted, visible } from "../live/refusals";
import { exactly, less, meant, minus, nearest, plus, type Rational, times, ZERO } from "./rational";

/** What the weights claim, as far as a model knows it (tm2tfr/web/explorer/document.py writes it). */
export interface Claims {
  /** Of each subspace the number of the stage from which on it holds its value: 0 is the embedding, then attention and feed-forward of each layer in turn. */
  since: number[];
  /** Of each head of each layer whether it is known where it has to look. */
  known: boolean[][];
  /** Of each loop whether it is known how many passes it has to make. */
  loops: boolean[];
  /** Of a machine's weights the subspaces that hold the head position and the move, as shares, and the layer that looks up the position before; null of others. */
  moves: { h: number; m: number; layer: number } | null;
}

/** What the reference says of a run beside its cells. */
export interface Facts {
  /** The tokens fed, by their numbers, up to the position that is wrong. */
  tokens: number[];
  /** What a position answers, in words; null if there is nothing to say. */
  about(i: number): string | null;
  /** Where the sum of the moves is no longer the head position, with the reason (Exercise 8.3); null: nowhere up to i. */
  bump(i: number): string | null;
  /** The head position. */
  cell(i: number): number;
}

/** The most positions of a head that are searched for a wrong value. */
const MOST_PLACES = 512;
const SLACK = 8 * Number.EPSILON;

interface Looked {
  scores: Float64Array;
  /** The position of the first score. */
  start: number;
  attended: number[];
}

type Part = Parameters<Watch["stage"]>[1];

/** A stage of a run: its index among the stages, and the pass of its loop, from 1; null where no loop runs it. */
interface Stage {
  n: number;
  layer: number;
  part: Part;
  made: number | null;
}

/** A position of a run: the stream after each stage, and where each head looked, in each pass of a loop. */
class Observation implements Watch {
  readonly stages: { layer: number; part: Part; pass: number; x: Float64Array }[] = [];
  private readonly looks = new Map<string, Looked>();
  private readonly passes = new Map<string, number>();

  /** length: of the whole sequence, where it is run at once, otherwise of what there is so far. */
  constructor(
    private readonly decoder: Decoder,
    private readonly position: number,
    private readonly length: number,
  ) {}

  stage(layer: number, part: Part, x: Float64Array): void {
    const key = `${layer} ${part}`;
    const pass = this.passes.get(key) ?? 0;
    this.passes.set(key, pass + 1);
    this.stages.push({ layer, part, pass, x: x.slice() });
  }

  head(layer: number, head: number, look: Look | null): void {
    const [start, end] = inSight(this.decoder.layers[layer]!.heads[head]!.mask, this.position, this.length);
    const found = look
      ? { scores: look.scores.slice(), start, attended: [...look.attended] }
      : { scores: new Float64Array(end - start), start, attended: Array.from({ length: end - start }, (_, j) => start + j) };
    this.looks.set(`${layer} ${head} ${this.passes.get(`${layer} attention`) ?? 0}`, found);
  }

  /** Where a head looked, in a pass of its loop. */
  look(head: number, { layer, made }: Stage): Looked {
    return this.looks.get(`${layer} ${head} ${(made ?? 1) - 1}`)!;
  }
}

/** Puts the head position into the stream where the sum of the moves is not it, so that unchanged weights go on with what is right (Exercise 8.3). */
class Put implements Watch {
  private kept = 0;
  private stages = 0;

  constructor(
    private readonly at: { h: number; m: number; stage: number; before: number },
    private readonly shares: { h: number; moved: number },
    private readonly inner: Watch | undefined,
  ) {}

  stage(layer: number, part: Part, x: Float64Array): void {
    const { at, shares } = this;
    const here = this.stages++;
    if (here === at.stage) x[at.h] = shares.h;
    if (here === at.before + 1) x[at.m] = this.kept;
    this.inner?.stage(layer, part, x);
    if (here !== at.before) return;
    // heads look up where the head was before: where it is, less the move that it made
    [this.kept, x[at.m]] = [x[at.m]!, shares.moved];
  }

  head(layer: number, head: number, look: Look | null): void {
    this.inner?.head(layer, head, look);
  }
}

/** Run the unchanged weights on the tokens of the right run, and yield the session at each position; watches: who is shown which. */
export function* righted(right: Decoder, about: About, { since, moves }: Claims, { tokens, bump, cell }: Facts, watches: Map<number, Watch> = new Map()): Generator<Dense> {
  const session = new Dense(right);
  const starts = startsOf(about.layout);
  for (let i = 0; i < tokens.length; i++) {
    let watch = watches.get(i);
    if (moves && bump(i) !== null) {
      const at = { h: starts[moves.h]!, m: starts[moves.m]!, stage: since[moves.h]!, before: 2 * moves.layer };
      watch = new Put(at, { h: cell(i) / (i + 1), moved: (cell(i) - cell(i - 1)) / (i + 1) }, watch);
    }
    session.feed(tokens[i]!, watch);
    yield session;
  }
}

interface Attention {
  head: Head;
  attended: number[];
  expected: number[];
  score: number;
  due: number;
}

/** The cause of a wrong cell at the last of the positions, in lines; null if the stream is right there. */
export function causeOf(broken: Decoder, right: Decoder, about: About, claims: Claims, facts: Facts): string[] | null {
  return new Search(broken, right, about, claims, facts).cause(facts.tokens.length - 1);
}

/** The cause of a wrong answer at a position of a whole sequence, in lines; null if the stream is right everywhere. */
export function causeInWhole(broken: Decoder, right: Decoder, about: About, claims: Claims, facts: Facts, position: number): string[] | null {
  return new WholeSearch(broken, right, about, claims, facts).first(position);
}

type Seen = Map<number, Observation>;

class Search {
  protected readonly starts: number[];

  constructor(
    protected readonly broken: Decoder,
    protected readonly right: Decoder,
    protected readonly about: About,
    protected readonly claims: Claims,
    protected readonly facts: Facts,
  ) {
    this.starts = startsOf(about.layout);
  }

  /** What there is at some of the positions with the changed and with the unchanged weights. */
  protected observed(places: number[]): [Seen, Seen] {
    const [seen, due] = [this.broken, this.right].map((decoder) => new Map(places.map((i) => [i, new Observation(decoder, i, i + 1)]))) as [Seen, Seen];
    const tokens = this.facts.tokens.slice(0, Math.max(...places) + 1);
    const session = new Dense(this.broken);
    tokens.forEach((token, i) => session.feed(token, seen.get(i)));
    for (const _ of righted(this.right, this.about, this.claims, { ...this.facts, tokens }, due));
    return [seen, due];
  }

  /** The first wrong value at a position, or its cause at an earlier one; before: the number of the stage to stop at. */
  cause(position: number, before = Infinity): string[] | null {
    const [seen, due] = this.observed([position]).map((found) => found.get(position)!) as [Observation, Observation];
    for (const [n, { layer, part }] of seen.stages.slice(0, Math.min(before, seen.stages.length)).entries()) {
      const wrong = this.firstWrong(position, n, seen, due);
      if (wrong !== null) return this.told(position, { n, layer, part, made: null }, wrong, seen, due);
    }
    return null;
  }

  /** The first subspace whose value after stage n is wrong; null if there is none. share: what the smallest share of a mean is. */
  protected firstWrong(i: number, n: number, seen: Observation, due: Observation, share = 1 / (i + 1)): number | null {
    const [found, wanted] = [seen.stages[n]!.x, due.stages[n]!.x];
    for (let s = 0; s < this.about.layout.length; s++)
      for (let k = this.starts[s]!; k < this.starts[s + 1]!; k++) if (!(Math.abs(found[k]! - wanted[k]!) <= SLACK * Math.max(Math.abs(wanted[k]!), share))) return s;
    return null;
  }

  protected told(i: number, stage: Stage, s: number, seen: Observation, due: Observation): string[] {
    const { n, layer, part, made } = stage;
    const own = part === "attention" ? this.lookOf(stage, s, seen, due) : null;
    const root = own && this.root(i, layer, own);
    if (root) return root;
    const holds = 2 * layer + (part === "attention" ? 1 : 2) >= this.claims.since[s]!;
    const expected = holds ? this.words(s, this.part(due.stages[n]!.x, s)) : "0 (nothing is written there yet)";
    const where = layer < 0 ? "embedding" : `layer ${layer + 1} (${this.about.layers[layer]!.name}), ${made === null ? "" : `pass ${made}, `}${part.replace("_", "-")}`;
    const lines = [`${where} at position ${i}: ${this.about.layout[s]!.name} should be ${expected}, is ${this.words(s, this.part(seen.stages[n]!.x, s))}`];
    if (own && differ(own.attended, own.expected))
      lines.push(`head ${quoted(own.head.name)} attended to ${positionsText(own.attended)} with score ${general(own.score + 0, 17)}, should attend to ${positionsText(own.expected)} with score ${general(own.due + 0, 17)}`);
    lines.push(this.why(i, stage, s, own));
    const said = this.facts.about(i);
    if (said !== null) lines.push(said);
    return lines.map(visible);
  }

  /** Of the heads that write into a subspace, and of which it is known where they have to look, where one looked: the last that went astray, otherwise the first. */
  private lookOf(stage: Stage, s: number, seen: Observation, due: Observation): Attention | null {
    let found: Attention | null = null;
    this.broken.layers[stage.layer]!.heads.forEach((head, k) => {
      if (!this.claims.known[stage.layer]![k] || !head.output.rows.some((row) => row >= this.starts[s]! && row < this.starts[s + 1]!)) return;
      const [{ scores, start, attended }, { attended: expected }] = [seen.look(k, stage), due.look(k, stage)];
      const look = { head, attended, expected, score: scores[attended[0]! - start]!, due: scores[expected[0]! - start] ?? -Infinity };
      if (!found || differ(attended, expected)) found = look;
    });
    return found;
  }

  /** The first wrong value at the attended positions before this layer, if there is one. */
  protected root(i: number, layer: number, { attended, expected }: Attention): string[] | null {
    const places = [...new Set([...attended, ...expected])].filter((j) => j !== i).sort((a, b) => a - b);
    if (!places.length || places.length > MOST_PLACES) return null;
    const [seen, due] = this.observed(places);
    const wrong = places.find((j) => this.firstWrong(j, 2 * layer, seen.get(j)!, due.get(j)!) !== null);
    return wrong === undefined ? null : this.cause(wrong, 2 * layer + 1);
  }

  private why(i: number, stage: Stage, s: number, own: Attention | null): string {
    if (stage.layer < 0) return "the embedding weights are wrong";
    const { attentionNorm, feedForwardNorm } = this.broken.layers[stage.layer]!;
    if (!own) return `its inputs are right: the ${stage.part.replace("_", "-")} weights of this layer are wrong${orNorm(stage.part === "feed_forward" && feedForwardNorm !== null)}`;
    if (differ(own.attended, own.expected)) return this.whyElsewhere(i, stage, own);
    const remark = s === this.claims.moves?.h ? this.facts.bump(i) : null;
    return remark ?? `the head looked where it should: its value or output weights are wrong${orNorm(attentionNorm !== null)}`;
  }

  /** Distinguish rounding from wrong weights: do these query and key weights look right in exact arithmetic? */
  private whyElsewhere(i: number, { n, layer }: Stage, { head, attended, expected, score, due: dueScore }: Attention): string {
    if (this.broken.layers[layer]!.attentionNorm) return "it reads a layer norm, which is not computed in exact arithmetic: its weights are wrong, or it is rounding";
    const astray = attended.filter((j) => !expected.includes(j));
    const [, streams] = this.observed([...new Set([i, ...expected, ...astray])]);
    const exact = (j: number): Rational[] => Array.from(streams.get(j)!.stages[n - 1]!.x, (value) => meant(value, this.facts.tokens.length));
    const asked = product(head.query, exact(i));
    const best = (among: number[]) => among.map((j) => dot(asked, product(head.key, exact(j)))).reduce((most, each) => (less(most, each) ? each : most));
    const due = best(expected);
    const got = astray.length ? best(astray) : due;
    if (!less(got, due)) return "in exact arithmetic this head looks there as well: its query or key weights are wrong";
    const top = Math.max(Math.abs(score), Math.abs(dueScore));
    return `rounding: the true scores differ by ${general(nearest(minus(due, got)), 3)}, float64 numbers as large as these are ${general(spacing(top), 3)} apart: use a wider dtype, or the exact engine`;
  }

  private part(x: Float64Array, s: number): number[] {
    return [...x.subarray(this.starts[s]!, this.starts[s + 1]!)];
  }

  private words(s: number, values: number[]): string {
    const { labels } = this.about.layout[s]!;
    if (!labels) return general(values[0]!, 9);
    if (!values.some(Boolean)) return "⊥ (0)";
    const text = combination(labels, values);
    return values.filter(Boolean).length === 1 && values.includes(1) ? text.slice(1, -1) : text;
  }
}

/** The search in a sequence that is run at once: each stage at all positions, before the next one. */
class WholeSearch extends Search {
  private whole: [Seen, Seen] | null = null;

  protected override observed(): [Seen, Seen] {
    const { tokens } = this.facts;
    this.whole ??= [this.broken, this.right].map((decoder) => {
      const found = new Map(tokens.map((_, i) => [i, new Observation(decoder, i, tokens.length)]));
      wholeRun(decoder, tokens, found);
      return found;
    }) as [Seen, Seen];
    return this.whole;
  }

  /** Nothing: everything before has been looked at. */
  protected override root(): null {
    return null;
  }

  /** The first wrong value anywhere; of the positions with one after the same stage, `position` comes first. */
  first(position: number): string[] | null {
    const [seen, due] = this.observed();
    const places = [position, ...Array.from(this.facts.tokens.keys()).filter((i) => i !== position)];
    for (const stage of this.stages(seen.get(position)!, due.get(position)!, position)) {
      if (Array.isArray(stage)) return stage;
      for (const i of places) {
        const wrong = this.firstWrong(i, stage.n, seen.get(i)!, due.get(i)!, 1 / places.length);
        if (wrong !== null) return this.told(i, stage, wrong, seen.get(i)!, due.get(i)!);
      }
    }
    return null;
  }

  /** The stages in order, or the cause where a loop ends in the wrong place. Left out are stages without a head in later passes. */
  private *stages(seen: Observation, due: Observation, position: number): Generator<Stage | string[]> {
    const { loops, layers } = this.broken;
    const loopOf = (layer: number) => loops.findIndex(({ first, last }) => first <= layer + 1 && layer < last);
    const passes = loops.map((_, k) => Math.max(0, ...due.stages.filter(({ layer }) => loopOf(layer) === k).map(({ pass }) => pass + 1)));
    let [made, before] = [0, -1];
    const wrong = (k: number, ended: boolean): string[] | null => {
      if (k < 0 || !this.claims.loops[k] || !(made > passes[k]! || (ended && made !== passes[k]))) return null;
      const { last } = loops[k]!;
      const more = made > passes[k]! ? " or more" : "";
      return [
        `layer ${last} (${this.about.layers[last - 1]!.name}), feed-forward at position ${position}: the passes of loop ${k + 1} should be ${passes[k]!}, is ${made}${more}`,
        "the stream is right up to there: the loop's condition, or its number of passes, is wrong in the weights",
      ].map(visible);
    };
    for (const [n, { layer, part, pass }] of seen.stages.entries()) {
      const here = loopOf(layer);
      const ended = here !== before && wrong(before, true);
      if (ended) return yield ended;
      [before, made] = [here, pass + 1];
      const late = wrong(here, false);
      if (late) return yield late;
      if (here < 0) yield { n, layer, part, made: null };
      else if (part === "feed_forward" || !pass || layers[layer]!.heads.length) yield { n, layer, part, made };
    }
    const ended = wrong(before, true);
    if (ended) yield ended;
  }
}

/** The cause of a wrong answer at a position whose stream is right after every layer; output: the name of what is answered, empty for the next token. */
export function unembeddingCause(broken: Decoder, position: number, output: string, expected: string, found: string, about: string | null): string[] {
  const lines = [
    `unembedding at position ${position}: ${output ? `the output ${output}` : "logits"} should be ${expected}, is ${found}`,
    `the residual stream is right after every layer: the unembedding weights are wrong${orNorm(broken.norm !== null)}`,
  ];
  return (about === null ? lines : [...lines, about]).map(visible);
}

const orNorm = (normed: boolean): string => (normed ? ", or the layer norm that they read" : "");

function differ(a: number[], b: number[]): boolean {
  return a.length !== b.length || a.some((each, n) => each !== b[n]);
}

export function positionsText(positions: number[]): string {
  if (positions.length === 1) return `position ${positions[0]!}`;
  if (positions.length > 6) return `${positions.length} positions (${positions[0]!} … ${positions.at(-1)!})`;
  return `positions ${positions.join(", ")}`;
}

/** The rows of a matrix times a vector, exactly. */
function product({ rows, columns, values }: Head["query"], x: Rational[]): Map<number, Rational> {
  const found = new Map<number, Rational>();
  rows.forEach((row, n) => found.set(row, plus(found.get(row) ?? ZERO, times(exactly(values[n]!), x[columns[n]!]!))));
  return found;
}

function dot(a: Map<number, Rational>, b: Map<number, Rational>): Rational {
  return [...b].reduce((sum, [component, value]) => plus(sum, times(a.get(component) ?? ZERO, value)), ZERO);
}

/** The distance from a positive float to the next larger one. */
function spacing(value: number): number {
  if (!Number.isFinite(value)) return NaN;
  const bits = new BigInt64Array(new Float64Array([value]).buffer);
  bits[0]! += 1n;
  return new Float64Array(bits.buffer)[0]! - value;
}
