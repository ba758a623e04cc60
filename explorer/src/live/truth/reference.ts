// A run as the reference has it: rows as they come, from a simulator or an evaluator that knows nothing of weights.

import { type CircuitReference, circuitRows, circuitSays, type Gates } from "./circuit";
import { type MachineReference, machineRows, machineSays } from "./machine";
import type { SequenceSpec } from "../../sequence/spec";
import { type SequenceReference, sequenceTruth } from "./sequence";

/** A cell of which the reference says nothing: it agrees with everything. */
export const ANY = Symbol("any");
/** A cell: a number, a text, null for ⊥. */
export type Cell = number | string | null | typeof ANY;

export type Reference = MachineReference | CircuitReference | SequenceReference;

/** What is wrong with the place where a decoder stops, while every cell so far is right. */
export interface Ending {
  expected: string;
  found: string;
}

/** One run of the reference. */
export interface Truth {
  /** The tokens of the prompt before the input. */
  lead: string[];
  /** The right cells at each position, without that of the position itself. */
  rows: Iterator<Cell[]>;
  /** What came out of a whole run, in words; empty if there is nothing to say. */
  result(): string;
  /** What is wrong with where a decoder stops: its stop tokens, and the length of its position table. */
  ending(stop: string[], positions: number | null): Ending | null;
  /** What it says of a position beside its cells, by its rows so far, whose columns have these names. */
  facts(rows: Cell[][], columns: string[]): Said;
}

/** What a reference says of positions beside the cells. */
export interface Said {
  /** The part of the program that a position answers, in words; null if there is nothing to say. */
  about(i: number): string | null;
  /** Why the sum of the moves is not the head position any more; null up to where it is. */
  bump(i: number): string | null;
}

/** What has to be known of a circuit: its gates, its buses, and the columns of the table by name; of a program, its nodes. */
export interface Given {
  word: string[];
  maxSteps: number | null;
  columns: string[];
  gates: Gates | null;
  sequence: SequenceSpec | null;
}

/** The reference's run on an input. */
export function truthOf(reference: Reference, { word, maxSteps, columns, gates, sequence }: Given): Truth {
  if (reference.kind === "machine") return { lead: reference.lead, rows: machineRows(reference, word, maxSteps), ...machineSays(reference) };
  if (reference.kind === "sequence") {
    if (!sequence) throw new Error("a program's reference needs its nodes");
    return sequenceTruth(sequence, word);
  }
  if (!gates) throw new Error("a circuit's reference needs its gates");
  return { lead: [], rows: circuitRows(gates, word, maxSteps, columns), ...circuitSays(gates, word, maxSteps) };
}

/** Whether a cell is as the reference says. */
export function agrees(expected: Cell, found: Cell): boolean {
  return expected === ANY || expected === found;
}
