// The state graph, drawn by dot or by its WebAssembly, with the current state and rule marked.

import { type Buffers, type MachineSpec, type Run, textAt } from "./data";
import { el, set } from "./dom";
import { ruleAt } from "./words";

/** Letters are readable at this scale; if the whole graph would be smaller, part of it is shown at this scale. */
const READABLE = 0.62;
const SMALLEST = 0.42;
const LARGEST = 1.7;
const STEP = 1.3;
const MOST = 4;

export class Graph {
  readonly element: HTMLElement;
  private readonly scroll = el("div", { class: "scroll graph", tabindex: 0, role: "img" });
  private readonly caption = el("p", { class: "rule mono" });
  private nodes = new Map<number, Element>();
  private edges = new Map<string, Element>();
  private size: [number, number] = [1, 1];
  /** The chosen scale, "whole", or "auto": the whole graph if it is readable then. */
  private zoom: number | "whole" | "auto" = "auto";
  private scale = 1;
  private partly = false;
  private followed: Element | null = null;
  private readonly smaller: HTMLElement;
  private readonly whole: HTMLElement;
  private readonly large: HTMLElement;

  constructor(
    private readonly run: Run,
    private readonly machine: MachineSpec,
    buffers: Buffers,
    private readonly redraw: () => void,
  ) {
    const button = (text: string, name: string, act: () => void) =>
      el("button", { type: "button", class: "small", "aria-label": name, title: name, click: act }, text);
    this.smaller = button("−", "Zoom out", () => this.zoomTo(this.scale / STEP));
    this.whole = button("whole", "Show the whole state graph", () => this.zoomTo("whole"));
    this.large = button("enlarge", "Enlarge the state graph to the whole window", () => this.enlarge());
    set(this.large, { "data-enlarges": "", "aria-pressed": "false" });
    const zooming = el(
      "span",
      { class: "zooming" },
      this.smaller,
      button("+", "Zoom in", () => this.zoomTo(this.scale * STEP)),
      this.whole,
      this.large,
    );
    this.element = el("section", { class: "panel graph-panel", "aria-label": "The state graph" }, el("h2", {}, "State graph", zooming), this.scroll, this.caption);
    this.draggable();
    const { svg: drawing, dot, none } = machine.graph;
    if (drawing) this.show(textAt(buffers, drawing));
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

  /** Give the drawing its size: the whole graph if it is readable then, otherwise as much as is, or the chosen scale. */
  fit(): void {
    const drawing = this.scroll.querySelector("svg");
    if (!drawing) return;
    const { clientWidth, clientHeight } = this.scroll;
    const height = parseFloat(getComputedStyle(this.scroll).maxHeight) || clientHeight;
    const whole = Math.min(clientWidth / this.size[0], (height - 14) / this.size[1], LARGEST);
    const readable = whole < SMALLEST && !this.element.classList.contains("large") ? READABLE : whole;
    this.scale = this.zoom === "whole" ? whole : this.zoom === "auto" ? readable : Math.max(whole, Math.min(this.zoom, MOST));
    this.partly = this.scale > whole;
    this.followed = null;
    this.scroll.classList.toggle("partly", this.partly);
    set(this.smaller, { disabled: !this.partly });
    set(this.whole, { "aria-pressed": String(!this.partly) });
    drawing.style.width = `${Math.floor(this.size[0] * this.scale)}px`;
    drawing.style.height = `${Math.floor(this.size[1] * this.scale)}px`;
  }

  private zoomTo(zoom: number | "whole" | "auto"): void {
    this.zoom = zoom;
    this.fit();
    this.redraw();
  }

  /** Move a partly shown graph by dragging it; touch screens do so by themselves. */
  private draggable(): void {
    const { scroll } = this;
    scroll.addEventListener("mousedown", (event) => event.preventDefault()); // otherwise the arrow keys would move the graph from now on
    scroll.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || !this.partly) return;
      scroll.setPointerCapture(event.pointerId);
    });
    scroll.addEventListener("pointermove", (event) => {
      if (scroll.hasPointerCapture(event.pointerId)) scroll.scrollBy(-event.movementX, -event.movementY);
    });
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

  private enlarge(): void {
    const large = this.element.classList.toggle("large");
    set(this.large, { "aria-pressed": String(large) });
    this.large.textContent = large ? "back" : "enlarge";
    this.zoomTo("auto");
  }
}
