// The state graph, drawn by dot or by its WebAssembly, with the current state and rule marked.

import type { MachineSpec, Run } from "./data";
import { el, set } from "./dom";
import { ruleAt } from "./words";

const SMALLEST = 0.62;
const LARGEST = 1.7;

export class Graph {
  readonly element: HTMLElement;
  private readonly scroll = el("div", { class: "scroll graph", tabindex: 0, role: "img" });
  private readonly caption = el("p", { class: "rule mono" });
  private nodes = new Map<number, Element>();
  private edges = new Map<string, Element>();
  private size: [number, number] = [1, 1];
  private partly = false;
  private followed: Element | null = null;

  constructor(
    private readonly run: Run,
    private readonly machine: MachineSpec,
    private readonly redraw: () => void,
  ) {
    const large = el("button", { type: "button", class: "small", "aria-pressed": "false", click: () => this.enlarge(large) }, "enlarge");
    this.element = el("section", { class: "panel graph-panel", "aria-label": "The state graph" }, el("h2", {}, "State graph", large), this.scroll, this.caption);
    const { svg: drawing, dot, none } = machine.graph;
    if (drawing) this.show(drawing);
    else if (dot && window.tm2tfrDraws)
      window
        .tm2tfrDraws(dot)
        .then((text) => {
          this.show(text);
          this.redraw();
        })
        .catch((error: unknown) => (this.scroll.textContent = `The graph cannot be drawn here: ${String(error)}`));
    else this.scroll.textContent = none ?? "";
  }

  draw(position: number): void {
    const { rows } = this.run;
    const i = Math.min(position, this.run.count - 1);
    const name = rows.text("q", i);
    const symbol = rows.text("a", i);
    const state = this.machine.states.findIndex((q) => q.name === name);
    const rule = name !== null && symbol !== null ? ruleAt(this.machine, name, symbol) : undefined;
    for (const marked of this.scroll.querySelectorAll(".now")) marked.classList.remove("now");
    const node = this.nodes.get(state);
    node?.classList.add("now");
    if (rule) {
      const edge = this.edges.get(`s${rule[0]}->s${rule[2]}`);
      edge?.classList.add("now");
      edge?.querySelectorAll("text")[rule[5]]?.classList.add("now");
    }
    if (name === null) this.edges.get(`start->s${this.start()}`)?.classList.add("now");
    const said = name === null ? "not started" : rule ? `δ(${name}, ${symbol}) = (${this.machine.states[rule[2]]!.name}, ${rule[3]}, ${"LSR"[rule[4] + 1]})` : `${name}: no rule for ${symbol ?? "⊥"}`;
    this.caption.textContent = said;
    set(this.scroll, { "aria-label": `State graph of ${this.machine.states.length} states. Current: ${said}` });
  }

  private start(): string {
    return [...this.edges.keys()].find((key) => key.startsWith("start->"))?.slice("start->s".length) ?? "";
  }

  private show(text: string): void {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    const drawing = document.importNode(parsed, true) as unknown as SVGSVGElement;
    const [, , width, height] = (drawing.getAttribute("viewBox") ?? "0 0 100 100").split(/\s+/).map(Number);
    set(drawing, { width: null, height: null, "aria-hidden": "true" });
    this.size = [width!, height!];
    for (const group of drawing.querySelectorAll("g.node, g.edge")) {
      const title = group.querySelector("title")?.textContent ?? "";
      if (group.classList.contains("node")) this.nodes.set(Number(title.slice(1)), group);
      else this.edges.set(title, group);
      group.querySelectorAll("title").forEach((node) => node.remove());
    }
    drawing.querySelector("title")?.remove();
    this.scroll.replaceChildren(drawing);
    if (this.element.isConnected) this.fit();
  }

  /** Show all of it if it can be read then, else as much as can be. */
  fit(): void {
    const drawing = this.scroll.querySelector("svg");
    if (!drawing) return;
    const { clientWidth, clientHeight } = this.scroll;
    const height = parseFloat(getComputedStyle(this.scroll).maxHeight) || clientHeight;
    const whole = Math.min(clientWidth / this.size[0], (height - 14) / this.size[1]);
    const smallest = this.element.classList.contains("large") ? SMALLEST / 1.5 : SMALLEST;
    const scale = Math.max(smallest, Math.min(whole, LARGEST));
    this.partly = scale > whole;
    this.followed = null;
    drawing.style.width = `${Math.floor(this.size[0] * scale)}px`;
    drawing.style.height = `${Math.floor(this.size[1] * scale)}px`;
  }

  /** Keep the current state in view. */
  follow(): void {
    const node = this.partly ? this.scroll.querySelector(".node.now") : null;
    if (!node || node === this.followed) return;
    this.followed = node;
    const box = node.getBoundingClientRect();
    const view = this.scroll.getBoundingClientRect();
    const centre: [number, number] = [box.left + box.width / 2 - view.left, box.top + box.height / 2 - view.top];
    const outside = centre[0] < 60 || centre[0] > view.width - 60 || centre[1] < 40 || centre[1] > view.height - 40;
    if (outside) this.scroll.scrollBy(centre[0] - view.width / 2, centre[1] - view.height / 2);
  }

  private enlarge(button: HTMLElement): void {
    const large = this.element.classList.toggle("large");
    set(button, { "aria-pressed": String(large) });
    button.textContent = large ? "back" : "enlarge";
    this.fit();
    this.redraw();
  }
}
