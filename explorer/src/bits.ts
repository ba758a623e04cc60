// The bits of a circuit's run, inputs first and then gates; what happens at a position, in words; and the outputs by name.

import type { Bits, Circuit } from "./circuit";
import type { Look, Run } from "./data";
import { el, set } from "./dom";
import type { Store } from "./state";
import { count, STOP } from "./words";

/** At most so many bits are shown at a time; they are small if there are more than a few, and move by a quarter of them. */
const MOST = 120;
const FEW = 40;
/** At most so many outputs are shown. */
const MOST_OUTPUTS = 64;

export class BitsPanel {
  readonly element: HTMLElement;
  private readonly circuit: Circuit;
  private readonly run: Run;
  private readonly cells = el("ol", { class: "bits" });
  private readonly more = el("p", { class: "meaning" });
  private readonly story = el("p", { class: "story", "aria-live": "polite" });
  private readonly outputs = el("ul", { class: "outputs", tabindex: 0, "aria-label": "Outputs" });
  private readonly result = el("p", { class: "result" });
  private readonly heads: { layer: number; head: number; label: string }[];

  constructor(
    private readonly bits: Bits,
    private readonly store: Store,
  ) {
    [this.circuit, this.run] = [bits.circuit, bits.run];
    this.heads = this.run.spec.layers.flatMap((layer, l) => layer.heads.map((_, k) => ({ layer: l, head: k, label: `${l + 1}.${k + 1}` })));
    const { inputs } = this.circuit.spec;
    this.cells.classList.toggle("small-bits", this.circuit.size > FEW);
    this.element = el(
      "section",
      { class: "panel bits-panel", "aria-label": "The bits" },
      el("h2", {}, "The bits ", el("span", { class: "check" }, `${count(inputs, "input")}, then ${count(this.circuit.size - inputs, "gate")}`)),
      this.cells,
      this.more,
      this.story,
      this.outputs,
      this.result,
    );
  }

  /** It has nothing to measure: its lines break where they have to. */
  measure(): void {}

  draw(position: number, _layer: number, playing: boolean): void {
    const { run } = this;
    set(this.story, { "aria-live": playing ? "off" : "polite" });
    const i = Math.min(position, run.count - 1);
    this.drawBits(i);
    this.story.replaceChildren(...this.happens(i));
    this.drawOutputs(i);
    this.result.textContent = i === run.count - 1 ? this.ending() : "";
  }

  private drawBits(i: number): void {
    const { circuit } = this;
    const quarter = MOST / 4;
    const first = Math.max(0, Math.min(quarter * (Math.floor((i + 1) / quarter) - 2), circuit.size - MOST));
    const last = Math.min(circuit.size, first + MOST);
    const looks = this.heads.map(({ layer, head }) => this.run.look(layer, head, i));
    const focused = this.cells.contains(document.activeElement);
    this.cells.replaceChildren(...Array.from({ length: last - first }, (_, n) => this.cell(first + n, i, looks)));
    if (focused) this.cells.querySelector<HTMLElement>("[aria-current]")?.focus({ preventScroll: true });
    this.more.hidden = last - first === circuit.size;
    this.more.textContent = `bits ${first} to ${last - 1} of 0 to ${circuit.size - 1}`;
  }

  private cell(net: number, i: number, looks: Look[]): HTMLElement {
    const { bits, circuit, store } = this;
    const bit = bits.known(net, i);
    const wrong = bit !== null && net <= i + 1 ? bits.wrong(net) : undefined;
    const state = net === i ? "now" : net === circuit.answered(i) ? "answered" : net > i ? "unread" : "";
    const outputs = circuit.outputs(net).map((name) => `, output ${name}`).join("");
    const said = `${net}: ${circuit.said(net)}${outputs}${bit === null ? "" : `; bit ${bit}`}${wrong === undefined ? "" : `, should be ${wrong}`}`;
    const seen = this.heads.flatMap(({ label }, n) => {
      const look = looks[n]!;
      return !look.uniform && look.sharers.includes(net) ? [el("span", { class: `seen hue${n % 7}`, "data-head": label, title: `head ${label} looks here` }, label)] : [];
    });
    const button = el(
      "button",
      {
        type: "button",
        class: ["bit mono", circuit.isInput(net) ? "input" : "gate", outputs ? "output" : "", state, wrong === undefined ? "" : "bad"].filter(Boolean).join(" "),
        "data-net": net,
        "aria-current": net === i ? "step" : null,
        "aria-label": said,
        title: said,
        click: () => store.set({ i: circuit.isInput(net) ? net : net - 1, playing: false }),
      },
      bit ?? "·",
    );
    return el("li", {}, button, ...seen);
  }

  /** What happens at a position, in a sentence or two. */
  private happens(i: number): (Node | string)[] {
    const { bits, circuit, run } = this;
    const token = (text: string) => el("b", { class: "mono" }, text);
    const answer = run.rows.answer(i);
    const gate = circuit.answered(i);
    const given = [circuit.isInput(i) ? "The input " : "The gate ", token(circuit.name(i)), circuit.isInput(i) ? " is " : " gave ", token(run.rows.fed(i)), ". "];
    if (gate === null) return [...given, "The decoder's answers before the last input are not used."];
    const operands = circuit.operands(gate);
    const values = operands.map((operand) => bits.at(operand, i) ?? "?").join(", ");
    const due = bits.computed(gate, i);
    const what = ["The gate ", token(circuit.name(gate)), " computes the next bit: ", token(circuit.formula(gate)), ...(operands.length ? [" = ", token(`${circuit.kind(gate)}(${values})`)] : [])];
    if (due === answer) return [...given, ...what, ", and the decoder answers with ", token(answer), run.ends(i) ? ", which ends the run." : "."];
    return [...given, ...what, ...(due === null ? [] : [" = ", token(due)]), ", but the decoder answers with ", token(answer), run.ends(i) ? ", which ends the run." : "."];
  }

  private drawOutputs(i: number): void {
    const { circuit, bits } = this;
    const { outputs } = circuit.spec;
    const shown = outputs.slice(0, MOST_OUTPUTS).map(([name, net]) => {
      const bit = bits.at(net, i);
      const wrong = bit === null ? undefined : bits.wrong(net);
      const says = wrong === undefined ? null : ` ✗ should be ${wrong}`;
      return el("li", { class: bit === null ? "unknown" : wrong === undefined ? "" : "bad", "data-output": name }, `${name} = `, el("b", { class: "mono" }, bit ?? "·"), says);
    });
    const rest = outputs.length - shown.length;
    this.outputs.replaceChildren(...shown, ...(rest > 0 ? [el("li", { class: "unknown" }, `and ${rest} more`)] : []));
  }

  /** What came out, at the end. */
  private ending(): string {
    const { T, agrees, result, reference, divergence } = this.run.spec;
    if (divergence?.column === STOP) return "Every bit is right, but this run does not end with the last gate.";
    if (divergence) return `This run has ended; it differs from the ${reference} from position ${divergence.position} on.`;
    if (T === null) return `This run is cut off here, ${count(this.circuit.size - 1 - this.run.count, "gate")} before its end.`;
    if (agrees === null || !result) return "This run has ended.";
    return `The result: ${result}, as the ${reference} says.`;
  }
}
