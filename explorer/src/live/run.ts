// A run in the browser: generated, read off, compared with the reference cell by cell, and recorded, as tm2tfr/runs/comparison.py does.

import type { DivergenceSpec, Heading } from "../data";
import { causeOf, type Claims, righted, unembeddingCause } from "../broken/cause";
import type { About, Decoder } from "./decoder";
import { argmax } from "./dense";
import { generate, prompted } from "./generate";
import { plainNumber } from "./python";
import { Readout, type ReadSpec } from "./readout";
import type { Recorder } from "./record";
import { Refused } from "./refusals";
import { agrees, ANY, type Cell, type Truth } from "./truth/reference";

/** What takes the place of a column where a decoder stops in the wrong place. */
const STOP = "stop";
/** What takes the place of the cause of a divergence where no model says what is right inside. */
const UNSEARCHED = "not searched for in this page; tm2tfr check names it.";
const OUTCOMES: Record<string, string> = { ACC: "accept", REJ: "reject", HALT: "halt" };

export interface Task {
  decoder: Decoder;
  columns: Heading[];
  readout: ReadSpec[];
  /** Whether the table is that of a Turing machine. */
  tape: boolean;
  truth: Truth | null;
  word: string[];
  maxSteps: number | null;
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
  /** The number of tokens of the prompt, and of those before the input. */
  prompt: number;
  lead: number;
}

/** Run a decoder on a word: to the end of the reference's run if they agree, otherwise until it stops or reaches the limit.
 *
 * Throws `Refused` for a prompt that cannot be run, and at a position that the engine refuses, if nothing was wrong before.
 */
export function run({ decoder, columns, readout, tape, truth, word, maxSteps, search }: Task, recorder: Recorder, progress: (done: number) => void): Ran {
  const prompt = [...(truth?.lead ?? []), ...word];
  const given = prompted(decoder, prompt);
  const most = maxSteps === null ? Infinity : prompt.length + maxSteps + (decoder.bos !== null ? 2 : -1);
  const steps = generate(decoder, given, most, recorder);
  const reader = new Readout(readout, recorder.subspaces);
  const [rows, expected]: [Cell[][], Cell[][]] = [[], []];
  let compared = 0;
  let differs: { want: Cell[]; row: Cell[] | null; position: number } | null = null;
  const next = (): Cell[] | null => {
    try {
      const step = steps.next();
      if (step.done) return null;
      const { fed, answer, residual } = step.value;
      return reader.cells(decoder.vocabulary[fed]!, decoder.vocabulary[answer]!, residual);
    } catch (error) {
      // after a difference, a position that the engine refuses ends the run
      if (differs && error instanceof Refused) return null;
      throw error;
    }
  };
  for (;;) {
    const want = truth?.rows.next();
    if (want?.done && !differs) break; // the reference is at its end, and so is a decoder that agrees with it
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
    if (search && truth) divergence.cause = searched({ ...search, broken: decoder, columns, reader, truth, expected: expected.slice(0, differs.position + 1), row: differs.row });
  }

  const said = rows.length > prompt.length ? String(rows.at(-1)!.at(-1)) : ""; // an answer to the prompt ends nothing
  const known = tape ? OUTCOMES[said] : stop.includes(said) ? said : undefined;
  const answer = known ?? (rows.length === decoder.positions && !stop.length ? "end" : "limit");
  const T = answer === "limit" ? null : rows.length - prompt.length + (decoder.bos !== null ? -1 : 1);
  return { rows, expected, compared, divergence, answer, T, prompt: prompt.length, lead: tape ? described(prompt) : 0 };
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
  /** The rows of the reference up to the one that differs. */
  expected: Cell[][];
  row: Cell[] | null;
}

/** The cause of a difference, in lines; why there is none, if the unchanged weights are wrong, or the search is refused. */
function searched({ broken, right, about, claims, columns, reader, truth, expected, row }: Searched): string[] {
  const position = expected.length - 1;
  const names = columns.map(({ name }) => name);
  const numbers = new Map(right.vocabulary.map((token, n) => [token, n]));
  const tokens = expected.map((cells) => numbers.get(String(cells[0]))!);
  const { about: said, bump } = truth.facts(expected, names);
  const h = names.indexOf("h");
  try {
    const facts = { tokens, about: said, bump, cell: (i: number) => Number(expected[i]![h]) };
    let i = 0;
    for (const { residual, logits } of righted(right, about, claims, facts)) {
      const cells = reader.cells(right.vocabulary[tokens[i]!]!, right.vocabulary[argmax(logits)]!, residual);
      if (expected[i]!.some((cell, n) => !agrees(cell, cells[n]!))) return [`not known: the unchanged weights go wrong on this input, too, at position ${i}`];
      i++;
    }
    const cause = causeOf(broken, right, about, claims, facts);
    if (cause) return cause;
    const [want, found] = [expected[position]!, row];
    const at = found ? want.findIndex((cell, n) => !agrees(cell, found[n]!)) : -1;
    if (!found || at < want.length - 1) return [];
    return unembeddingCause(broken, position, written(want.at(-1)!, false), written(found.at(-1)!, false), said(position));
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
