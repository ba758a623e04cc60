// A graph, drawn by dot or by its WebAssembly: its size, its place on the page, and its nodes and edges for those who mark them.

import { type Buffers, type DrawingSpec, textAt } from "./data";
import { el, set } from "./dom";

/** Letters are readable at this scale; if the whole graph would be smaller, part of it is shown at this scale. */
const READABLE = 0.62;
const SMALLEST = 0.37;
const LARGEST = 1.7;
const STEP = 1.3;
const MOST = 4;

export abstract class Graph {
  readonly element: HTMLElement;
  protected readonly scroll = el("div", { class: "scroll graph", tabindex: 0, role: "img" });
  protected readonly caption = el("p", { class: "rule mono" });
  /** By what the drawing calls them: `s0`, `s0->s1`; several edges may join the same nodes. */
  protected readonly nodes = new Map<string, Element>();
  protected readonly edges = new Map<string, Element[]>();
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
    /** What the graph is called: `state graph`. */
    protected readonly name: string,
    drawn: DrawingSpec,
    buffers: Buffers,
    private readonly redraw: () => void,
  ) {
    const button = (text: string, name: string, act: () => void) =>
      el("button", { type: "button", class: "small", "aria-label": name, title: name, click: act }, text);
    this.smaller = button("−", "Zoom out", () => this.zoomTo(this.scale / STEP));
    this.whole = button("whole", `Show the whole ${name}`, () => this.zoomTo("whole"));
    this.large = button("enlarge", `Enlarge the ${name} to the whole window`, () => this.enlarge());
    set(this.large, { "data-enlarges": "", "aria-pressed": "false" });
    const zooming = el(
      "span",
      { class: "zooming" },
      this.smaller,
      button("+", "Zoom in", () => this.zoomTo(this.scale * STEP)),
      this.whole,
      this.large,
    );
    this.element = el("section", { class: "panel graph-panel", "aria-label": `The ${name}` }, el("h2", {}, `${name[0]!.toUpperCase()}${name.slice(1)}`, zooming), this.scroll, this.caption);
    this.draggable();
    const { svg: drawing, dot, none } = drawn;
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

  /** Mark what is current at a position. */
  abstract draw(position: number): void;

  private show(text: string): void {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    const drawing = document.importNode(parsed, true) as unknown as SVGSVGElement;
    const [, , width, height] = (drawing.getAttribute("viewBox") ?? "0 0 100 100").split(/\s+/).map(Number);
    set(drawing, { width: null, height: null, "aria-hidden": "true" });
    this.size = [width!, height!];
    for (const group of drawing.querySelectorAll("g.node, g.edge")) {
      const title = group.querySelector("title")?.textContent ?? "";
      if (group.classList.contains("node")) this.nodes.set(title, group);
      else this.edges.set(title, [...(this.edges.get(title) ?? []), group]);
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

  /** Take the marks off all nodes and edges. */
  protected unmark(...marks: string[]): void {
    for (const mark of marks) for (const marked of this.scroll.querySelectorAll(`.${mark}`)) marked.classList.remove(mark);
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

  /** Keep the current node in view. */
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
