// The words of the page that are not said in it: what they mean, for the kind of source that it shows.

import type { PageData } from "./data";

type Term = [term: string, meaning: string];

const STREAM: Term[] = [
  ["position", "the place of a token, counted from 0"],
  ["residual stream", "the vector that a position carries through the layers; the embedding writes it first, and every layer adds to it"],
  ["subspace", "the coordinates of that vector that hold one variable"],
  ["layer", "attention, feed-forward, or both: heads read other positions, ReLU units compute from this one alone"],
  ["head 2.1", "head 1 of layer 2, both counted from 1; an arc shows which position it attends to. In the path of a weight heads count from 0: layers.2.heads.0"],
  ["score", "how well a position matches the head's query: query · key. The head attends to the largest; positions that tie share the attention equally"],
  ["runner-up, gap", "the best score at any other position, and its distance from the best: with a larger gap the head tolerates more rounding and a higher temperature of softmax"],
  ["unembedding", "the matrix that computes the answer from the stream after the last layer"],
];
const RASP: Term[] = [
  ["s-op", "a variable of the program: one value at every position"],
  ["selector", "which positions (columns) each position (row) reads"],
  ["aggregate", "the mean of an s-op over the selected positions, or the value at the one selected position"],
  ["X.share, mean X.share", "made by the compiler: the attention that falls on the marked positions, from which the next layer computes X"],
  ["picked X, found by X", "made by the compiler: the value that the head copied, and whether its selector selects anything"],
  ["steps of X", "made by the compiler: ReLU units that tell the possible values of X apart"],
];
const LOGIC: Term[] = [
  ["Q[a]", "true where the token is a"],
  ["subformula", "a part of the formula; it is true or false at every position"],
  ["p since q", "q is true here or at an earlier position, and p at every position from there to here"],
  ["p until q", "the same, towards the end of the word"],
  ["once p, count(p)", "p is true here or earlier; the number of such positions"],
];
const CIRCUIT: Term[] = [
  ["gate", "one per position after the inputs: the decoder answers with its bit, which is the next token"],
  ["a, b, c", "the operands of the gate that is computed here: the positions of their bits. x_a, x_b and x_c are the bits"],
  ["t110", "the bit of the gate's truth table in the row 1, 1, 0"],
];
const MACHINE: Term[] = [
  ["triple", "a token such as (q1,x,+1): the new state, the symbol written, the move of the head"],
  ["x, y", "the token at this position, and the next token, which is the answer"],
  ["q, b, m", "the parts of the token: state, symbol written, move"],
  ["h, a", "the cell under the head, and the symbol in it"],
  ["δ(q, a)", "the rule of the machine for state q and symbol a"],
  ["T", "the number of intermediate steps: the tokens between BOS and the verdict"],
];

/** The terms of a page, those of its kind of source first. */
export function terms(data: PageData): Term[] {
  const own = data.sequence ? (data.sequence.kind === "rasp" ? RASP : LOGIC) : data.circuit ? CIRCUIT : data.runs[0]!.tape ? MACHINE : [];
  return [...own, ...STREAM];
}
