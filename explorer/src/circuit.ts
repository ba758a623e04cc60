// A circuit and its bits at any position, according to the decoder's own tokens: bit k is the token at position k, or the
// answer at position k - 1.

import type { Buffers, CircuitSpec, Numbers, Run } from "./data";

export class Circuit {
  private readonly kinds: Numbers;
  private readonly places: Numbers[];
  private readonly driven = new Map<number, string[]>();

  constructor(
    readonly spec: CircuitSpec,
    buffers: Buffers,
  ) {
    this.kinds = buffers(spec.kinds);
    this.places = spec.operands.map(buffers);
    for (const [name, net] of spec.outputs) this.driven.set(net, [...(this.driven.get(net) ?? []), name]);
  }

  /** The number of nets: inputs, then gates. */
  get size(): number {
    return this.spec.nets.length;
  }

  name(net: number): string {
    return this.spec.nets[net]!;
  }

  isInput(net: number): boolean {
    return net < this.spec.inputs;
  }

  /** The net whose bit is answered at position i; null before the last input, and after the last gate. */
  answered(i: number): number | null {
    return i + 1 < this.spec.inputs || i + 1 >= this.size ? null : i + 1;
  }

  /** The operands of the gate of a net, in order; of an input none. */
  operands(net: number): number[] {
    if (this.isInput(net)) return [];
    return this.places.map((place) => place[net - this.spec.inputs]!).filter((operand) => operand >= 0);
  }

  /** What the gate of a net does, in a word. */
  kind(net: number): string {
    return this.isInput(net) ? "input" : this.spec.functions[this.kinds[net - this.spec.inputs]!]!.name;
  }

  /** The truth table of the gate of a net. */
  table(net: number): string {
    return this.spec.functions[this.kinds[net - this.spec.inputs]!]!.table;
  }

  /** The gate of a net as a formula: `XOR(a, b)`. */
  formula(net: number): string {
    return `${this.kind(net)}(${this.operands(net).map((operand) => this.name(operand)).join(", ")})`;
  }

  /** A net in words: `a, an input`, or `sum = XOR(a, b)`. */
  said(net: number): string {
    return this.isInput(net) ? `${this.name(net)}, an input` : `${this.name(net)} = ${this.formula(net)}`;
  }

  /** The outputs that a net drives. */
  outputs(net: number): string[] {
    return this.driven.get(net) ?? [];
  }
}

export class Bits {
  constructor(
    readonly circuit: Circuit,
    readonly run: Run,
  ) {}

  /** The bit of a net as the decoder has it once position i has answered; null if it has none yet. */
  at(net: number, i: number): string | null {
    if (net <= i) return this.run.rows.fed(net);
    return net === i + 1 && net === this.circuit.answered(i) ? this.run.rows.answer(i) : null;
  }

  /** The bit of an input, which is known before it is given, or of any other net as `at` has it. */
  known(net: number, i: number): string | null {
    return net < Math.min(this.circuit.spec.inputs, this.run.count) ? this.run.rows.fed(net) : this.at(net, i);
  }

  /** What the bit of a net should be, if the check found that it is something else. */
  wrong(net: number): string | undefined {
    const { columns } = this.run.spec;
    const [column, i] = this.circuit.isInput(net) ? [columns[0]!, net] : [columns.at(-1)!, net - 1];
    return i < this.run.count ? this.run.wrong(column.name, i) : undefined;
  }

  /** What a gate makes of the bits that its operands have at position i; null if one has none. */
  computed(net: number, i: number): string | null {
    const bits = this.circuit.operands(net).map((operand) => this.at(operand, i));
    if (bits.some((bit) => bit !== "0" && bit !== "1")) return null;
    return this.circuit.table(net)[bits.reduce((index, bit) => 2 * index + Number(bit), 0)]!;
  }
}
