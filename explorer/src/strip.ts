// What the decoder knows: the tokens so far. Above them, an arc for each head, from this position to where it looks.

import type { Circuit } from "./circuit";
import { type Look, type Run, shares } from "./data";
import type { Description } from "./description";
import { characterWidth, el, set, svg } from "./dom";
import type { Pointed } from "./sequence/panel";
import type { Store } from "./state";
import { apart, count, digits, shortened, typesetter } from "./words";

/** How faint the arc of a small weight of softmax is at least. */
const FAINTEST = 0.18;
/** If there are at most this many positions, it is tried whether all fit. */
const MOST = 60;
const LANE = 26;
const LOWEST = 42;
const DASHES = ["", "9 4", "2.5 4", "13 4 2.5 4", "6 3 2 3 2 3", "1.5 2.5", "18 4"];

/** Widths in pixels: between tokens, at least of the mark for omitted tokens, around a token's text, of the arrow. */
const SPREAD = 34;
const WIDE = { gap: 9, omitted: 50, around: 18, least: 40, arrow: 34, lettering: 1 };
const CLOSE = { gap: 6, omitted: 50, around: 14, least: 30, arrow: 30, lettering: 1 };
const MEDIUM = { gap: 5, omitted: 44, around: 9, least: 26, arrow: 26, lettering: 0.9 };
/** The numbers of characters of a token to try where there is no room for all. */
const LIMITS = [26, 20, 16, 14, 12, 10, 8, 6];
/** How far from the left edge an arc ends at least: half of its tip, and some air. */
const EDGE = 6;
const NARROW = { gap: 4, omitted: 38, around: 7, least: 24, arrow: 17, lettering: 0.8 };

interface Chip {
  i: number;
  left: number;
  width: number;
}

export class Strip {
  readonly element: HTMLElement;
  private readonly field = el("div", { class: "field" });
  private readonly chips = el("ol", { class: "chips" });
  private readonly arcs = svg("svg", { class: "arcs", role: "img" });
  private readonly heads: { layer: number; head: number; label: string; name: string }[];
  /** Whether every position is there from the beginning, with its answer below it. */
  private readonly labels: boolean;
  /** The heads that are pointed at; null: none are. */
  private lit: ReadonlySet<string> | null = null;
  private scale = 8;
  private room = 600;
  private sizes = WIDE;
  private limit = Infinity;

  constructor(
    private readonly run: Run,
    private readonly store: Store,
    private readonly circuit: Circuit | null,
    private readonly description: Description | null = null,
    /** The tokens that are fed around those of an input. */
    private readonly ends: string[] = [],
  ) {
    this.labels = run.spec.labels;
    this.field.append(this.arcs, this.chips);
    this.field.classList.toggle("answered", this.labels);
    const typeset = typesetter(run.spec);
    this.heads = run.spec.layers.flatMap((layer, l) =>
      layer.heads.map((head, k) => ({ layer: l, head: k, label: `${l + 1}.${k + 1}`, name: head.name })),
    );
    const key = el(
      "ul",
      { class: "key", "aria-label": "Heads" },
      ...this.heads.map(({ label, name, layer }, n) =>
        el("li", {}, el("button", { type: "button", class: `hue${n % 7}`, click: () => store.set({ layer: run.stepsWith(store.now.layer)[layer]! }) }, sample(n), el("b", {}, label), el("span", {}, ...typeset(name)))),
      ),
    );
    this.element = el(
      "section",
      { class: "panel strip-panel", "aria-label": this.labels ? "Tokens and answers" : "What the decoder knows" },
      this.labels
        ? el("h2", {}, "What the decoder reads and answers ", el("span", { class: "check" }, `below the tokens: ${run.spec.columns[1]!.name}${run.spec.softmax && `; ${run.spec.softmax}: an arc is as strong as its weight`}`))
        : el("h2", {}, `What the decoder knows: its ${circuit ? "bits" : "tokens"}`),
      el("div", { class: "scroll", tabindex: 0, "aria-label": "Tokens and where the heads look" }, this.field),
      key,
    );
  }

  /** Measure the width of a character and of the panel. */
  measure(): void {
    this.scale = characterWidth(this.element);
    this.room = this.field.parentElement!.clientWidth - 6;
  }

  /** pointed: the position and the heads that are pointed at, in place of the position. */
  draw(position: number, layer: number, pointed?: Pointed | null): void {
    const { run } = this;
    const i = Math.min(pointed?.i ?? position, run.count - 1);
    this.lit = pointed ? new Set(pointed.heads.map(([l, k]) => `${l + 1}.${k + 1}`)) : null;
    this.field.classList.toggle("pointed", this.lit !== null && this.lit.size > 0);
    const steps = run.stepsWith(layer);
    const looks = this.heads.map(({ layer: l, head }) => run.look(steps[l]!, head, i));
    const chips = this.layOut(i, looks);
    const focused = this.chips.contains(document.activeElement);
    const items: HTMLElement[] = [];
    let before = -1;
    for (const chip of chips) {
      if (chip.i > before + 1 && this.gaps(chip.i, i)) items.push(this.omitted(before, chip));
      items.push(this.chip(chip, i));
      before = chip.i;
    }
    this.chips.replaceChildren(...items);
    if (focused) this.chips.querySelector<HTMLElement>("[aria-current]")?.focus({ preventScroll: true });
    const width = end(chips) + 4;
    this.field.style.width = `${width}px`;
    this.drawArcs(i, looks, chips, width, run.layerOf(layer));
    if (width <= this.room + 6) return;
    const { left } = chips.find((chip) => chip.i === i)!;
    this.field.parentElement!.scrollLeft = this.labels ? left - this.room / 2 : width;
  }

  /** The number of positions that can be shown: those so far and the answer, or all. */
  private total(i: number): number {
    return this.labels ? this.run.count : i + 2;
  }

  /** Whether positions may be omitted before position n. */
  private gaps(n: number, i: number): boolean {
    return this.labels || n <= i;
  }

  private shown(i: number, now: number): string {
    return shortened(this.token(i, now), this.limit);
  }

  private token(i: number, now: number): string {
    return i > now && !this.labels ? this.run.rows.answer(now) : this.run.rows.fed(i);
  }

  /** Where the chips are: all positions if there is room, otherwise the current one, those attended to, and the latest. */
  private layOut(i: number, looks: Look[]): Chip[] {
    const { room } = this;
    this.limit = Infinity;
    const chosen = new Set(this.labels ? [0, i, this.run.count - 1] : [i, i + 1]);
    for (const look of looks) if (!look.uniform) look.sharers.slice(0, 4).forEach((j) => chosen.add(j));
    const rule = this.description?.lookup(i)?.found;
    if (rule) chosen.add(rule.key);
    for (const sizes of this.total(i) - 2 < MOST ? [WIDE, CLOSE, MEDIUM] : []) {
      this.sizes = sizes;
      const all = this.placed(Array.from({ length: this.total(i) }, (_, n) => n), i);
      if (end(all) <= room) return this.written(this.labels ? this.spread(all, i) : all);
    }
    this.sizes = WIDE;
    let chips = this.placed([...chosen], i);
    if (end(chips) > room && this.fold(chosen, i)) chips = this.placed([...chosen], i);
    if (end(chips) > room) {
      this.sizes = NARROW;
      chips = this.placed([...chosen], i);
      for (const limit of LIMITS) {
        if (end(chips) <= room) break;
        this.limit = limit;
        chips = this.placed([...chosen], i);
      }
    }
    // a token takes less room than the mark that it is omitted
    for (const n of [...chosen].map((k) => k - 1)) {
      if (n < 0 || chosen.has(n) || (n > 0 && !chosen.has(n - 1)) || (n < this.run.spec.lead && i >= this.run.spec.lead)) continue;
      const more = this.placed([...chosen, n], i);
      if (end(more) > Math.max(room, end(chips))) continue;
      chosen.add(n);
      chips = more;
    }
    const { lead } = this.run.spec;
    const near = Array.from({ length: MOST }, (_, k) => (this.labels ? [i - 1 - k, i + 1 + k] : [i - 1 - k])).flat();
    for (const n of [0, ...near.filter((each) => each >= 0 && each < this.total(i))]) {
      if (chosen.has(n) || n < (i < lead ? 0 : lead)) continue;
      const more = this.placed([...chosen, n], i);
      if (end(more) > room) break;
      chosen.add(n);
      chips = more;
    }
    return this.written(chips);
  }

  /** Move chips apart where there is room, so that arcs between a few of them can be told apart. */
  private spread(chips: Chip[], i: number): Chip[] {
    const more = Math.min(SPREAD, (0.8 * this.room - end(chips)) / chips.length);
    if (more <= 0) return chips;
    this.sizes = { ...this.sizes, gap: this.sizes.gap + more };
    return this.placed(chips.map((chip) => chip.i), i);
  }

  /** Leave out the machine's description, except for the rule that is looked up; say whether there was anything to leave out. */
  private fold(chosen: Set<number>, i: number): boolean {
    const before = chosen.size;
    const rule = this.description?.lookup(i)?.found;
    for (const n of chosen) if (n < Math.min(i, this.run.spec.lead) && n !== rule?.key && n !== rule?.value) chosen.delete(n);
    return chosen.size < before;
  }

  private written(chips: Chip[]): Chip[] {
    this.field.classList.toggle("tight", this.sizes === NARROW);
    this.field.classList.toggle("medium", this.sizes === MEDIUM);
    this.field.style.setProperty("--arrow", `${this.sizes.arrow}px`);
    return chips;
  }

  private placed(positions: number[], i: number): Chip[] {
    const { gap, around, least, arrow, lettering } = this.sizes;
    const long = (n: number) => Math.max(this.shown(n, i).length, this.labels ? shortened(this.answer(n), this.limit).length : 0);
    const width = (n: number) => Math.max(least, long(n) * this.scale * lettering + around) + (n > i && !this.labels ? arrow : 0);
    const chips: Chip[] = [];
    let [left, before] = [2, -1];
    for (const n of positions.sort((a, b) => a - b)) {
      if (n > before + 1 && this.gaps(n, i)) left += this.widthOmitted(n - before - 1);
      chips.push({ i: n, left, width: width(n) });
      left += width(n) + gap;
      before = n;
    }
    return chips;
  }

  private widthOmitted(missing: number): number {
    const { omitted, gap, lettering } = this.sizes;
    return Math.max(omitted, missing.toLocaleString("en").length * this.scale * lettering + gap);
  }

  /** The mark for omitted tokens: in the tokens' own line, so that nobody takes their number for a position. */
  private omitted(before: number, next: Chip): HTMLElement {
    const missing = next.i - before - 1;
    const said = `${count(missing, "more position")}, not shown`;
    const number = missing.toLocaleString("en");
    const item = el("li", { class: "omitted", title: said });
    item.append(
      el("span", { class: "more", "aria-hidden": "true" }, number, el("br"), "more"),
      el("span", { class: "said" }, said),
    );
    const width = this.widthOmitted(missing);
    item.style.left = `${next.left - width}px`;
    item.style.width = `${width - this.sizes.gap}px`;
    return item;
  }

  private chip({ i, left, width }: Chip, now: number): HTMLElement {
    const { store } = this;
    const kind = this.kind(i, now);
    const net = this.circuit && (i <= now || this.circuit.answered(now) !== null) ? this.circuit.said(i) : null;
    const text = this.token(i, now);
    const rule = this.description?.lookup(now)?.found;
    const looked = rule && (i === rule.key || i === rule.value) ? ` rule-found hue${this.description!.number % 7}` : "";
    const button = el(
      "button",
      {
        type: "button",
        class: `chip ${kind} mono${looked}`,
        "aria-current": i === now ? "step" : null,
        "aria-label": (i > now && !this.labels ? `the answer: ${text}` : `position ${i}: ${text}`) + (net === null ? "" : `, ${net}`),
        "data-position": i,
        title: net ?? (this.shown(i, now) === text ? null : text),
        click: () => store.set({ i, playing: false }),
      },
      this.shown(i, now),
    );
    const answered = !this.labels && i > now;
    const item = el("li", {}, button, el("span", { class: "index" }, answered ? "answer" : String(i)), this.labels ? this.answerOf(i, now) : null);
    if (answered) item.prepend(el("span", { class: "arrow", "aria-hidden": "true" }, "→"));
    item.style.left = `${left}px`;
    item.style.width = `${width}px`;
    return item;
  }

  private kind(i: number, now: number): string {
    const { run } = this;
    if (i === now) return "now";
    if (this.labels) return this.ends.includes(run.rows.fed(i)) ? "bos" : "given";
    if (i > now) return "next";
    return i < run.spec.prompt ? "prompt" : run.generated(i) ? "made" : "bos";
  }

  /** The answer of the first output at a position. */
  private answer(i: number): string {
    return this.run.rows.cell(this.run.spec.columns[1]!.name, i);
  }

  private answerOf(i: number, now: number): HTMLElement {
    const { run } = this;
    const { name } = run.spec.columns[1]!;
    const due = run.wrong(name, i);
    const text = this.answer(i);
    const said = `${name}: ${text}${due === undefined ? "" : `, should be ${due}`}`;
    return el("span", { class: `answer mono${i === now ? " now" : ""}${due === undefined ? "" : " bad"}`, title: said }, shortened(text, this.limit));
  }

  private drawArcs(i: number, looks: Look[], chips: Chip[], width: number, layer: number): void {
    const middle = this.middles(looks, chips, i);
    const here = middle.get(i)!;
    const first = chips[0]!.i ? chips[0]!.left / 2 : middle.get(0)!;
    const edge = (j: number) => middle.get(j) ?? (j === 0 ? first : chips.find((chip) => chip.i > j)!.left);
    const order = looks.map((_, n) => n).sort((a, b) => this.span(looks[a]!, i) - this.span(looks[b]!, i) || a - b);
    const height = LANE * (looks.length + 0.5) + LOWEST;
    set(this.arcs, { width, height, viewBox: `0 0 ${width} ${height}` });
    const drawn = looks.map((look, n) => {
      const lift = LANE * order.indexOf(n) + LOWEST;
      const { label, name, layer: l } = this.heads[n]!;
      const top = height - lift;
      const from = here + (n - (looks.length - 1) / 2) * 5;
      const gap = look.runner < 0 ? "" : String(look.score - look.runnerScore);
      const group = svg("g", {
        class: `arc hue${n % 7}${(this.lit?.size ? this.lit.has(label) : l === layer) ? " chosen" : ""}${this.lit?.has(label) ? " lit" : ""}`,
        "data-head": label,
        "data-from": i,
        "data-to": look.uniform ? `${look.sight[0]}..${look.sight[1] - 1}` : look.sharers.join(" "),
        "data-score": look.uniform ? "" : String(look.score),
        "data-runner": look.runner < 0 ? "" : look.runner,
        "data-runner-score": look.runner < 0 ? "" : String(look.runnerScore),
        "data-gap": gap,
      });
      const ends = look.uniform ? [] : look.sharers.filter((j) => middle.has(j));
      const targets = ends.filter((j, k) => ends.findIndex((other) => middle.get(other) === middle.get(j)) === k);
      const dash = { "stroke-dasharray": DASHES[n % 7] || null };
      const [start, last] = [look.sight[0], look.sight[1] - 1];
      const [low, high] = [start === i ? from : edge(start), last === i ? from : edge(last)];
      const labels: [number, number] = [look.uniform ? (low + high) / 2 : (from + middle.get(targets[0]!)! + (n - 3) * 3) / 2, top];
      if (look.uniform) {
        group.append(svg("path", { d: `M${low} ${height}V${top + 8}Q${low} ${top} ${low + 8} ${top}H${high - 8}Q${high} ${top} ${high} ${top + 8}V${height}`, ...dash }));
        if (start < i && i < last) group.append(svg("path", { d: `M${from} ${top}V${height}`, ...dash }));
        for (const chip of chips)
          if (chip.i > start && chip.i < last && chip.i !== i) group.append(svg("path", { d: `M${middle.get(chip.i)} ${top}v7` }));
      }
      for (const j of targets) {
        const to = Math.max(EDGE, middle.get(j)! + (n - (looks.length - 1) / 2) * 5);
        const peak = height - lift / 0.75;
        const faint = { opacity: look.weights ? Math.max(FAINTEST, look.weights[j - look.sight[0]]!).toFixed(2) : null };
        if (j === i) {
          if (j === targets[0]) labels[0] = from;
          group.append(svg("path", { d: `M${from - 7} ${height}C${from - 20} ${peak} ${from + 20} ${peak} ${from + 7} ${height - 5}`, ...dash, ...faint }), tip(from + 7, height, faint));
        } else {
          group.append(svg("path", { d: `M${from} ${height}C${from} ${peak} ${to} ${peak} ${to} ${height - 5}`, ...dash, ...faint }), tip(to, height, faint));
        }
      }
      group.append(svg("rect", { x: labels[0] - 17, y: labels[1] - 11, width: 34, height: 22, rx: 11 }), svg("text", { x: labels[0], y: labels[1] + 5 }, label));
      group.prepend(svg("title", {}, `head ${label}, ${name}: ${described(look)}`));
      return group;
    });
    this.arcs.replaceChildren(...[...drawn].sort((a, b) => Number(a.classList.contains("chosen")) - Number(b.classList.contains("chosen"))));
    set(this.arcs, { "aria-label": looks.map((look, n) => `head ${this.heads[n]!.label}: ${described(look)}`).join("; ") });
  }

  /** Where the arcs end: at the middle of a token, and of the mark for omitted ones that describe the machine. */
  private middles(looks: Look[], chips: Chip[], i: number): Map<number, number> {
    const middle = new Map(chips.map((chip) => [chip.i, chip.left + chip.width / 2]));
    for (const look of looks)
      for (const j of look.uniform ? [] : look.sharers) {
        const next = middle.has(j) || j >= this.run.spec.lead ? undefined : chips.find((chip) => chip.i > j);
        if (!next) continue;
        const before = chips.filter((chip) => chip.i < j).at(-1)?.i ?? -1;
        if (next.i <= i) middle.set(j, next.left - this.widthOmitted(next.i - before - 1) / 2 - this.sizes.gap / 2);
      }
    return middle;
  }

  private span(look: Look, i: number): number {
    if (look.uniform) return Math.max(i - look.sight[0], look.sight[1] - 1 - i) + 0.5;
    return this.labels ? Math.max(...look.sharers.map((j) => Math.abs(i - j))) : i - look.winner;
  }
}

function end(chips: Chip[]): number {
  const last = chips.at(-1)!;
  return last.left + last.width;
}

/** Where a head looks, in words. */
export function described(look: Look): string {
  if (look.uniform) return `all scores are equal: the mean of all ${count(look.count, "position")}`;
  if (look.weights) return `weights of softmax: ${shares(look)}`;
  const where = look.count > 1 ? `shared by ${look.count} positions: ${look.sharers.join(", ")}` : `position ${look.winner}`;
  if (look.runner < 0) return `${where}, the only one there is`;
  const [score, runner] = apart(look.score, look.runnerScore);
  return `${where}, score ${score}, runner-up ${look.runner} with ${runner}, gap ${digits(look.score - look.runnerScore)}`;
}

/** A line in the style of the head's arc. */
export function sample(n: number): SVGSVGElement {
  const line = svg("path", { d: "M1 6H33", "stroke-dasharray": DASHES[n % 7] || null });
  return svg("svg", { class: "sample", viewBox: "0 0 34 12", width: 34, height: 12, "aria-hidden": "true" }, line);
}

function tip(x: number, y: number, more: { opacity: string | null }): SVGPathElement {
  return svg("path", { class: "tip", ...more, d: `M${x - 5} ${y - 9}L${x} ${y}L${x + 5} ${y - 9}Z` });
}
