// The run on the site's home: the explorer's own tape, tokens and layers, played position by position and layer by layer.

import { leavesFocus, PAUSE, PLAY } from "./controls";
import { type PageData, Run, unpacked } from "./data";
import { el, icon, set } from "./dom";
import { History } from "./history";
import { Layers } from "./layers";
import { Store } from "./state";
import { Strip } from "./strip";
import { Tape } from "./tape";

/** How long a layer is shown, and how long the end of the run, in milliseconds. */
const [PACE, REST] = [1100, 4500];
/** Where the run stands if nothing moves by itself: position 6, where layer 4 finds the latest write. */
const STILL = { i: 6, layer: 3 };

/** Plays the layers of each position, from the one that answers the prompt to the end, again and again. */
class Walk {
  private timer = 0;
  private shown = true;
  playing = false;

  constructor(
    private readonly store: Store,
    private readonly changed: () => void,
  ) {}

  /** The number of stages of the run: a layer at a position. */
  get count(): number {
    return (this.store.last - this.store.first + 1) * this.store.layers;
  }

  /** The stage that is shown, from 0. */
  get at(): number {
    const { i, layer } = this.store.now;
    return (i - this.store.first) * this.store.layers + Math.max(0, layer);
  }

  go(stage: number): void {
    const { first, layers } = this.store;
    const to = Math.max(0, Math.min(this.count - 1, stage));
    this.store.set({ i: first + Math.floor(to / layers), layer: to % layers });
  }

  play(on: boolean): void {
    this.playing = on;
    this.next();
    this.changed();
  }

  /** Nothing is played that nobody sees. */
  see(shown: boolean): void {
    this.shown = shown;
    this.next();
  }

  private next(): void {
    clearTimeout(this.timer);
    if (!this.playing || !this.shown) return;
    const ended = this.at >= this.count - 1;
    const tick = () => {
      this.go(ended ? 0 : this.at + 1);
      this.next();
    };
    this.timer = window.setTimeout(tick, ended ? REST : PACE);
  }
}

async function start(root: HTMLElement): Promise<void> {
  const find = (selector: string) => document.querySelector<HTMLElement>(selector)!.textContent;
  const data = JSON.parse(find("#data")) as PageData;
  const buffers = await unpacked(find("#columns"));
  const run = new Run(data.runs[0]!, buffers);
  const store = new Store(run.count - 1, run.spec.layers.length, { i: run.turn, layer: 0 }, run.turn);
  const history = new History(run, data.machine?.blank ?? "_");
  const tape = new Tape(run, data.machine, history);
  const strip = new Strip(run, store, null);
  const layers = new Layers(run, store, buffers, null, null);
  const walk = new Walk(store, () => store.set({}));

  const button = (name: string, path: string, act: () => void, kind = "") =>
    el("button", { type: "button", class: `control ${kind}`, "aria-label": name, title: name, click: act }, icon(path));
  const step = (by: number) => () => {
    walk.play(false);
    walk.go(walk.at + by);
  };
  const play = button("Play", PLAY, () => walk.play(!walk.playing), "play");
  const slider = el("input", { type: "range", min: 0, max: walk.count - 1, "aria-label": "Position and layer", input: () => step(Number(slider.value) - walk.at)() });
  const place = el("p", { class: "place" });
  const controls = el("div", { class: "walk", role: "group", "aria-label": "Playing" }, button("Back", "M17 5v14L7 12z", step(-1)), play, button("Step", "M7 5v14l10-7z", step(1)), slider, place);
  root.replaceChildren(el("div", { class: "inside" }, el("div", { class: "side" }, tape.element, strip.element), layers.element), controls);
  leavesFocus(root);

  let width = 0;
  store.subscribe(({ i, layer }) => {
    if (width !== root.offsetWidth) {
      width = root.offsetWidth;
      for (const view of [tape, strip]) view.measure();
    }
    tape.draw(i, layer, walk.playing);
    strip.draw(i, layer);
    layers.draw(i, layer);
    const name = walk.playing ? "Pause" : "Play";
    set(play, { "aria-label": name, title: name });
    set(play.querySelector("path")!, { d: walk.playing ? PAUSE : PLAY });
    slider.value = String(walk.at);
    place.textContent = `position ${i}, layer ${layer + 1}`;
    set(slider, { "aria-valuetext": place.textContent });
  });
  // who clicks at a token or a layer wants to look at it
  for (const view of [strip, layers]) view.element.addEventListener("click", () => walk.play(false), { capture: true });
  new ResizeObserver(() => store.set({})).observe(root);
  new IntersectionObserver(([entry]) => walk.see(entry!.isIntersecting)).observe(root);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  still.addEventListener("change", () => walk.play(!still.matches));
  if (still.matches) store.set(STILL);
  else walk.play(true);
  store.draw();
  root.dataset["ready"] = "true";
}

start(document.querySelector<HTMLElement>("#run")!);
