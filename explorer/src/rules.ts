// The prompt of a universal decoder: the machine's rules, two tokens each, then the input; and the rule that is looked up.

import type { Description, Lookup, PromptRule } from "./description";
import { el, set } from "./dom";
import type { Store } from "./state";
import { sample } from "./strip";
import { count, lookedUp } from "./words";

/** At most so many symbols of the input are shown. */
const MOST = 40;

export class RulesPanel {
  readonly element: HTMLElement;
  private readonly list = el("ol", { class: "prompt-rules", tabindex: 0, "aria-label": "The prompt" });
  private readonly said = el("p", { class: "lookup" });
  private readonly tokens = new Map<number, HTMLElement>();
  private readonly items = new Map<PromptRule, HTMLElement>();

  constructor(
    private readonly description: Description,
    private readonly store: Store,
  ) {
    const { run, rules, tape, number } = description;
    const { lead, prompt } = run.spec;
    if (tape !== null) this.list.append(el("li", {}, this.token(0)));
    for (const rule of rules) {
      const item = el("li", { class: "prompt-rule", "data-rule": rule.wanted }, this.token(rule.key), this.token(rule.value));
      this.items.set(rule, item);
      this.list.append(item);
    }
    const symbols = Array.from({ length: Math.min(prompt - lead, MOST) }, (_, n) => this.token(lead + n));
    const more = prompt - lead - symbols.length;
    this.list.append(el("li", { class: "prompt-word" }, ...symbols, more > 0 ? el("span", { class: "meaning" }, `and ${more} more`) : null, this.token(prompt)));
    set(this.said, { class: `lookup hue${number % 7}` });
    const told = `${count(rules.length, "rule")} in ${count(lead, "token")}, then the input`;
    this.element = el(
      "section",
      { class: "panel rules-panel", "aria-label": "The machine in the prompt" },
      el("h2", {}, "The machine in the prompt ", el("span", { class: "check" }, told)),
      this.list,
      this.said,
    );
  }

  draw(position: number): void {
    const { description } = this;
    const i = Math.min(position, description.run.count - 1);
    const lookup = description.lookup(i);
    const seen = new Set(lookup && !lookup.look.uniform ? lookup.look.sharers : []);
    for (const [n, token] of this.tokens) {
      token.classList.toggle("now", n === i);
      set(token, { "aria-current": n === i ? "step" : null });
    }
    for (const [rule, item] of this.items) {
      item.classList.toggle("found", lookup?.found === rule);
      item.classList.toggle("shared", lookup?.found !== rule && seen.has(rule.value));
      item.classList.add(`hue${description.number % 7}`);
    }
    this.show(lookup, i);
    this.said.replaceChildren(...this.says(lookup));
  }

  private token(i: number): HTMLElement {
    const text = this.description.run.rows.fed(i);
    const kind = i >= this.description.run.spec.lead ? "symbol" : "";
    const act = () => this.store.set({ i, playing: false });
    const button = el("button", { type: "button", class: `prompt-token mono ${kind}`, "data-token": i, "aria-label": `position ${i}: ${text}`, title: `position ${i}`, click: act }, text);
    this.tokens.set(i, button);
    return button;
  }

  private says(lookup: Lookup | null): (Node | string)[] {
    const { label, number } = this.description;
    if (!lookup) return ["The machine has no state yet: no rule is looked up."];
    return [sample(number), el("b", { class: "tag" }, label), el("span", {}, ...lookedUp(lookup))];
  }

  /** Bring what is marked into view, in the list alone: the page stays where it is. */
  private show(lookup: Lookup | null, i: number): void {
    const marked = (lookup?.found && this.items.get(lookup.found)) ?? this.tokens.get(i);
    if (!marked) return;
    const [box, view] = [marked.getBoundingClientRect(), this.list.getBoundingClientRect()];
    if (box.top < view.top) this.list.scrollTop -= view.top - box.top + 8;
    else if (box.bottom > view.bottom) this.list.scrollTop += box.bottom - view.bottom + 8;
  }
}
