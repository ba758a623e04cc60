// The weights of the page with a machine's names: a run of the weights was recorded with signs in the places of the names of
// states and symbols (tm2tfr/web/explorer/standalone.py), which are replaced here. No weight depends on a name.

import { type Buffers, type MachineSpec, type PageData, type Place, type RunSpec, textAt } from "../data";
import type { DecoderSpec } from "../live/decoder";
import { visible } from "../live/refusals";
import { drawn, labels } from "./graph";
import type { Machine } from "./machine";
import { type Class, type Placed, reference } from "./prompt";

/** What the page has beside the weights (tm2tfr/web/explorer/standalone.py writes it). */
export interface AnyMachineData {
  title: string;
  class: Class;
  /** The signs for the names of states, of which the last has no rules, and of symbols. */
  signs: { states: string; symbols: string };
  /** JSON of `Signed`. */
  signed: Place;
  /** The largest number of steps. */
  most: number;
  examples: { name: string; text: Place }[];
  /** What the page opens with. */
  opens: { text: string; input: string | null; steps: number };
}

/** A run of the weights with signs for names, of any length, and their model. */
interface Signed {
  run: RunSpec;
  model: PageData["model"];
}

/** The weights with the names of a machine, as the data of a page that has not run them yet. */
export interface Named {
  data: Pick<PageData, "machine" | "model" | "runs">;
  buffers: Buffers;
}

/** Where texts with names begin: no run has as many columns. */
const FIRST = -1_000_000;

export class Template {
  private readonly sign: RegExp;
  private readonly signed: Signed;

  constructor(
    private readonly data: AnyMachineData,
    private readonly buffers: Buffers,
  ) {
    const { signs } = data;
    this.signed = JSON.parse(textAt(buffers, data.signed)) as Signed;
    this.sign = new RegExp(`[${signs.states}${signs.symbols}]`, "gu");
  }

  /** The weights with the names of a machine. */
  named(machine: Machine, { names, description }: Placed): Named {
    const { data, buffers, sign } = this;
    const every = [...names.states, ...names.symbols];
    const space = every.some((name) => name.includes("␣")) || machine.tapeAlphabet.includes("␣") ? "' '" : "␣";
    const show = (name: string) => (name === " " ? space : visible(name));
    const signs = [...data.signs.states, ...data.signs.symbols];
    const own = new Map(signs.map((each, n) => [each, every[n]!]));
    const raw = (text: string) => text.replace(sign, (each) => own.get(each)!);
    const shown = (text: string) => text.replace(sign, (each) => show(own.get(each)!));
    const { run, model } = this.signed;
    if (run.decoder.none !== undefined) throw new Error(run.decoder.none);
    const texts = [...run.decoder.vocabulary, ...run.subspaces.flatMap(({ labels }) => labels ?? []), ...signs];
    const kept: Uint8Array[] = [];
    const keep = (text: string): Place => {
      const bytes = new TextEncoder().encode(text);
      return { type: "u1", at: FIRST - kept.push(bytes), count: bytes.length };
    };
    const decoder: DecoderSpec = {
      ...run.decoder,
      vocabulary: run.decoder.vocabulary.map(raw),
      about: keep(JSON.stringify(everywhere(JSON.parse(textAt(buffers, run.decoder.about)), raw))),
    };
    const spec: RunSpec = {
      ...run,
      decoder,
      layers: everywhere(run.layers, shown) as typeof run.layers,
      subspaces: everywhere(run.subspaces, shown) as typeof run.subspaces,
      live: {
        ...(everywhere(run.live, raw) as typeof run.live),
        readout: run.live.readout.map((read) => ({ ...read, labels: read.kind === "label" ? run.subspaces[read.at!]!.labels!.map(raw) : read.labels })),
        reference: reference(machine, description),
        shown: Object.fromEntries(texts.map((text) => [raw(text), shown(text)]).filter(([before, after]) => before !== after)),
      },
    };
    return {
      data: { machine: specOf(machine, show, keep(drawn(machine, show))), model: everywhere(model, shown) as PageData["model"], runs: [spec] },
      buffers: (place) => (place.at < FIRST ? kept[FIRST - place.at - 1]! : buffers(place)),
    };
  }
}

/** A value with all texts in it changed. */
function everywhere(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((each) => everywhere(each, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, everywhere(each, change)]));
}

function specOf(machine: Machine, show: (name: string) => string, svg: Place): MachineSpec {
  const number = new Map(machine.states.map((state, n) => [state, n]));
  const lines = labels(machine, show).flatMap(({ from, lines }) => lines.flatMap(({ symbols }, n) => symbols.map((symbol): [string, number] => [JSON.stringify([from, symbol]), n])));
  const line = new Map(lines);
  return {
    name: visible(machine.name),
    description: machine.description,
    tape: machine.tape as MachineSpec["tape"],
    blank: show(machine.blank),
    states: machine.states.map((name) => ({ name: show(name), end: machine.outcomeOf(name) })),
    rules: machine.rules.entries.map(({ state, symbol, rule }) => [number.get(state)!, show(symbol), number.get(rule.state)!, show(rule.write), rule.move, line.get(JSON.stringify([state, symbol]))!]),
    graph: { svg },
  };
}
