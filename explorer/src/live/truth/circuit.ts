// The evaluator: the bits of a circuit gate by gate, and the rows of its table that follow from them.

import { ANY, type Cell, type Truth } from "./reference";

export interface CircuitReference {
  kind: "circuit";
  /** The number of inputs and gates. */
  nets: number;
}

/** A bus: a name, and the places of its bits, the least significant one first. */
export interface Bus {
  name: string;
  bits: number[];
}

/** A circuit: nets are numbered, inputs first. */
export interface Gates {
  inputs: number;
  /** Of each gate: its truth table, a bit for each case of its operands, the first operand most significant; its operands. */
  gates: { table: string; operands: number[]; kind: string }[];
  /** The names of the nets. */
  nets: string[];
  /** The net of each output. */
  outputs: number[];
  buses: Bus[];
  /** How its outputs are written: as one number in hexadecimal digits, or by their buses. */
  encoding: string;
  /** By truth tables of three operands, how a gate is called. */
  names: Record<string, string>;
}

const OPERANDS = 3;

/** The bits of all nets. */
function evaluated({ gates }: Gates, word: string[]): number[] {
  const bits = word.map(Number);
  for (const { table, operands } of gates) bits.push(Number(table[operands.reduce((index, net) => 2 * index + bits[net]!, 0)]));
  return bits;
}

/** The number of positions of a run: one for each net but the last, or up to the gate at which it is cut off. */
function positions({ inputs, gates }: Gates, maxSteps: number | null): number {
  return inputs - 1 + Math.min(maxSteps ?? Infinity, gates.length);
}

/** The right cells at every position, in the columns of the table, which are known by their names. */
export function* circuitRows(circuit: Gates, word: string[], maxSteps: number | null, columns: string[]): Generator<Cell[]> {
  const bits = evaluated(circuit, word);
  for (let i = 0; i < positions(circuit, maxSteps); i++) yield cells(circuit, bits, i, columns);
}

function cells({ inputs, gates, names }: Gates, bits: number[], i: number, columns: string[]): Cell[] {
  const gate = gates[i + 1 - inputs];
  const before = i < inputs - 1;
  // without a gate position 0 takes the place of the operands, and the last one that of those that a gate lacks
  const found = gate?.operands.length ? gate.operands : [0];
  const places = Array.from({ length: OPERANDS }, (_, n) => found[Math.min(n, found.length - 1)]!);
  const cases = 2 ** OPERANDS;
  const digits = gate ? [...gate.table].map((bit) => bit.repeat(cases / gate.table.length)).join("") : "0".repeat(cases);
  const known: Record<string, Cell> = { x: String(bits[i]), gate: names[digits] ?? digits, y: before ? ANY : String(bits[i + 1]) };
  ["a", "b", "c"].forEach((name, n) => {
    known[name] = places[n]!;
    known[`x_${name}`] = bits[places[n]!]!;
  });
  const signs = gate ? gate.operands.map((net) => 2 * bits[net]! - 1) : [];
  known["mean"] = before ? ANY : signs.reduce((sum, sign) => sum + sign, 0) / signs.length;
  return columns.map((name) => {
    const cell = known[name];
    if (cell === undefined) throw new Error(`the evaluator in the page says nothing of the column ${name}`);
    return cell;
  });
}

export function circuitSays(circuit: Gates, word: string[], maxSteps: number | null): Pick<Truth, "result" | "ending" | "facts"> {
  const last = circuit.inputs + circuit.gates.length - 1;
  return {
    facts: () => ({ about: (i) => answers(circuit, i), bump: () => null }),
    result() {
      if (positions(circuit, maxSteps) < last) return "";
      const bits = evaluated(circuit, word);
      const out = circuit.outputs.map((net) => bits[net]!);
      if (circuit.encoding) return hexadecimal(out);
      return circuit.buses.map(({ name, bits: places }) => `${name} = ${whole(places.map((place) => out[place]!).reverse())}`).join(", ");
    },
    ending(stop, there) {
      const found = there === null ? "endless" : there.toLocaleString("en-US");
      if (there !== last) return { expected: last.toLocaleString("en-US"), found };
      return stop.length ? { expected: "empty", found: stop.join(", ") } : null;
    },
  };
}

/** The gate whose bit a position answers, in words; null before the last input. */
function answers({ inputs, gates, nets }: Gates, i: number): string | null {
  const gate = gates[i + 1 - inputs];
  return gate ? `position ${i} answers net ${nets[i + 1]!}: ${gate.kind}(${gate.operands.map((net) => nets[net]!).join(", ")})` : null;
}

/** Bits as a number, the most significant one first. */
function whole(bits: number[]): bigint {
  return bits.reduce((number, bit) => 2n * number + BigInt(bit), 0n);
}

function hexadecimal(bits: number[]): string {
  return whole(bits).toString(16).padStart(bits.length / 4, "0");
}
