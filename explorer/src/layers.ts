// The layers, each with its meaning, its equation, where its heads look and what it wrote; and the residual stream.

import type { Broken } from "./broken/broken";
import { WeightsCard } from "./broken/card";
import { layerListing, textOf } from "./broken/listing";
import { type Buffers, type ModelSpec, type Run, shares } from "./data";
import { el, set } from "./dom";
import { weightsOf } from "./live/worker";
import type { Store } from "./state";
import { sample } from "./strip";
import { apart, blamedLayer, count, digits, shortened, stepNamed, symbolOf, typesetter, words } from "./words";

/** The most positions that are named where several share the weight. */
const MOST_NAMED = 12;
/** The most characters of a value beside its equation. */
const MOST_CHARACTERS = 26;

/** A stage of the computation, and the parts of its card that change. */
interface Card {
  card: HTMLElement;
  button: HTMLElement;
  heads: HTMLElement;
  wrote: HTMLElement;
  /** By the name of a subspace, the equation of what is in it. */
  equations: Map<string, string>;
}

export class Layers {
  readonly element: HTMLElement;
  /** The weights of the embedding, of each layer and of the unembedding, if they can be changed. */
  readonly weights: WeightsCard[] = [];
  private readonly typeset: (text: string) => Node[];
  /** The embedding, then the layers. */
  private readonly cards: Card[];
  private readonly loops: Passes[];
  private readonly outputs: Card | null;

  constructor(
    private readonly run: Run,
    private readonly store: Store,
    private readonly buffers: Buffers,
    private readonly model: ModelSpec | null,
    private readonly broken: Broken | null,
  ) {
    const { layers, labels, loops } = run.spec;
    this.typeset = typesetter(run.spec);
    this.cards = [this.embedding(), ...layers.map((_, l) => this.card(l))];
    this.loops = loops.map(([first, last]) => new Passes(run, store, first, last));
    this.outputs = labels ? this.answers() : null;
    const items = this.cards.flatMap(({ card }, n) => [...this.loops.filter(({ first }) => first === n - 1).map(({ element }) => element), card]);
    if (broken) broken.invite = () => this.weights[this.breakable(run.layerOf(store.now.layer) + 1)]!.invite();
    const blamed = blamedLayer(run.spec);
    if (blamed !== null) {
      const { card } = this.cards[blamed]!;
      card.classList.add("blamed");
      card.querySelector(".top")!.append(el("span", { class: "blame" }, "✗ the first wrong value"));
    }
    this.element = el(
      "section",
      { class: "panel layers-panel", "aria-label": "The layers" },
      el("h2", {}, labels ? "How the outputs are computed" : "How the next token is computed"),
      el("ol", { class: "layers" }, ...items, this.outputs?.card, broken && !labels ? this.unembedding(broken) : null),
    );
  }

  /** The layer to break a weight in, up to this one: the last with a head, whose first weight most runs use, unlike a rule's. */
  private breakable(number: number): number {
    const found = this.run.spec.layers.slice(0, number).findLastIndex(({ heads }) => heads.length) + 1;
    return found || Math.max(1, number);
  }

  draw(position: number, chosen: number): void {
    const { run } = this;
    const i = Math.min(position, run.count - 1);
    const layer = run.layerOf(chosen);
    const steps = [-1, ...run.stepsWith(chosen)];
    this.cards.forEach((card, n) => {
      mark(card, n - 1 === layer);
      card.heads.replaceChildren(...this.heads(n - 1, steps[n]!, i));
      card.wrote.replaceChildren(...this.wrote(steps[n]!, i, card.equations));
    });
    for (const loop of this.loops) loop.draw(steps[loop.first + 1]!);
    if (!this.outputs) return;
    mark(this.outputs, layer === run.spec.layers.length);
    this.outputs.wrote.replaceChildren(...this.answered(i));
  }

  /** What the stream contains before the first layer. */
  private embedding(): Card {
    const wrote = el("p", { class: "wrote" });
    const button = this.button("0", "embedding", () => -1);
    const meaning = el("span", { class: "meaning" }, "the token at this position, and the position itself");
    const weights = this.broken && this.changeable(new WeightsCard(this.broken, 0, "the embedding", []));
    const card = el("li", { class: "layer", "data-layer": 0 }, el("div", { class: "top" }, button, meaning), el("div", { class: "bottom" }, wrote, weights?.button), weights?.element);
    return { card, button, heads: el("ul"), wrote, equations: new Map() };
  }

  /** What is read off the stream after the last layer. */
  private answers(): Card {
    const wrote = el("p", { class: "wrote" });
    const button = this.button("✓", "outputs", () => this.store.top);
    const meaning = el("span", { class: "meaning" }, "the values that the unembedding reads from the stream after the last layer");
    const number = this.run.spec.layers.length + 1;
    const weights = this.broken && this.changeable(new WeightsCard(this.broken, number, "the unembedding", []));
    const card = el("li", { class: "layer outputs-card", "data-layer": number }, el("div", { class: "top" }, button, meaning), el("div", { class: "bottom" }, wrote, weights?.button), weights?.element);
    return { card, button, heads: el("ul"), wrote, equations: new Map() };
  }

  private button(number: string, name: string, step: () => number): HTMLElement {
    const click = () => this.store.set({ layer: step() });
    return el("button", { type: "button", class: "layer-name", "aria-pressed": "false", click }, el("span", { class: "number" }, number), name);
  }

  private card(l: number): Card {
    const { run, typeset } = this;
    const layer = run.spec.layers[l]!;
    const heads = el("ul", { class: "looks" });
    const wrote = el("p", { class: "wrote" });
    const button = this.button(String(l + 1), layer.name, () => run.stepsWith(this.store.now.layer)[l]!);
    const scores = layer.heads.map((head, k) => el("p", { class: "score" }, el("b", {}, `${l + 1}.${k + 1} `), "score of j seen from i: ", ...typeset(head.score)));
    const called = `layer ${l + 1}`;
    const weights = this.broken ? this.changeable(new WeightsCard(this.broken, l + 1, called, scores)) : read(called, scores, () => run.weights[l] ?? textOf(layerListing(...weightsOf(run.spec, this.buffers), l + 1)));
    const equations = this.equations(l);
    const source = run.spec.labels ? [...new Set(layer.heads.map((head) => head.source))].filter(Boolean).join("; ") : layer.source;
    const card = el(
      "li",
      { class: "layer", "data-layer": l + 1 },
      el("div", { class: "top" }, button, el("span", { class: "equation" }, ...typeset(layer.equation)), el("span", { class: "source" }, source), equations.size ? weights.button : null),
      equations.size ? null : el("p", { class: "meaning" }, layer.meaning),
      heads,
      el("div", { class: "bottom" }, wrote, equations.size ? null : weights.button),
      weights.element,
    );
    return { card, button, heads, wrote, equations };
  }

  /** What is read off the stream after the last layer. */
  private unembedding(broken: Broken): HTMLElement {
    const weights = this.changeable(new WeightsCard(broken, this.run.spec.layers.length + 1, "the unembedding", []));
    const name = el("span", { class: "layer-name" }, "unembedding");
    const meaning = el("span", { class: "meaning" }, "one logit per token: the next token is the first one with the largest logit");
    return el("li", { class: "layer", "data-layer": "unembedding" }, el("div", { class: "top" }, name, meaning), el("div", { class: "bottom" }, weights.button), weights.element);
  }

  private changeable(card: WeightsCard): WeightsCard {
    this.weights.push(card);
    return card;
  }

  /** By the name of a subspace, the equation of the variable in it, of those that a layer without an equation of its own writes. */
  private equations(l: number): Map<string, string> {
    const { model, run } = this;
    const written = model && !run.spec.layers[l]!.equation ? model.variables.filter(({ stored, since }) => stored && since.layer === l + 1) : [];
    return new Map(written.map(({ name, formula }) => [name, formula.startsWith(`${name} = `) ? formula.slice(name.length + 3) : formula]));
  }

  /** The equation of the positions that a head attends to, where the model has one. */
  private pattern(claim: string): string | null {
    return this.run.spec.labels ? (this.model?.patterns.find((each) => each.claim === claim)?.formula ?? null) : null;
  }

  private heads(l: number, step: number, i: number): HTMLElement[] {
    const before = this.run.spec.layers.slice(0, Math.max(0, l)).reduce((sum, layer) => sum + layer.heads.length, 0);
    return (this.run.spec.layers[l]?.heads ?? []).map((head, k) => {
      const look = this.run.look(step, k, i);
      const fact = (name: string, value: string, full: number) =>
        el("span", { class: "fact", title: String(full) }, `${name} `, el("b", {}, value));
      const named = look.sharers.slice(0, MOST_NAMED).join(", ") + (look.sharers.length > MOST_NAMED ? ", …" : "");
      const where = look.uniform
        ? `all scores are ${digits(look.score)}: the mean of all ${count(look.count, "position")}`
        : look.weights
          ? `${i} → ${shares(look, MOST_NAMED)}`
          : look.count > 1
          ? `${i} → ${named}: ${count(look.count, "position")} share the attention`
          : `${i} → ${look.winner}`;
      const token = look.uniform || look.count > 1 ? null : el("span", { class: "mono token" }, this.run.rows.fed(look.winner));
      const [score, runner] = apart(look.score, look.runnerScore);
      const facts =
        look.uniform || look.sight[1] - look.sight[0] < 2
          ? []
          : [
              fact("score", score, look.score),
              ...(look.runner < 0
                ? []
                : [
                    fact(`runner-up ${look.runner}:`, runner, look.runnerScore),
                    fact("gap", digits(look.score - look.runnerScore), look.score - look.runnerScore),
                  ]),
            ];
      const n = before + k;
      const formula = this.pattern(head.claim);
      return el(
        "li",
        { class: `look hue${n % 7}`, "data-head": `${l + 1}.${k + 1}` },
        sample(n),
        el("b", { class: "tag" }, `${l + 1}.${k + 1}`),
        el("span", { class: "head-name" }, ...this.typeset(formula ?? head.name)),
        el("span", { class: "where" }, where),
        token,
        ...facts,
      );
    });
  }

  private wrote(step: number, i: number, equations: Map<string, string>): (Node | string)[] {
    const { run } = this;
    if (equations.size) return this.computed(step, i, equations);
    const changed = run.spec.subspaces.flatMap((subspace, n) =>
      run.changed(n, step, i) ? [el("span", { class: "value" }, ...symbol(run, subspace.name), " = ", el("b", { class: "mono" }, words(run, subspace, run.value(n, 2 * step + 2, i), i)))] : [],
    );
    return changed.length ? ["writes ", ...changed] : ["writes nothing here"];
  }

  /** What a step writes, each value with its equation; what it leaves as it was at this position is faint. */
  private computed(step: number, i: number, equations: Map<string, string>): HTMLElement[] {
    const { run } = this;
    return run.spec.subspaces.flatMap((subspace, n) => {
      const [formula, changed] = [equations.get(subspace.name), run.changed(n, step, i)];
      if (formula === undefined && !changed) return [];
      const whole = words(run, subspace, run.value(n, 2 * step + 2, i), i);
      const text = shortened(whole, MOST_CHARACTERS);
      const value = el("b", { class: "value mono", title: text === whole ? null : whole }, text);
      const equation = formula === undefined || formula === subspace.name ? null : ` = ${formula}`;
      return el("span", { class: `computed${changed ? "" : " same"}` }, el("span", {}, el("b", {}, subspace.name), equation), value);
    });
  }

  /** The outputs at a position, each with the result of the comparison. */
  private answered(i: number): HTMLElement[] {
    const { run } = this;
    return run.spec.columns.slice(1).map(({ name }) => {
      const due = run.wrong(name, i);
      const tick = due !== undefined ? el("span", { class: "tick bad" }, ` ✗ should be ${due}`) : run.compared(name, i) ? el("span", { class: "tick" }, "✓") : null;
      return el("span", { class: "value" }, name, " = ", el("b", { class: "mono" }, run.rows.cell(name, i)), tick);
    });
  }
}

function mark({ card, button }: Card, chosen: boolean): void {
  card.classList.toggle("chosen", chosen);
  set(button, { "aria-pressed": String(chosen) });
}

/** The name of a subspace as nodes. */
function symbol(run: Run, name: string): Node[] {
  return typesetter(run.spec)(run.spec.labels ? name : symbolOf(name));
}

/** A loop: the pass that is shown, and buttons for the one before and the one after. */
class Passes {
  readonly element: HTMLElement;
  private readonly text = el("b", {});
  private readonly back: HTMLButtonElement;
  private readonly on: HTMLButtonElement;
  private pass = 1;

  constructor(
    private readonly run: Run,
    private readonly store: Store,
    /** The first layer, from 0. */
    readonly first: number,
    last: number,
  ) {
    const button = (sign: string, name: string, by: number) => el("button", { type: "button", class: "small", "aria-label": name, title: name, click: () => this.turn(by) }, sign);
    this.back = button("‹", "the pass before", -1);
    this.on = button("›", "the next pass", 1);
    const what = first === last ? `layer ${first + 1} runs repeatedly:` : `layers ${first + 1} to ${last + 1} run repeatedly:`;
    this.element = el("li", { class: "loop" }, what, this.back, this.text, this.on);
  }

  /** step: that of its first layer in the pass that is shown. */
  draw(step: number): void {
    const all = this.run.passes(this.first);
    this.pass = this.run.spec.steps[step]![1];
    this.text.textContent = `pass ${this.pass} of ${all}`;
    set(this.back, { disabled: this.pass === 1 });
    set(this.on, { disabled: this.pass === all });
  }

  /** Choose another pass, at the layer that is chosen, or the first. */
  private turn(by: number): void {
    const { steps, loops } = this.run.spec;
    const [first, last] = loops.find((loop) => loop[0] === this.first)!;
    const layer = this.run.layerOf(this.store.now.layer);
    const wanted = layer >= first && layer <= last ? layer : first;
    this.store.set({ layer: steps.findIndex(([each, pass]) => each === wanted && pass === this.pass + by), playing: false });
  }
}

/** Weights that are only read: the button that opens them, and they. */
function read(called: string, scores: Node[], listing: () => string): { button: HTMLButtonElement; element: HTMLElement } {
  const text = el("pre", { tabindex: 0 });
  const element = el("div", { class: "weights", hidden: true }, ...scores, text);
  const button = el("button", {
    type: "button",
    class: "small",
    "aria-expanded": "false",
    "aria-label": `the weights of ${called}`,
    click: () => {
      element.hidden = !element.hidden;
      text.textContent ||= listing();
      set(button, { "aria-expanded": String(!element.hidden) });
    },
  }, "weights");
  return { button, element };
}

export class Stream {
  readonly element: HTMLElement;
  private readonly title = el("span", {});
  private readonly list = el("ul", { class: "stream" });
  private readonly choice: HTMLSelectElement;
  private readonly raw: HTMLButtonElement;

  constructor(
    private readonly run: Run,
    store: Store,
  ) {
    const names = ["the embedding", ...run.spec.steps.map(([layer], step) => `${stepNamed(run, step)}: ${run.spec.layers[layer]!.name}`)];
    this.choice = el(
      "select",
      { "aria-label": "After which layer", change: () => store.set({ layer: Number(this.choice.value) }) },
      ...names.map((name, n) => el("option", { value: n - 1 }, name)),
    );
    this.raw = el(
      "button",
      { type: "button", class: "small", "aria-pressed": "false", click: () => store.set({ raw: !store.now.raw }) },
      "raw numbers",
    );
    this.list.classList.toggle("named", run.spec.labels);
    this.element = el(
      "section",
      { class: "panel stream-panel", "aria-label": "The residual stream" },
      el("h2", {}, "Residual stream ", this.title),
      el("div", { class: "tools" }, el("label", {}, "after ", this.choice), this.raw, el("span", { class: "legend" }, "◆ changed by this layer")),
      this.list,
    );
  }

  /** held: the subspace to mark, of what is chosen elsewhere. */
  draw(position: number, layer: number, raw: boolean, held: number | null = null): void {
    const { run } = this;
    const i = Math.min(position, run.count - 1);
    this.choice.value = String(Math.min(layer, run.steps - 1));
    this.title.textContent = `at position ${i}`;
    set(this.raw, { "aria-pressed": String(raw) });
    this.list.replaceChildren(
      ...run.spec.subspaces.flatMap((subspace, n) => {
        if (subspace.labels?.length === 0) return [];
        const value = run.value(n, 2 * layer + 2, i);
        const changed = run.changed(n, layer, i);
        const empty = value.coordinates.every((v) => v === 0);
        return [
          el(
            "li",
            { class: `${changed ? "changed" : ""} ${empty ? "empty" : ""} ${n === held ? "held" : ""}`, "data-subspace": subspace.name },
            el("span", { class: "mark" }, changed ? "◆" : ""),
            el("span", { class: "name", title: subspace.name }, ...symbol(run, subspace.name)),
            el("span", { class: "mono words" }, words(run, subspace, value, i)),
            raw ? el("code", {}, `[${value.coordinates.map(String).join(", ")}]`) : null,
          ),
        ];
      }),
    );
  }
}
