// Numbers, names and positions in words.

import type { MachineSpec, Run, RunSpec, SubspaceSpec, Value } from "./data";
import type { Description, Lookup } from "./description";
import { el } from "./dom";

/** A formula as nodes: `_{…}` and `_x` are set low, `^2` high. */
export function math(text: string): Node[] {
  const nodes: Node[] = [];
  let last = 0;
  for (const match of text.matchAll(/_\{([^}]*)\}|_([A-Za-z0-9*]+)|\^(\d+)/g)) {
    if (match.index > last) nodes.push(document.createTextNode(text.slice(last, match.index)));
    const low = match[1] ?? match[2];
    nodes.push(low === undefined ? el("sup", {}, match[3]!) : el("sub", {}, low));
    last = match.index + match[0].length;
  }
  if (last < text.length) nodes.push(document.createTextNode(text.slice(last)));
  return nodes;
}

/** The same of texts in which names are those of a program, such as `frac_with_0`: only a position, as in `⟨x⟩_i`, is set low. */
export function plainMath(text: string): Node[] {
  return text.split(/(?<=⟩)_([ij])/).map((part, n) => (n % 2 ? el("sub", {}, part) : document.createTextNode(part)));
}

/** What sets formulas of a run: in a program's own names an underscore is not a mark. */
export function typesetter({ labels }: RunSpec): (text: string) => Node[] {
  return labels ? plainMath : math;
}

/** Why a run was not compared with anything. */
export function uncompared({ noun, reference, live }: RunSpec): string {
  return live.compared ? `the ${reference} is not in this page` : `there is no ${noun} to compare with`;
}

/** Where a run with changed weights was stopped. */
export function stoppedAfter({ count: positions, divergence }: RunSpec): string {
  return `stopped ${count(positions - 1 - divergence!.position, "position")} after the first difference`;
}

/** A subspace as the chapter writes it: e_q is q, e_b(j*-1) is b_{j*-1}, e_x(h) is x_h. */
export function symbolOf(name: string): string {
  const match = /^e_(\w)(?:\((.*)\))?$/.exec(name);
  return match ? (match[2] ? `${match[1]}_{${match[2]}}` : match[1]!) : name;
}

/** A number, exactly if it is an integer or a fraction with one of these denominators; else to six digits. */
export function number(value: number, denominators: number[]): string {
  if (Number.isInteger(value)) return String(value).replace("-", "−");
  for (const below of denominators) {
    const above = Math.round(value * below);
    if (above !== 0 && above / below === value) return `${above}/${below}`.replace("-", "−");
  }
  return digits(value);
}

/** A number to six digits, or to the given precision. */
export function digits(value: number, precision = 6): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value).replace("-", "−");
  return String(Number(value.toPrecision(precision))).replace("-", "−");
}

/** A score and the runner-up's: six digits, or as many as it takes to see that they differ. */
export function apart(score: number, runner: number): [string, string] {
  let precision = 6;
  while (precision < 17 && score !== runner && digits(score, precision) === digits(runner, precision)) precision++;
  return [digits(score, precision), digits(runner, precision)];
}

/** The layer with the first wrong value, from 1, 0 for the embedding, as the cause of a difference says it; null: none is named. */
export function blamedLayer({ divergence, layers }: RunSpec): number | null {
  const [what = ""] = divergence?.cause ?? [];
  if (what.startsWith("embedding ")) return 0;
  const layer = Number(/^layer (\d+) /.exec(what)?.[1] ?? 0);
  return layer >= 1 && layer <= layers.length ? layer : null;
}

/** A step in a few words: `layer 2`, `layer 2, pass 3`. */
export function stepNamed(run: Run, step: number): string {
  if (step < 0) return "the embedding";
  if (step >= run.steps) return "the outputs";
  const [layer, pass] = run.spec.steps[step]!;
  return `layer ${layer + 1}${pass ? `, pass ${pass}` : ""}`;
}

/** The content of a subspace at position i of a run, in words: `q2`, `3`, `1/4`, `⊥`, or a combination of labels. */
export function words({ spec }: Run, subspace: SubspaceSpec, value: Value, i: number): string {
  if (!subspace.labels) return number(value.number, spec.labels ? [i + 1, spec.count, spec.count - i] : [i + 1]);
  if (value.number > 0) return subspace.labels[value.number - 1]!;
  if (value.number === 0) return "⊥";
  const terms = value.coordinates.flatMap((v, k) => (v ? [`${v === 1 ? "" : `${digits(v)}·`}${subspace.labels![k]}`] : []));
  return `⟨${terms.slice(0, 4).join(" + ")}${terms.length > 4 ? " + …" : ""}⟩`;
}

/** A text without its middle if it is longer than `most` characters; the end of a token says the most. */
export function shortened(text: string, most: number): string {
  const signs = [...text];
  if (signs.length <= most) return text;
  const end = Math.ceil(0.7 * (most - 1));
  return `${signs.slice(0, most - 1 - end).join("")}…${signs.slice(-end).join("")}`;
}

export function count(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** What takes the place of a column where a decoder stops in the wrong place. */
export const STOP = "stop";
export const VERDICTS: Record<string, string> = { accept: "accepts", reject: "rejects", halt: "halts" };
export const MOVES: Record<string, string> = { "-1": "L", "0": "S", "1": "R" };
const MOVED: Record<string, string> = { "-1": "moved left", "0": "did not move", "1": "moved right" };

function token(text: string): HTMLElement {
  return el("b", { class: "mono" }, text);
}

/** What a token of the machine's description says. */
function described(run: Run, description: Description | null, i: number): (Node | string)[] {
  const rule = description?.ruleAt(i);
  const place = ["The prompt describes the machine: ", token(run.rows.fed(i))];
  if (!rule) return [...place, i > 0 ? "." : run.rows.fed(i) === "one-way" ? " says that its tape has a left end." : " says that its tape is infinite in both directions."];
  if (i === rule.key) return [...place, " is the pair of the next rule: a state and the symbol under the head."];
  return [...place, " is the answer of the rule for ", token(rule.wanted), "."];
}

/** What the prompt says of a position, and what the decoder answers; `atWall`: whether the head can go no further left. */
function ruled({ wanted, found }: Lookup, atWall: boolean, answer: string, end: boolean): (Node | string)[] {
  const next = end ? "the answer is " : "the next token is ";
  if (!found) return ["The prompt has no rule for ", token(wanted), `, and ${next}`, token(answer), "."];
  const says = ["The prompt's rule for ", token(wanted), " says ", token(found.answer)];
  if (found.answer === answer) return [...says, `, and that is ${end ? "the answer" : "the next token"}.`];
  const stays = atWall && answer === found.answer.replace(/-1\)$/, "0)");
  return [...says, stays ? `; at the left end the head stays, so ${next}` : `, but ${next}`, token(answer), "."];
}

/** Which rule is looked up at a position, and what is found. */
export function lookedUp({ wanted, look, found, due }: Lookup): (Node | string)[] {
  const asked = ["looks for ", token(wanted)];
  if (found) return [...asked, " and finds ", token(`→${found.answer}`), `, at position ${found.value}`];
  if (due) return [...asked, ` but not at position ${due.value}, where that rule is`];
  const spread = look.uniform ? "all positions share" : look.count > 1 ? `${count(look.count, "position")} share` : `position ${look.winner} has`;
  return [...asked, ": no rule: ", token("HALT"), ` (${spread} the attention)`];
}

/** What happens at a position of any run: which token is given, and which is answered. */
export function plainStory(run: Run, i: number): (Node | string)[] {
  const { rows } = run;
  if (i < run.turn) return ["The prompt: ", token(rows.fed(i)), ". The decoder's answer to it is not used."];
  const then = run.ends(i) ? ", which ends the run." : ", which is the next token.";
  const given = i === run.turn ? [token(rows.fed(i)), " ends the prompt."] : ["The decoder is given ", token(rows.fed(i)), "."];
  return [...given, " It answers with ", token(rows.answer(i)), then];
}

/** What happens at a position of a Turing machine's run, in a sentence or two. */
export function story(run: Run, machine: MachineSpec | null, description: Description | null, i: number): (Node | string)[] {
  const { rows, spec } = run;
  const answer = rows.answer(i);
  if (i < spec.lead) return described(run, description, i);
  if (i < spec.prompt) return ["The prompt: ", token(rows.fed(i)), ` is in cell ${i - spec.lead} of the tape.`];
  if (i === spec.prompt)
    return [
      token("BOS"),
      ` ends the prompt. The decoder answers with ${spec.stop.includes(answer) ? "the verdict" : "the first triple"}: `,
      token(answer),
      ".",
    ];
  const q = rows.text("q", i);
  const a = rows.text("a", i) ?? "⊥";
  const head = rows.number("h", i);
  const said = [
    "The machine went to ",
    token(q ?? "⊥"),
    ", wrote ",
    token(rows.text("b", i) ?? "⊥"),
    ` and ${MOVED[String(rows.number("m", i))] ?? "made an invalid move"}. It reads `,
    token(a),
    ` in cell ${String(head).replace("-", "−")}`,
  ];
  const end = spec.stop.includes(answer);
  const lookup = description?.lookup(i);
  if (lookup) return [...said, ". ", ...ruled(lookup, machine?.tape === "one-way" && head === 0, answer, end)];
  const rule = machine && q !== null ? ruleAt(machine, q, a) : undefined;
  if (machine && rule) {
    const [, , r, b, m] = rule;
    const why = `δ(${q}, ${a}) = (${machine.states[r]!.name}, ${b}, ${MOVES[String(m)]})`;
    const triple = (move: number) => `(${machine.states[r]!.name},${b},${move > 0 ? "+" : ""}${move})`;
    let link = answer === triple(m) ? ", so the next token is " : ", but the next token is ";
    if (end) link = ", and the answer is ";
    else if (machine.tape === "one-way" && head === 0 && m < 0 && answer === triple(0)) link = "; at the left end the head stays, so the next token is ";
    return [...said, ": ", token(why), link, token(answer), "."];
  }
  return [...said, end ? ": the answer is " : ": the next token is ", token(answer), "."];
}

export function ruleAt(machine: MachineSpec, state: string, symbol: string): MachineSpec["rules"][number] | undefined {
  const q = machine.states.findIndex(({ name }) => name === state);
  return machine.rules.find((rule) => rule[0] === q && rule[1] === symbol);
}
