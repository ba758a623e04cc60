// Playing: buttons, slider, jump, speed, keys, and the address, which keeps the position.

import { keptInAddress } from "./broken/address";
import { el, icon, set } from "./dom";
import type { Showing, Store } from "./state";

const SPEEDS = [0.5, 1, 2, 4, 8, 16, 32, 64, 250, 1000];
export const PLAY = "M8 5v14l11-7z";
export const PAUSE = "M6 5h4v14H6zM14 5h4v14h-4z";

const keys = (graph: string | null, layers: boolean): [string, string][] => [
  ["Space", layers ? "play the layers at this position, pause" : "play, pause"],
  ["→ ←", layers ? "the next position, the previous position" : "one step forward, one step back"],
  ["Shift → ←", layers ? "ten positions on, ten positions back" : "ten steps forward, ten steps back"],
  ["Page Down, Page Up", layers ? "a hundred positions on, a hundred positions back" : "a hundred steps forward, a hundred steps back"],
  ["Home, End", "the first position, the last position"],
  ["↓ ↑", `the next layer, the previous layer; after the ${layers ? "outputs" : "last"} comes the embedding`],
  ...(graph ? [["g", `enlarge the ${graph} to the whole window, and back`] satisfies [string, string]] : []),
  ["+ −", "faster, slower"],
  ["j", "jump to a position"],
  ["d", "jump to the first divergence, if there is one"],
  ["r", "show the raw numbers of the residual stream"],
  ["t", "light, dark, or the system's setting"],
  ["?", "show this"],
];

export interface Settings {
  divergence: number | null;
  /** What the graph is called; null: the page has none. */
  graph: string | null;
  /** The terms of the page with their meanings. */
  terms: [string, string][];
  /** A layer that is chosen, in a few words. */
  stage: (layer: number) => string;
  /** Whether the address keeps the position. */
  address?: boolean;
  /** What the key t does. */
  theme?: () => void;
}

export class Controls {
  readonly element: HTMLElement;
  readonly help: HTMLDialogElement;
  private readonly slider: HTMLInputElement;
  private readonly jump: HTMLInputElement;
  private readonly speed: HTMLSelectElement;
  private readonly play: HTMLButtonElement;
  private readonly stage = el("span", { class: "stage", "aria-live": "off" });
  private timer = 0;

  constructor(
    private readonly store: Store,
    /** What the keys g and ↑ look for is in here. */
    private readonly root: HTMLElement,
    signal: AbortSignal,
    private readonly settings: Settings,
  ) {
    const { last } = store;
    const layers = store.plays === "layers";
    const button = (name: string, path: string, act: () => void, kind = "") =>
      el("button", { type: "button", class: `control ${kind}`, "aria-label": name, title: name, click: act }, icon(path));
    this.play = button("Play", PLAY, () => store.toggle(), "play");
    this.slider = el("input", { type: "range", min: store.first, max: last, step: 1, "aria-label": "Position", input: () => store.set({ i: Number(this.slider.value), playing: false }) });
    this.jump = el("input", { type: "number", min: 0, max: last, "aria-label": "Jump to position", change: () => store.set({ i: Number(this.jump.value), playing: false }) });
    this.jump.style.width = `${String(last).length + 4}ch`;
    this.speed = el(
      "select",
      { "aria-label": "Speed", title: `${store.plays} per second`, change: () => store.set({ speed: Number(this.speed.value) }) },
      ...SPEEDS.map((speed) => el("option", { value: speed }, `${speed}/s`)),
    );
    this.element = el(
      "nav",
      { class: "controls", "aria-label": "Playing" },
      button(layers ? "The embedding" : "First position", "M6 5h2.5v14H6zM20 5v14l-10-7z", () => (layers ? store.advance(-Infinity) : store.begin()), "wide-only"),
      button(layers ? "Back one layer" : "Back", "M17 5v14L7 12z", () => store.advance(-1)),
      this.play,
      button(layers ? "On one layer" : "Step", "M7 5v14l10-7z", () => store.advance(1)),
      button(layers ? "The outputs" : "Last position", "M15.5 5H18v14h-2.5zM4 5v14l10-7z", () => store.advance(Infinity), "wide-only"),
      layers ? this.stage : null,
      layers ? el("span", { class: "wide-only soft", "aria-hidden": "true" }, "position") : null,
      this.slider,
      el("label", { class: "jump" }, this.jump, ` of ${last.toLocaleString("en")}`),
      this.speed,
    );
    this.help = el(
      "dialog",
      { class: "help", "aria-label": "Terms and keys" },
      el("form", { method: "dialog" }, el("button", { class: "small" }, "Close")),
      el("h2", {}, "Terms"),
      el("dl", { class: "terms" }, ...settings.terms.flatMap(([term, meaning]) => [el("dt", {}, term), el("dd", {}, meaning)])),
      el("h2", {}, "Keys"),
      el("dl", {}, ...keys(settings.graph, layers).flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)])),
    );
    store.subscribe((now) => this.draw(now));
    addEventListener("keydown", (event) => this.key(event), { signal });
    // the event's own address: until it comes, the timer of what was drawn before may have written another
    const follow = (event: HashChangeEvent) => store.set({ ...fromAddress(new URL(event.newURL).hash), playing: false });
    if (settings.address) addEventListener("hashchange", follow, { signal });
    signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  private draw(now: Showing): void {
    this.slider.value = String(now.i);
    set(this.slider, { "aria-valuetext": `position ${now.i} of ${this.store.last}` });
    if (document.activeElement !== this.jump) this.jump.value = String(now.i);
    this.speed.value = String(now.speed);
    this.stage.textContent = this.settings.stage(now.layer);
    const name = now.playing ? "Pause" : this.store.plays === "layers" ? "Play the layers at this position" : "Play";
    set(this.play, { "aria-label": name, title: name, "data-playing": String(now.playing) });
    set(this.play.querySelector("path")!, { d: now.playing ? PAUSE : PLAY });
    // browsers refuse an address that changes many times per second
    clearTimeout(this.timer);
    if (!this.settings.address) return;
    this.timer = window.setTimeout(() => toAddress(now, this.store.home), now.playing ? 400 : 80);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog")) return;
    if (target === this.jump || target instanceof HTMLSelectElement) {
      if (event.key === "Enter" || event.key === "Escape") target.blur();
      return;
    }
    if (target !== this.slider && (target.matches("input, textarea") || target.isContentEditable)) return; // somebody types there
    if (target.matches("button, summary") && (event.key === " " || event.key === "Enter")) return;
    if (target.matches(".graph.partly") && event.key.startsWith("Arrow")) return; // moves the graph
    const act = this.action(event);
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Choose the layer before or after, the embedding between the last and the first, and bring it into view. */
  private turn(by: number): void {
    const stages = this.store.top + 2;
    this.store.set({ layer: ((this.store.now.layer + 1 + by + stages) % stages) - 1 });
    requestAnimationFrame(() => this.root.querySelector(".layer.chosen")?.scrollIntoView({ block: "nearest" }));
  }

  private action(event: KeyboardEvent): (() => void) | undefined {
    const { store, root } = this;
    const { divergence, theme } = this.settings;
    const faster = (by: number) => () =>
      store.set({ speed: SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(store.now.speed) + by))]! });
    const actions: Record<string, () => void> = {
      " ": () => store.toggle(),
      k: () => store.toggle(),
      ArrowRight: () => store.step(event.shiftKey ? 10 : 1),
      ArrowLeft: () => store.step(event.shiftKey ? -10 : -1),
      ArrowUp: () => this.turn(-1),
      ArrowDown: () => this.turn(1),
      PageDown: () => store.step(100),
      PageUp: () => store.step(-100),
      Home: () => store.begin(),
      End: () => store.step(Infinity),
      "+": faster(1),
      "=": faster(1),
      "-": faster(-1),
      j: () => this.jump.select(),
      g: () => root.querySelector<HTMLElement>("[data-enlarges]")?.click(),
      r: () => store.set({ raw: !store.now.raw }),
      t: () => theme?.(),
      "?": () => this.help.showModal(),
    };
    if (root.querySelector(".graph-panel.large")) actions["Escape"] = actions["g"]!;
    if (divergence !== null) actions["d"] = () => store.set({ i: divergence, playing: false });
    return actions[event.key];
  }
}

/** Let a button that is clicked leave the keys where they are, so that Space still plays. */
export function leavesFocus(root: HTMLElement, signal?: AbortSignal): void {
  const prevent = (event: MouseEvent) => {
    if ((event.target as Element).closest("button")) event.preventDefault();
  };
  root.addEventListener("mousedown", prevent, signal ? { signal } : {});
}

/** What the address says: `#i=6&layer=4`. */
export function fromAddress(hash = location.hash): Partial<Showing> {
  const said = new URLSearchParams(hash.slice(1));
  const found: Partial<Showing> = {};
  const [i, layer] = [said.get("i"), said.get("layer")];
  if (i !== null && /^\d+$/.test(i)) found.i = Number(i);
  if (layer !== null && /^\d+$/.test(layer)) found.layer = Number(layer) - 1;
  return found;
}

function toAddress({ i, layer }: Showing, home: number): void {
  const hash = `#${[`i=${i}`, ...(layer === home ? [] : [`layer=${layer + 1}`]), ...keptInAddress()].join("&")}`;
  if (hash === location.hash) return;
  try {
    history.replaceState(null, "", hash);
  } catch {
    // a frame in a notebook does not have its own address
  }
}
