// A run in the browser: generated, read off, compared with the reference cell by cell, and recorded, as tm2tfr/runs/comparison.py does.

import type { DivergenceSpec, Heading, SubspaceSpec } from "../data";
import { causeInWhole, causeOf, type Claims, righted, unembeddingCause } from "../broken/cause";
import type { About, Decoder } from "./decoder";
import { argmax, type Passed, wholeRun } from "./dense";
import { generate, prompted } from "./generate";
import { plainNumber } from "./python";
import { answersOf, Readout, type ReadSpec } from "./readout";
import { Recorder, recordedWhole } from "./record";
import { Refused } from "./refusals";
import { agrees, ANY, type Cell, type Truth } from "./truth/reference";

/** What takes the place of a column where a decoder stops in the wrong place. */
const STOP = "stop";
/** The text in place of the cause of a divergence where there is no model of the stream. */
const UNSEARCHED = "not searched for in this page; tm2tfr check names it.";
/** With changed weights, a run that outlasts the reference's is stopped this many positions after its first difference. */
const AFTER = 50;
const OUTCOMES: Record<string, string> = { ACC: "accept", REJ: "reject", HALT: "halt" };

export interface Task {
  decoder: Decoder;
  columns: Heading[];
  readout: ReadSpec[];
  subspaces: SubspaceSpec[];
  /** Whether the table is that of a Turing machine. */
  tape: boolean;
  truth: Truth | null;
  word: string[];
  /** Of what labels, the tokens that are fed around those of the word. */
  ends: { before: string[]; after: string[] } | null;
  maxSteps: number | null;
  /** Whether the weights are changed ones. */
  changed: boolean;
  /** What is needed to find the cause of a difference: the unchanged weights, and what they claim; null: it is not looked for. */
  search: { right: Decoder; about: About; claims: Claims } | null;
}

export interface Ran {
  rows: Cell[][];
  /** The reference's rows, as far as there is one of the decoder's for each. */
  expected: Cell[][];
  compared: number;
  divergence: DivergenceSpec | null;
  answer: string;
  T: number | null;
  /** Whether it was stopped some positions after its first difference. */
  stopped: boolean;
  /** The number of tokens of the prompt, and of those before the input. */
  prompt: number;
  lead: number;
  recorder: Recorder;
}

/** Run a decoder on a word: to the end of the reference's run if they agree, otherwise until it stops or reaches the limit; changed
 * weights at most until `AFTER` positions after the first difference, or until the end of the reference's run if that is later.
 *
 * Throws `Refused` for a prompt that cannot be run, and at a position that the engine refuses, if nothing was wrong before.
 */
export function run(task: Task, progress: (done: number) => void): Ran {
  const { decoder, columns, tape, truth, word, ends, search } = task;
  const labels = decoder.outputs.length > 0;
  const prompt = [...(ends?.before ?? truth?.lead ?? []), ...word, ...(ends?.after ?? [])];
  const given = prompted(decoder, prompt);
  const { found, recorder } = labels ? labelled(task, given) : generated(task, given, prompt.length);
  const [rows, expected]: [Cell[][], Cell[][]] = [[], []];
  let compared = 0;
  let differs: { want: Cell[]; row: Cell[] | null; position: number } | null = null;
  let cut = false;
  const next = (): Cell[] | null => {
    try {
      const row = found.next();
      return row.done ? null : row.value;
    } catch (error) {
      // after a difference, a position that the engine refuses ends the run
      if (differs && error instanceof Refused) return null;
      throw error;
    }
  };
  for (;;) {
    const want = truth?.rows.next();
    if (want?.done && !differs) break; // the reference is at its end, and so is a decoder that agrees with it
    if (want?.done && task.changed && rows.length > differs!.position + AFTER) {
      cut = true;
      break;
    }
    const row = next();
    if (want && !want.done) {
      expected.push(want.value);
      if (!differs) {
        compared += want.value.filter((cell) => cell !== ANY).length;
        if (!row || want.value.some((cell, n) => !agrees(cell, row[n]!))) differs = { want: want.value, row, position: rows.length };
      }
    }
    if (!row) break;
    rows.push(row);
    if (rows.length % 64 === 0) progress(rows.length);
  }
  const stop = decoder.stop.map((token) => decoder.vocabulary[token]!);
  const ending = truth && (!differs || !differs.row) ? truth.ending(stop, decoder.positions) : null;
  let divergence: DivergenceSpec | null = null;
  if (ending) divergence = { position: rows.length - 1, column: STOP, ...ending, cause: [UNSEARCHED] };
  else if (differs) {
    divergence = difference(columns, differs);
    if (search && truth) divergence.cause = searched({ ...search, broken: decoder, columns, reader: new Readout(task.readout, task.subspaces), truth, expected: labels ? expected : expected.slice(0, differs.position + 1), given, position: differs.position, row: differs.row });
  }

  const said = rows.length > prompt.length ? String(rows.at(-1)!.at(-1)) : ""; // an answer to the prompt ends nothing
  const known = tape ? OUTCOMES[said] : stop.includes(said) ? said : undefined;
  const answer = known ?? (rows.length === decoder.positions && !stop.length ? "end" : "limit");
  const T = labels ? 0 : answer === "limit" ? null : rows.length - prompt.length + (decoder.bos !== null ? -1 : 1);
  return { rows, expected, compared, divergence, answer: labels ? "end" : answer, T, stopped: cut && answer === "limit", prompt: prompt.length, lead: tape ? described(prompt) : 0, recorder };
}

/** The rows of a decoder on its own answers, as they come. */
function generated({ decoder, readout, subspaces, maxSteps }: Task, given: number[], prompt: number): { found: Iterator<Cell[]>; recorder: Recorder } {
  const recorder = new Recorder(subspaces, decoder.layers.map(({ heads }) => heads.length), decoder.layers.map((_, n) => [n, 0]));
  const most = maxSteps === null ? Infinity : prompt + maxSteps + (decoder.bos !== null ? 2 : -1);
  const reader = new Readout(readout, subspaces);
  const rows = function* (): Generator<Cell[]> {
    for (const { fed, answer, residual } of generate(decoder, given, most, recorder)) yield reader.cells(decoder.vocabulary[fed]!, decoder.vocabulary[answer]!, residual);
  };
  return { found: rows(), recorder };
}

/** The rows of what labels: the token at each position, and the answer of each output. */
function labelled({ decoder, subspaces }: Task, given: number[]): { found: Iterator<Cell[]>; recorder: Recorder } {
  const { passed, recorder } = recordedWhole(decoder, given, subspaces);
  return { found: passed.map(({ logits }, i) => [decoder.vocabulary[given[i]!]!, ...answersOf(decoder, logits)]).values(), recorder };
}

/** The first cell of a row of the reference that the decoder's differs from. */
function difference(columns: Heading[], { want, row, position }: { want: Cell[]; row: Cell[] | null; position: number }): DivergenceSpec {
  const found = row ?? want.map(() => null);
  const at = want.findIndex((cell, n) => !agrees(cell, found[n]!));
  const n = at < 0 ? want.length - 1 : at;
  const { name, signed } = columns[n]!;
  return { position, column: name, expected: written(want[n]!, signed), found: written(found[n]!, signed), cause: [UNSEARCHED] };
}

interface Searched {
  broken: Decoder;
  right: Decoder;
  about: About;
  claims: Claims;
  columns: Heading[];
  reader: Readout;
  truth: Truth;
  /** The rows of the reference up to the one that differs; all of them where a whole sequence is labelled. */
  expected: Cell[][];
  /** The tokens of the prompt. */
  given: number[];
  position: number;
  row: Cell[] | null;
}

/** The cause of a difference, in lines; why there is none, if the unchanged weights are wrong, or the search is refused. */
function searched({ broken, right, about, claims, columns, reader, truth, expected, given, position, row }: Searched): string[] {
  const labels = right.outputs.length > 0;
  const names = columns.map(({ name }) => name);
  const numbers = new Map(right.vocabulary.map((token, n) => [token, n]));
  const tokens = labels ? given : expected.map((cells) => numbers.get(String(cells[0]))!);
  const { about: said, bump } = truth.facts(expected, names);
  const h = names.indexOf("h");
  try {
    const facts = { tokens, about: said, bump, cell: (i: number) => Number(expected[i]![h]) };
    const reads = ({ residual, logits }: Passed, i: number): Cell[] => {
      const token = right.vocabulary[tokens[i]!]!;
      return labels ? [token, ...answersOf(right, logits)] : reader.cells(token, right.vocabulary[argmax(logits)]!, residual);
    };
    let i = 0;
    for (const passed of labels ? wholeRun(right, tokens) : righted(right, about, claims, facts)) {
      const cells = reads(passed, i);
      if (expected[i]!.some((cell, n) => !agrees(cell, cells[n]!))) return [`not known: the weights that this page came with go wrong on this input themselves, at position ${i}; for these weights (Save weights), tm2tfr check names the cause`];
      i++;
    }
    const cause = labels ? causeInWhole(broken, right, about, claims, facts, position) : causeOf(broken, right, about, claims, facts);
    if (cause) return cause;
    const want = expected[position]!;
    const at = row ? want.findIndex((cell, n) => !agrees(cell, row[n]!)) : -1;
    if (!row || at < (labels ? 1 : want.length - 1)) return [];
    return unembeddingCause(broken, position, labels ? right.outputs[at - 1]!.name : "", written(want[at]!, false), written(row[at]!, false), said(position));
  } catch (error) {
    if (error instanceof Refused) return [`not known: ${error.message}`];
    throw error;
  }
}

/** A cell as text. */
function written(cell: Cell, signed: boolean): string {
  if (cell === null || cell === ANY) return "⊥";
  if (typeof cell === "string") return cell;
  return `${signed && cell > 0 ? "+" : ""}${plainNumber(cell)}`;
}

/** The number of tokens before the input: those describe a machine to a universal decoder, and have several characters each. */
function described(prompt: string[]): number {
  const first = prompt.findIndex((token) => [...token].length === 1);
  return first < 0 ? prompt.length : first;
}
