// How a run ends, and what went wrong in it.

import type { Run } from "./data";
import { el } from "./dom";
import type { Store } from "./state";
import { blamedLayer, count, shortened, STOP, stoppedAfter, typesetter, VERDICTS } from "./words";

/** What went wrong, at the top: the first divergence and its cause, with a button that goes there.
 *
 * searched: the number of inputs that were searched in vain for one on which two runs differ, if they were.
 */
export function notices(runs: Run[], store: Store, searched: number | null): HTMLElement[] {
  const wrong = runs.filter((run) => run.spec.divergence);
  if (runs.length > 1 && !wrong.length)
    return [el("aside", { class: "notice fine" }, el("b", {}, "✓ Both runs agree with the simulator in every cell."), " On this input the head never moves left at cell 0.", searched === null ? null : ` The head never does so on any of the ${count(searched, "input")} tried.`)];
  return wrong.map((run) => {
    const { position, column, expected, found, cause } = run.spec.divergence!;
    const whose = runs.length > 1 ? (run.spec.boundary === "chapter" ? "Without the repair the run" : "The repaired run") : "This run";
    const [what, ...why] = cause;
    const blamed = blamedLayer(run.spec);
    const show = ({ currentTarget }: MouseEvent, layer: number) => {
      store.set({ i: position, layer: layer ? run.stepsWith(store.now.layer)[layer - 1]! : -1, playing: false });
      const place = Math.max(0, runs.indexOf(run));
      (currentTarget as HTMLElement).closest("aside")!.parentElement!.querySelectorAll(`[data-layer="${layer}"]`)[place]?.scrollIntoView({ block: "center" });
    };
    return el(
      "aside",
      { class: "notice", role: "note", "data-position": position },
      el("p", {}, el("b", {}, "✗ ", whose, ` goes wrong at position ${position}: `), ...typesetter(run.spec)(column), ` should be `, el("b", { class: "mono" }, expected), " but is ", el("b", { class: "mono" }, found), ". "),
      el("button", { type: "button", class: "small", click: () => store.set({ i: position, playing: false }) }, `go to position ${position}`),
      blamed === null ? null : el("button", { type: "button", class: "small", click: (event: MouseEvent) => show(event, blamed) }, blamed ? `show layer ${blamed}` : "show the embedding"),
      what ? el("p", { class: "cause" }, el("b", {}, "Cause: "), what) : null,
      ...why.map((line) => el("p", { class: "cause" }, line)),
    );
  });
}

/** How each run ends, and whether it is right, in a few words. */
export function verdict(runs: Run[], circuit: boolean): (Node | string)[] {
  return runs.map((run) => {
    const { agrees } = run.spec;
    const said = run.spec.labels ? labelled(run) : circuit ? outcome(run) : ending(run);
    const mark = agrees === null ? "" : agrees ? "✓ " : "✗ ";
    const which = runs.length > 1 ? `${run.spec.boundary}: ` : "";
    return el("span", { class: `badge ${agrees === null ? "" : agrees ? "good" : "bad"}` }, mark, which, said);
  });
}

/** How a run ends. */
function ending(run: Run): string {
  const { answer, T, stop, stopped } = run.spec;
  if (T === null) return stopped ? `no verdict: ${stoppedAfter(run.spec)}` : "no verdict within the limit";
  return `${VERDICTS[answer] ?? (stop.length ? `ends with ${answer}` : "ends")} after T = ${T.toLocaleString("en")}`;
}

/** What the first output of a run is, one value after the other. */
function labelled(run: Run): string {
  const { divergence, columns } = run.spec;
  if (divergence) return `goes wrong at position ${divergence.position.toLocaleString("en")}`;
  const { name } = columns[1]!;
  const values = Array.from({ length: run.count }, (_, i) => run.rows.cell(name, i));
  return shortened(`${name} = ${values.join(values.some((value) => value.length !== 1) ? " " : "")}`, 60);
}

/** What a circuit's run computes. */
function outcome(run: Run): string {
  const { T, agrees, result, divergence } = run.spec;
  if (divergence?.column === STOP) return "every bit is right, but the run ends in the wrong place";
  if (divergence) return `goes wrong at position ${divergence.position.toLocaleString("en")}`;
  if (T === null) return `cut off at position ${run.count - 1}`;
  const gates = count(T, "gate");
  return agrees && result ? `${gates}: ${shortened(result, 80)}` : gates;
}
