// The page: reads its data, builds the views of each run, and draws them whenever something changes.

import { BitsPanel } from "./bits";
import { Bits, Circuit } from "./circuit";
import { Controls, fromAddress } from "./controls";
import { type Buffers, type PageData, Run, unpacked } from "./data";
import { Description } from "./description";
import { el, set } from "./dom";
import { CircuitGraph } from "./gates";
import { History } from "./history";
import { Layers, Stream } from "./layers";
import { RulesPanel } from "./rules";
import { Store } from "./state";
import { StateGraph } from "./states";
import { Strip } from "./strip";
import { Table } from "./table";
import { Tape } from "./tape";
import { count, math, shortened, STOP, VERDICTS } from "./words";

const data = JSON.parse(document.querySelector("#data")!.textContent) as PageData;

async function start(): Promise<void> {
  const buffers = await unpacked(document.querySelector("#columns")!.textContent);
  const runs = data.runs.map((spec) => new Run(spec, buffers));
  const last = Math.max(...runs.map((run) => run.count)) - 1;
  const parts = runs.map((run) => run.spec.divergence?.position).filter((at) => at !== undefined);
  const divergence = parts.length ? Math.min(...parts) : null;
  const circuit = data.circuit && new Circuit(data.circuit, buffers);
  const first = Math.min(last, Math.max(0, runs[0]!.spec.bos ? runs[0]!.turn + 1 : runs[0]!.turn));
  const store = new Store(last, runs[0]!.spec.layers.length, { i: divergence ?? first, ...fromAddress() }, ...begins(runs[0]!));
  const controls = new Controls(store, divergence, circuit ? "circuit" : "state graph");

  const main = document.querySelector("main")!;
  main.replaceChildren(...notices(runs, store), el("div", { class: `runs n${runs.length}` }, ...runs.map((run) => view(run, runs.length > 1, store, buffers, circuit))));
  document.body.append(controls.element, controls.help);
  document.querySelector("#help")!.addEventListener("click", () => controls.help.showModal());
  document.querySelector(".verdict")!.replaceChildren(...verdict(runs));
  for (const cut of document.querySelectorAll<HTMLElement>(".bar .input, .bar .about")) cut.title = cut.textContent!;
  theme();
  addEventListener("resize", () => store.set({}));
  // a button that is clicked leaves the keys where they are, so that Space still plays
  addEventListener("mousedown", (event) => {
    if ((event.target as Element).closest("button")) event.preventDefault();
  });
  store.set({});
  store.draw();
  document.documentElement.dataset["ready"] = "true";
}

function view(run: Run, several: boolean, store: Store, buffers: Buffers, circuit: Circuit | null): HTMLElement {
  const history = run.spec.tape ? new History(run, data.machine?.blank ?? "_") : null;
  const bits = circuit && new Bits(circuit, run);
  const description = Description.of(run);
  const tape = bits ? new BitsPanel(bits, store) : new Tape(run, data.machine, history, description);
  const rules = description && new RulesPanel(description, store);
  const strip = new Strip(run, store, circuit, description);
  const layers = new Layers(run, store);
  const stream = new Stream(run, store);
  const table = new Table(run, store, history);
  const redraw = () => store.set({});
  const graph = bits ? new CircuitGraph(bits, buffers, redraw) : data.machine && new StateGraph(run, data.machine, buffers, redraw);
  const titles: Record<string, string> = { repaired: "With the left-boundary repair", chapter: "As in the chapter, without the repair" };
  const title = several ? el("h2", { class: "run-title" }, titles[run.spec.boundary] ?? run.spec.boundary) : null;
  const inside = el("div", { class: "inside" });
  const arrange = arranged(inside, {
    title,
    graph: graph && graph.element,
    tape: tape.element,
    rules: rules && rules.element,
    strip: strip.element,
    layers: layers.element,
    table: table.element,
    stream: stream.element,
  });
  let width = 0;
  store.subscribe(({ i, layer, raw, playing }) => {
    if (width !== innerWidth) {
      width = innerWidth;
      arrange();
      for (const part of [tape, strip, table]) part.measure();
      graph?.fit();
    }
    tape.draw(i, playing);
    rules?.draw(i);
    strip.draw(i, layer);
    layers.draw(i, layer);
    stream.draw(i, layer, raw);
    graph?.draw(i);
    // code that measures comes last, so that the browser lays out the page once
    graph?.follow();
    table.draw(i);
  });
  return el("article", { class: "run", "data-boundary": run.spec.boundary }, inside);
}

/** Put the panels into two columns where the styles have two, otherwise one below the other, with the graph next to the tape.
 *
 * They are moved, not placed by styles, so that the Tab key and screen readers come to them in the order that is seen.
 */
function arranged(inside: HTMLElement, parts: Record<"title" | "graph" | "rules", HTMLElement | null> & Record<"tape" | "strip" | "layers" | "table" | "stream", HTMLElement>): () => void {
  const { title, tape, rules, strip, layers, graph, table, stream } = parts;
  const side = (...panels: (HTMLElement | null)[]) => el("div", { class: "side" }, ...panels);
  let columns = 0;
  return () => {
    const now = getComputedStyle(inside).gridTemplateColumns.split(" ").length;
    if (now === columns) return;
    columns = now;
    const focused = document.activeElement;
    const panels = now > 1 ? [side(tape, rules, strip, layers), side(graph, table, stream)] : [tape, rules, graph, strip, table, layers, stream];
    inside.replaceChildren(...[title, ...panels].filter((part) => part !== null));
    if (focused instanceof HTMLElement && inside.contains(focused)) focused.focus({ preventScroll: true });
  };
}

/** The position that playing begins at, and the layer that is chosen first: with a machine in the prompt, BOS, and where
 * its rules are found. */
function begins(run: Run): [number, number] {
  const { lead, finds, layers } = run.spec;
  return lead > 0 && finds ? [run.turn, finds[0]] : [0, layers.length - 1];
}

/** What went wrong, at the top: the first divergence and its cause, with a button that goes there. */
function notices(runs: Run[], store: Store): HTMLElement[] {
  const wrong = runs.filter((run) => run.spec.divergence);
  if (runs.length > 1 && !wrong.length)
    return [el("aside", { class: "notice fine" }, el("b", {}, "✓ Both runs agree with the simulator in every cell."), " On this input the head never moves left at cell 0.")];
  return wrong.map((run) => {
    const { position, column, expected, found, cause } = run.spec.divergence!;
    const whose = runs.length > 1 ? (run.spec.boundary === "chapter" ? "Without the repair the run" : "The repaired run") : "This run";
    const [what, ...why] = cause;
    return el(
      "aside",
      { class: "notice", role: "note", "data-position": position },
      el("p", {}, el("b", {}, "✗ ", whose, ` goes wrong at position ${position}: `), ...math(column), ` should be `, el("b", { class: "mono" }, expected), " but is ", el("b", { class: "mono" }, found), ". "),
      el("button", { type: "button", class: "small", click: () => store.set({ i: position, playing: false }) }, `go to position ${position}`),
      what ? el("p", { class: "cause" }, el("b", {}, "Cause: "), what) : null,
      ...why.map((line) => el("p", { class: "cause" }, line)),
    );
  });
}

function verdict(runs: Run[]): (Node | string)[] {
  return runs.map((run) => {
    const { agrees } = run.spec;
    const said = data.circuit ? outcome(run) : ending(run);
    const mark = agrees === null ? "" : agrees ? "✓ " : "✗ ";
    const which = runs.length > 1 ? `${run.spec.boundary}: ` : "";
    return el("span", { class: `badge ${agrees === false ? "bad" : "good"}` }, mark, which, said);
  });
}

/** How a run ends. */
function ending(run: Run): string {
  const { answer, T, stop } = run.spec;
  if (T === null) return "no verdict within the limit";
  return `${VERDICTS[answer] ?? (stop.length ? `ends with ${answer}` : "ends")} after T = ${T.toLocaleString("en")}`;
}

/** What a circuit's run computes. */
function outcome(run: Run): string {
  const { T, agrees, result, divergence } = run.spec;
  if (divergence?.column === STOP) return "every bit is right, but the end is not";
  if (divergence) return `goes wrong at position ${divergence.position.toLocaleString("en")}`;
  if (T === null) return `cut off at position ${run.count - 1}`;
  const gates = count(T, "gate");
  return agrees && result ? `${gates}: ${shortened(result, 80)}` : gates;
}

/** Light, dark, or the system's setting; kept for the next page where that is allowed. */
function theme(): void {
  const button = document.querySelector<HTMLElement>("#theme")!;
  const modes = ["auto", "light", "dark"];
  const apply = (mode: string) => {
    set(document.documentElement, { "data-theme": mode });
    button.textContent = { auto: "◐ auto", light: "☀ light", dark: "☾ dark" }[mode]!;
    set(button, { "aria-label": `Colours: ${mode}` });
  };
  let mode = "auto";
  try {
    mode = localStorage.getItem("tm2tfr-theme") ?? "auto";
  } catch {
    // no storage here
  }
  apply(modes.includes(mode) ? mode : "auto");
  button.addEventListener("click", () => {
    mode = modes[(modes.indexOf(mode) + 1) % modes.length]!;
    apply(mode);
    try {
      localStorage.setItem("tm2tfr-theme", mode);
    } catch {
      // no storage here
    }
  });
}

start().catch((error: unknown) => {
  document.querySelector("main")!.replaceChildren(el("p", { class: "notice" }, `This page cannot be shown: ${String(error)}. It needs a browser of 2023 or later.`));
  throw error;
});
