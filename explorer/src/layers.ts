// The layers, each with its meaning, its equation, where its heads look and what it wrote; and the residual stream.

import type { Broken } from "./broken/broken";
import { WeightsCard } from "./broken/card";
import type { Run } from "./data";
import { el, set } from "./dom";
import type { Store } from "./state";
import { sample } from "./strip";
import { apart, count, digits, math, symbolOf, words } from "./words";

export class Layers {
  readonly element: HTMLElement;
  /** The weights of the embedding, of each layer and of the unembedding, if they can be changed. */
  readonly weights: WeightsCard[] = [];
  private readonly cards: { card: HTMLElement; button: HTMLElement; heads: HTMLElement; wrote: HTMLElement }[];

  constructor(
    private readonly run: Run,
    private readonly store: Store,
    private readonly broken: Broken | null = null,
  ) {
    this.cards = [this.embedding(), ...run.spec.layers.map((_, l) => this.card(l))];
    if (broken) broken.invite = () => this.weights[Math.max(1, store.now.layer + 1)]!.invite();
    this.element = el(
      "section",
      { class: "panel layers-panel", "aria-label": "The layers" },
      el("h2", {}, "How the next token is computed"),
      el("ol", { class: "layers" }, ...this.cards.map(({ card }) => card), broken && this.unembedding(broken)),
    );
  }

  draw(position: number, layer: number): void {
    const i = Math.min(position, this.run.count - 1);
    this.cards.forEach(({ card, button, heads, wrote }, n) => {
      const l = n - 1;
      card.classList.toggle("chosen", l === layer);
      set(button, { "aria-pressed": l === layer ? "true" : "false" });
      heads.replaceChildren(...this.heads(l, i));
      wrote.replaceChildren(...this.wrote(l, i));
    });
  }

  /** What the stream contains before the first layer. */
  private embedding(): Layers["cards"][number] {
    const wrote = el("p", { class: "wrote" });
    const button = el(
      "button",
      { type: "button", class: "layer-name", "aria-pressed": "false", click: () => this.store.set({ layer: -1 }) },
      el("span", { class: "number" }, "0"),
      "embedding",
    );
    const meaning = el("span", { class: "meaning" }, "the token at this position, and the position itself");
    const weights = this.broken && this.changeable(new WeightsCard(this.broken, 0, "the embedding", []));
    const card = el("li", { class: "layer", "data-layer": 0 }, el("div", { class: "top" }, button, meaning), el("div", { class: "bottom" }, wrote, weights?.button), weights?.element);
    return { card, button, heads: el("ul"), wrote };
  }

  private card(l: number): Layers["cards"][number] {
    const layer = this.run.spec.layers[l]!;
    const heads = el("ul", { class: "looks" });
    const wrote = el("p", { class: "wrote" });
    const button = el(
      "button",
      { type: "button", class: "layer-name", "aria-pressed": "false", click: () => this.store.set({ layer: l }) },
      el("span", { class: "number" }, String(l + 1)),
      layer.name,
    );
    const scores = layer.heads.map((head, k) => el("p", { class: "score" }, el("b", {}, `${l + 1}.${k + 1} `), "score of j seen from i: ", ...math(head.score)));
    const called = `layer ${l + 1}`;
    const weights = this.broken ? this.changeable(new WeightsCard(this.broken, l + 1, called, scores)) : read(called, scores, this.run.weights[l] ?? "");
    const card = el(
      "li",
      { class: "layer", "data-layer": l + 1 },
      el("div", { class: "top" }, button, el("span", { class: "equation" }, ...math(layer.equation)), el("span", { class: "source" }, layer.source)),
      el("p", { class: "meaning" }, layer.meaning),
      heads,
      el("div", { class: "bottom" }, wrote, weights.button),
      weights.element,
    );
    return { card, button, heads, wrote };
  }

  /** What is read off the stream after the last layer. */
  private unembedding(broken: Broken): HTMLElement {
    const weights = this.changeable(new WeightsCard(broken, this.run.spec.layers.length + 1, "the unembedding", []));
    const name = el("span", { class: "layer-name" }, "unembedding");
    const meaning = el("span", { class: "meaning" }, "a logit for each token: the next token is the first with the largest");
    return el("li", { class: "layer", "data-layer": "unembedding" }, el("div", { class: "top" }, name, meaning), el("div", { class: "bottom" }, weights.button), weights.element);
  }

  private changeable(card: WeightsCard): WeightsCard {
    this.weights.push(card);
    return card;
  }

  private heads(l: number, i: number): HTMLElement[] {
    const before = this.run.spec.layers.slice(0, Math.max(0, l)).reduce((sum, layer) => sum + layer.heads.length, 0);
    return (this.run.spec.layers[l]?.heads ?? []).map((head, k) => {
      const look = this.run.look(l, k, i);
      const fact = (name: string, value: string, full: number) =>
        el("span", { class: "fact", title: String(full) }, `${name} `, el("b", {}, value));
      const where = look.uniform
        ? `all scores are ${digits(look.score)}: the mean of all ${count(i + 1, "position")}`
        : look.count > 1
          ? `${i} → ${look.sharers.join(", ")}: ${count(look.count, "position")} share the weight`
          : `${i} → ${look.winner}`;
      const token = look.uniform || look.count > 1 ? null : el("span", { class: "mono token" }, this.run.rows.fed(look.winner));
      const [score, runner] = apart(look.score, look.runnerScore);
      const facts =
        look.uniform || i === 0
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
      return el(
        "li",
        { class: `look hue${n % 7}`, "data-head": `${l + 1}.${k + 1}` },
        sample(n),
        el("b", { class: "tag" }, `${l + 1}.${k + 1}`),
        el("span", { class: "head-name" }, ...math(head.name)),
        el("span", { class: "where" }, where),
        token,
        ...facts,
      );
    });
  }

  private wrote(l: number, i: number): (Node | string)[] {
    const { run } = this;
    const changed = run.spec.subspaces.flatMap((subspace, n) =>
      run.changed(n, l, i) ? [el("span", { class: "value" }, ...math(symbolOf(subspace.name)), " = ", el("b", { class: "mono" }, words(subspace, run.value(n, 2 * l + 2, i), i)))] : [],
    );
    return changed.length ? ["writes ", ...changed] : ["writes nothing here"];
  }
}

/** Weights that are only read: the button that opens them, and they. */
function read(called: string, scores: Node[], listing: string): { button: HTMLButtonElement; element: HTMLElement } {
  const element = el("div", { class: "weights", hidden: true }, ...scores, el("pre", { tabindex: 0 }, listing));
  const button = el("button", {
    type: "button",
    class: "small",
    "aria-expanded": "false",
    "aria-label": `the weights of ${called}`,
    click: () => {
      element.hidden = !element.hidden;
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
    const names = ["the embedding", ...run.spec.layers.map((layer, l) => `layer ${l + 1}: ${layer.name}`)];
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
    this.element = el(
      "section",
      { class: "panel stream-panel", "aria-label": "The residual stream" },
      el("h2", {}, "Residual stream ", this.title),
      el("div", { class: "tools" }, el("label", {}, "after ", this.choice), this.raw, el("span", { class: "legend" }, "◆ changed by this layer")),
      this.list,
    );
  }

  draw(position: number, layer: number, raw: boolean): void {
    const { run } = this;
    const i = Math.min(position, run.count - 1);
    this.choice.value = String(layer);
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
            { class: `${changed ? "changed" : ""} ${empty ? "empty" : ""}`, "data-subspace": subspace.name },
            el("span", { class: "mark" }, changed ? "◆" : ""),
            el("span", { class: "name", title: subspace.name }, ...math(symbolOf(subspace.name))),
            el("span", { class: "mono words" }, words(subspace, value, i)),
            raw ? el("code", {}, `[${value.coordinates.map(String).join(", ")}]`) : null,
          ),
        ];
      }),
    );
  }
}
