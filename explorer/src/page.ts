// The views of one run, or of two side by side: built into an element, and taken away again for other data.

import { BitsPanel } from "./bits";
import type { Broken } from "./broken/broken";
import { ChangesPanel } from "./broken/panel";
import { Bits, Circuit } from "./circuit";
import { Controls, fromAddress, leavesFocus } from "./controls";
import { type Buffers, type PageData, Run } from "./data";
import { Description } from "./description";
import { el, set } from "./dom";
import { CircuitGraph } from "./gates";
import { History } from "./history";
import { Layers, Stream } from "./layers";
import { ModelPanel } from "./model";
import { Picture } from "./picture";
import { RulesPanel } from "./rules";
import { sequencePanel } from "./sequence/panel";
import { SoftPanel } from "./sequence/soft";
import { type Showing, Store } from "./state";
import { StateGraph } from "./states";
import { Strip } from "./strip";
import { Table } from "./table";
import { Tape } from "./tape";
import { terms } from "./terms";
import { notices, verdict } from "./verdict";
import { stepNamed } from "./words";

/** A width that changes by as little, in pixels, is that of a bar that came or went with what was drawn: nothing is arranged anew. */
const SCROLLBAR = 20;

/** What is around the views. */
export interface Around {
  /** Where the verdicts go. */
  verdict?: HTMLElement | null;
  /** Whether the address keeps the position: `#i=6&layer=4`. */
  address?: boolean;
  /** What the key t does. */
  theme?: () => void;
  /** The weights of the page, which can be changed; null: they are only read. */
  broken?: Broken | null;
  /** Where to begin, if not at the first position of interest. */
  start?: Partial<Showing>;
}

export interface Mounted {
  readonly runs: Run[];
  readonly store: Store;
  /** Show the keys. */
  help(): void;
  /** Take everything out of the element and stop listening. */
  dispose(): void;
}

/** Build the views of a page's runs, and what plays them, into `root`, in place of what is there, and draw them. */
export function mount(root: HTMLElement, data: PageData, buffers: Buffers, around: Around = {}): Mounted {
  const ended = new AbortController();
  const { signal } = ended;
  const runs = data.runs.map((spec) => new Run(spec, buffers));
  const last = Math.max(...runs.map((run) => run.count)) - 1;
  const parts = runs.map((run) => run.spec.divergence?.position).filter((at) => at !== undefined);
  const divergence = parts.length ? Math.min(...parts) : null;
  const circuit = data.circuit && new Circuit(data.circuit, buffers);
  const first = Math.min(last, Math.max(0, runs[0]!.spec.bos ? runs[0]!.turn + 1 : runs[0]!.turn));
  const store = new Store(last, runs[0]!.steps, { i: divergence ?? first, ...around.start, ...(around.address ? fromAddress() : {}) }, ...begins(runs[0]!));
  const graph = data.drawing?.name ?? (circuit ? "circuit" : data.machine ? "state graph" : null);
  const controls = new Controls(store, root, signal, { ...around, divergence, graph, terms: terms(data), stage: (layer) => stepNamed(runs[0]!, layer) });

  const scene = { root, signal, store, buffers, data, circuit, several: runs.length > 1, broken: around.broken ?? null };
  const changes = around.broken && new ChangesPanel(around.broken);
  scene.broken?.watched(changes ? [() => changes.draw()] : []);
  const views = runs.map((run) => view(run, scene));
  changes?.draw();
  const model = data.model && new ModelPanel(data.model, runs[0]!, store);
  store.subscribe(({ layer }) => model?.draw(layer));
  const children = [changes?.element, ...notices(runs, store, data.searched ?? null), el("div", { class: `runs n${runs.length}` }, ...views), model?.element, controls.element, controls.help];
  root.replaceChildren(...children.filter((child) => child != null));
  around.verdict?.replaceChildren(...verdict(runs, circuit !== null));
  const resized = new ResizeObserver(() => store.set({}));
  resized.observe(root);
  addEventListener("resize", () => store.set({}), { signal });
  leavesFocus(root, signal);
  signal.addEventListener("abort", () => {
    resized.disconnect();
    store.end();
    root.replaceChildren();
    around.verdict?.replaceChildren();
  });
  store.set({}); // what the address says may be beyond the end
  store.draw();
  return { runs, store, help: () => controls.help.showModal(), dispose: () => ended.abort() };
}

/** What all views of a page have in common. */
interface Scene {
  root: HTMLElement;
  signal: AbortSignal;
  store: Store;
  buffers: Buffers;
  data: PageData;
  circuit: Circuit | null;
  several: boolean;
  broken: Broken | null;
}

function view(run: Run, { root, signal, store, buffers, data, circuit, several, broken }: Scene): HTMLElement {
  const { machine, sequence, drawing, box } = data;
  const history = run.spec.tape ? new History(run, machine?.blank ?? "_") : null;
  const bits = circuit && new Bits(circuit, run);
  const description = Description.of(run);
  const tape = bits ? new BitsPanel(bits, store) : new Tape(run, machine, history, description);
  const rules = description && new RulesPanel(description, store);
  const strip = new Strip(run, store, circuit, description, [...(box.tokens?.before ?? []), ...(box.tokens?.after ?? [])]);
  const layers = new Layers(run, store, buffers, data.model, broken);
  broken?.watches(...layers.weights.map((card) => () => card.draw()));
  const stream = new Stream(run, store);
  const table = new Table(run, store, history, signal);
  const redraw = () => store.set({});
  const panel = sequence && sequencePanel(sequence, run, store, buffers);
  const soft = SoftPanel.of(run, store, buffers);
  const graph = bits
    ? new CircuitGraph(bits, buffers, redraw)
    : machine
      ? new StateGraph(run, machine, buffers, redraw)
      : drawing
        ? new Picture(run, drawing, buffers, redraw)
        : null;
  const titles: Record<string, string> = { repaired: "With the left-boundary repair", chapter: "As in the chapter, without the repair" };
  const title = several ? el("h2", { class: "run-title" }, titles[run.spec.boundary] ?? run.spec.boundary) : null;
  if (several) for (const { element } of [tape, rules, strip, layers, stream, table, graph, panel, panel?.beside && { element: panel.beside }].filter((part) => part != null)) set(element, { "aria-label": `${element.getAttribute("aria-label")}, ${run.spec.boundary}` });
  const inside = el("div", { class: "inside" });
  const arrange = arranged(inside, {
    title,
    graph: graph && graph.element,
    panel: panel && panel.element,
    beside: panel?.beside ?? null,
    soft: soft && soft.element,
    tape: tape.element,
    rules: rules && rules.element,
    strip: strip.element,
    layers: layers.element,
    table: table.element,
    stream: stream.element,
  });
  let [width, whole] = [0, 0];
  let before = { ...store.now };
  store.subscribe((now) => {
    const { i, layer, raw, playing, lit } = now;
    const pointing = lit !== before.lit && (["i", "layer", "raw", "playing", "node"] as const).every((part) => now[part] === before[part]);
    before = { ...now };
    if (Math.abs(width - root.offsetWidth) > SCROLLBAR || whole !== innerWidth) {
      [width, whole] = [root.offsetWidth, innerWidth];
      arrange();
      for (const part of [tape, strip, table, panel]) part?.measure();
      graph?.fit();
    }
    strip.draw(i, layer, panel?.pointed?.(now));
    panel?.draw(i, layer, now);
    soft?.draw(i);
    if (pointing) return; // nothing else shows it
    tape.draw(i, layer, playing);
    rules?.draw(i);
    layers.draw(i, layer);
    stream.draw(i, layer, raw, panel?.subspace?.(now));
    graph?.draw(i);
    // code that measures comes last, so that the browser lays out the page once
    graph?.follow();
    table.draw(i);
  });
  return el("article", { class: "run", "data-boundary": run.spec.boundary }, inside);
}

/** Put the panels into two columns where the styles have two, otherwise one below the other, with the graph next to the tape; the view of a
 * program that answers at every position is one panel in each column.
 *
 * They are moved, not placed by styles, so that the Tab key and screen readers come to them in the order that is seen.
 */
function arranged(inside: HTMLElement, parts: Record<"title" | "graph" | "panel" | "beside" | "soft" | "rules", HTMLElement | null> & Record<"tape" | "strip" | "layers" | "table" | "stream", HTMLElement>): () => void {
  const { title, tape, rules, strip, layers, graph, panel, beside, soft, table, stream } = parts;
  const side = (...panels: (HTMLElement | null)[]) => el("div", { class: "side" }, ...panels);
  let columns = 0;
  return () => {
    const now = getComputedStyle(inside).gridTemplateColumns.split(" ").length;
    if (now === columns) return;
    columns = now;
    const focused = document.activeElement;
    const middle = beside ? [strip, beside, panel] : [panel, strip];
    const panels = now > 1 ? [side(tape, rules, strip, beside, layers), side(graph, panel, soft, table, stream)] : [tape, rules, graph, ...middle, table, soft, layers, stream];
    inside.replaceChildren(...[title, ...panels].filter((part) => part !== null));
    if (focused instanceof HTMLElement && inside.contains(focused)) focused.focus({ preventScroll: true });
  };
}

/** The position that playing begins at, the layer that is chosen first, and what plays: with a machine in the prompt, BOS, and
 * where its rules are found; where every position is answered, the layers play, and the outputs are chosen. */
function begins(run: Run): [number, number, "positions" | "layers"] {
  const { lead, finds, labels } = run.spec;
  if (labels) return [0, run.steps, "layers"];
  return lead > 0 && finds ? [run.turn, finds[0], "positions"] : [0, run.steps - 1, "positions"];
}
