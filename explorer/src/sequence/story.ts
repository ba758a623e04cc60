// What the chosen layer does at a position of a run that answers everywhere, in a sentence or two: playing the layers tells the computation.

import { type Run, shares } from "../data";
import { el } from "../dom";
import { count, stepNamed, words } from "../words";

/** The most values and heads that are named in a sentence. */
const MOST = 3;
type Words = (Node | string)[];

/** layer: as `Showing.layer` counts it. */
export function sequenceStory(run: Run, layer: number, i: number): Words {
  const at = ["position ", code(i), ", the token ", code(run.rows.fed(i))];
  if (layer >= run.steps) return answered(run, i, at);
  if (layer < 0) return ["The embedding writes what is known at ", ...at, ", before any layer", ...after(": ", written(run, -1, i)), "."];
  const { heads } = run.spec.layers[run.layerOf(layer)]!;
  const values = written(run, layer, i);
  const name = capital(stepNamed(run, layer));
  const nothing = " Nothing changes at this position.";
  if (!heads.length) return [`${name}, at `, ...at, ...(values.length ? [": from what this position holds, ReLU units compute ", ...values, "."] : [".", nothing])];
  return [`${name}, at `, ...at, ": ", ...looks(run, layer, i), ".", ...(values.length ? [" The layer writes ", ...values, "."] : [nothing])];
}

/** Where the heads of a layer attend to. */
function looks(run: Run, step: number, i: number): Words {
  const l = run.layerOf(step);
  const { heads } = run.spec.layers[l]!;
  const told = heads.slice(0, MOST).flatMap((_, k) => {
    const look = run.look(step, k, i);
    const { uniform, count: shared, winner, sharers, weights } = look;
    const head = [k ? "; head " : "head ", code(`${l + 1}.${k + 1}`)];
    if (uniform && shared > 1) return [...head, " takes the mean of ", count(shared, "position")];
    if (weights && shared > 1) return [...head, " gives most of its weight to positions ", code(shares(look, MOST))];
    if (shared > 1) return [...head, ` attends to ${count(shared, "position")} equally: `, code(sharers.slice(0, MOST).join(", ") + (shared > MOST ? ", …" : ""))];
    return [...head, " attends to position ", code(winner), ", the token ", code(run.rows.fed(winner))];
  });
  return heads.length > MOST ? [...told, `; and ${count(heads.length - MOST, "more head")}`] : told;
}

/** The values that a step changes at a position; of a program its own variables first, whose names have no space. */
function written(run: Run, step: number, i: number): Words {
  const changed = run.spec.subspaces.flatMap((subspace, n) => (subspace.name !== "1" && run.changed(n, step, i) ? [[subspace.name, words(run, subspace, run.value(n, 2 * step + 2, i), i)] as const] : []));
  const plain = changed.filter(([, value]) => !value.startsWith("⟨")).sort(([one], [other]) => Number(one.includes(" ")) - Number(other.includes(" ")));
  const told = plain.slice(0, MOST).flatMap(([name, value], n) => [n ? ", " : "", el("span", {}, name), " = ", code(value)]);
  const more = changed.length - Math.min(MOST, plain.length);
  return more ? [...told, told.length ? ` and ${count(more, "more value")}` : count(more, "value")] : told;
}

/** What is answered at a position, and how to see why. */
function answered(run: Run, i: number, at: Words): Words {
  const { reference, columns, layers } = run.spec;
  const answers = columns.slice(1, 1 + MOST).flatMap(({ name }, n) => {
    const due = run.wrong(name, i);
    return [n ? ", " : "", code(name), " is ", code(run.rows.cell(name, i)), ...(due === undefined ? [] : [" (the ", reference, " says ", code(due), ")"])];
  });
  const more = columns.length - 1 - MOST;
  const rest = more > 0 ? `, and ${count(more, "more output")} in the table` : "";
  return ["At ", ...at, ": ", ...answers, rest, `. All positions are answered at once, in ${count(layers.length, "layer")}; ▶ plays the layers at this position.`];
}

function after(sign: string, words: Words): Words {
  return words.length ? [sign, ...words] : [];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function code(text: string | number): HTMLElement {
  return el("b", { class: "mono" }, String(text));
}
