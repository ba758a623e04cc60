// The same weights under softmax, at a temperature that is chosen: the weights of the heads as shades, and the first answer that flips.

import type { Buffers, Run } from "../data";
import { el, set } from "../dom";
import { type Decoder, decoderOf } from "../live/decoder";
import { sixDigits } from "../live/python";
import { Refused } from "../live/refusals";
import { Softness, type SoftRun } from "../live/soft";
import type { Store } from "../state";

/** The slider's range, as powers of 2, and how many steps one of them has. */
const [COLDEST, HOTTEST, STEPS] = [-10, 5, 4];
const MOST_HEADS = 16;

export class SoftPanel {
  readonly element: HTMLElement;
  private readonly slider = el("input", { type: "range", min: COLDEST * STEPS, max: HOTTEST * STEPS, step: 1, value: 0, id: "temperature" });
  private readonly power = el("output", { for: "temperature", class: "mono" });
  private readonly verdict = el("p", { class: "soft-verdict", role: "status" });
  private readonly limit = el("p", { class: "meaning" });
  private readonly grid = el("div", { class: "soft-grid", role: "table", "aria-label": "The weights of the heads from this position" });
  private readonly heads: { layer: number; head: number; hue: string; label: string; name: string }[];
  private softness: Softness | null = null;
  private found: SoftRun | null = null;
  private at = 0;

  /** The panel of a run; null: its weights are not in the page, have loops or softmax of their own, or no head that scores differ for. */
  static of(run: Run, store: Store, buffers: Buffers): SoftPanel | null {
    const { decoder: spec, labels, loops, layers } = run.spec;
    if (!labels || loops.length || run.spec.softmax || spec.none !== undefined || !layers.some(({ heads }) => heads.some(({ seen }) => seen))) return null;
    return new SoftPanel(run, store, () => decoderOf(spec, buffers));
  }

  private constructor(
    private readonly run: Run,
    private readonly store: Store,
    private readonly decoder: () => Decoder,
  ) {
    const all = run.spec.layers.flatMap(({ heads }, layer) => heads.map(({ name, seen }, head) => ({ layer, head, name, seen, label: `${layer + 1}.${head + 1}` })));
    this.heads = all.map((each, n) => ({ ...each, hue: `hue${n % 7}` })).filter(({ seen }) => seen).slice(0, MOST_HEADS);
    const inside = el(
      "div",
      {},
      el("p", { class: "meaning" }, "The same weights with softmax in place of hard attention: every query is divided by the temperature τ."),
      el("div", { class: "soft-slider" }, el("label", { for: "temperature" }, "temperature"), this.slider, this.power),
      this.verdict,
      this.limit,
      el("div", { class: "scroll", tabindex: 0, "aria-label": "The weights of the heads" }, this.grid),
    );
    this.element = el("details", { class: "panel soft-panel" }, el("summary", {}, el("h2", {}, "Under softmax ", el("span", { class: "check" }, "the temperature at which an answer flips"))), inside);
    this.slider.addEventListener("input", () => this.measured());
    this.element.addEventListener("toggle", () => this.measured());
    this.grid.addEventListener("click", ({ target }) => {
      const place = (target as Element).closest<HTMLElement>("[data-position]")?.dataset["position"];
      if (place !== undefined) store.set({ i: Number(place), playing: false });
    });
  }

  draw(position: number): void {
    this.at = Math.min(position, this.run.count - 1);
    if (this.found && (this.element as HTMLDetailsElement).open) this.drawGrid(this.found);
  }

  /** Run the weights at the temperature of the slider. */
  private measured(): void {
    if (!(this.element as HTMLDetailsElement).open) return;
    try {
      if (!this.softness) {
        const { run } = this;
        const raw = Object.entries(run.spec.live.shown);
        const tokens = Array.from({ length: run.count }, (_, i) => raw.find(([, shown]) => shown === run.rows.fed(i))?.[0] ?? run.rows.fed(i));
        this.softness = new Softness(this.decoder(), tokens);
        const warmest = this.softness.warmest();
        if (warmest !== null) this.slider.value = String(Math.max(COLDEST * STEPS, Math.floor(STEPS * Math.log2(warmest))));
        this.limit.textContent = warmest === null ? "No temperature tried, down to 2⁻¹⁰, makes every answer right." : `The largest temperature found at which every answer is right: ${sixDigits(warmest)}.`;
      }
      this.found = this.softness.at(2 ** (Number(this.slider.value) / STEPS));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.verdict.textContent = error.message;
      return;
    }
    this.said(this.found);
    this.drawGrid(this.found);
  }

  private said({ answers, flips, right }: SoftRun): void {
    const power = Number(this.slider.value) / STEPS;
    const all = answers.length * (answers[0]?.length ?? 0);
    this.power.textContent = `τ = 2^${power} = ${sixDigits(2 ** power)}`;
    set(this.slider, { "aria-valuetext": this.power.textContent });
    this.verdict.className = `soft-verdict ${flips ? "bad" : "good"}`;
    if (!flips) return this.verdict.replaceChildren(`✓ all ${all} answers are those of hard attention`);
    const [i, k] = flips;
    const { name } = this.run.spec.columns[k + 1]!;
    const go = el("button", { type: "button", class: "small", click: () => this.store.set({ i, playing: false }) }, `position ${i}`);
    this.verdict.replaceChildren(`✗ ${all - right} of ${all} answers flip, the first at `, go, ": ", el("b", { class: "mono" }, name), " is ", el("b", { class: "mono" }, answers[i]![k]!), " instead of ", el("b", { class: "mono" }, this.softness!.hard[i]![k]!));
  }

  private drawGrid({ flipped, weights }: SoftRun): void {
    const { run, at, heads } = this;
    const positions = Array.from({ length: run.count }, (_, j) => j);
    const header = [el("span", { role: "columnheader", class: "soft-name" }, `from position ${at}`), ...positions.map((j) => el("span", { role: "columnheader", class: `soft-token${j === at ? " now" : ""}`, "data-position": j }, el("b", { class: "mono" }, run.rows.fed(j)), el("span", { class: "index" }, String(j))))];
    const rows = heads.map(({ layer, head, hue, label, name }) => {
      const own = weights[layer]![head]![at];
      const [start, end] = run.look(layer, head, at).sight;
      const cells = positions.map((j) => {
        const weight = own && j >= start && j < end ? own[j - start]! : null;
        const text = weight === null ? "" : weight >= 0.995 ? "1" : weight < 0.005 ? "0" : weight.toFixed(2).slice(1);
        return el("span", { role: "cell", class: "soft-cell mono", "data-position": j, style: weight ? `--weight:${weight.toFixed(3)}` : null, title: weight === null ? "out of sight" : sixDigits(weight) }, text);
      });
      return el("div", { role: "row", class: `soft-row ${hue}` }, el("span", { role: "rowheader", class: "soft-name", title: name }, el("b", { class: "tag" }, label), ` ${name}`), ...cells);
    });
    const verdicts = positions.map((j) => el("span", { role: "cell", class: `soft-cell ${flipped[j] ? "bad" : "good"}`, "data-position": j, title: flipped[j] ? "an answer flips" : "as under hard attention" }, flipped[j] ? "✗" : "✓"));
    this.grid.style.setProperty("--positions", String(run.count));
    this.grid.replaceChildren(el("div", { role: "row", class: "soft-row" }, ...header), ...rows, el("div", { role: "row", class: "soft-row" }, el("span", { role: "rowheader", class: "soft-name" }, "answers"), ...verdicts));
  }
}
