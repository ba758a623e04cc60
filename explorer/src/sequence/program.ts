// A RASP program beside its weights, as the views of it see both: what is evaluated, what is known after a layer, and what is chosen.

import type { Run } from "../data";
import { el } from "../dom";
import { evaluate } from "../live/truth/sequence";
import type { Showing } from "../state";
import type { Looks } from "./matrix";
import { type Kind, kindOf, type Place, Scheme } from "./scheme";
import { count } from "../words";
import type { Evaluated, NodeSpec, SequenceSpec } from "./spec";

/** At most so many values are written out. */
const LISTED = 10;

export class Program {
  readonly scheme: Scheme;
  /** The lines of its text. */
  readonly lines: string[];
  private readonly kinds: Kind[];
  private readonly whole: Evaluated;
  /** By loop and pass, what every node is if the loop ends after it. */
  private readonly after = new Map<string, Evaluated>();
  /** What every node is, in the chosen pass of a loop. */
  evaluated: Evaluated;

  /** word: the tokens of the input. */
  constructor(
    readonly spec: SequenceSpec,
    private readonly run: Run,
    readonly word: string[],
  ) {
    this.scheme = new Scheme(spec);
    this.lines = spec.source.trimEnd().split("\n");
    this.evaluated = this.whole = evaluate(spec, word);
    this.kinds = spec.nodes.map((node, n) => kindOf(node, this.evaluated.values[n]!));
  }

  /** The number of positions of the input. */
  get count(): number {
    return this.word.length;
  }

  /** The position of the run at which position `at` of the input is. */
  position(at: number): number {
    return this.spec.before.length + at;
  }

  /** What is computed, in a line. */
  get about(): string {
    const heads = this.scheme.rows.filter((row) => this.kind(row) === "selector").length;
    const depth = Math.max(0, ...this.spec.nodes.map((node) => node.depth));
    return `depth ${depth}, ${count(heads, "head")}`;
  }

  node(number: number): NodeSpec {
    return this.spec.nodes[number]!;
  }

  kind(number: number): Kind {
    return this.kinds[number]!;
  }

  /** The values of a node as the table shows them, blanks visible. */
  texts(number: number): string[] {
    return (this.evaluated.texts[number] ?? []).map((text) => text.replaceAll(" ", "␣"));
  }

  selected(number: number): boolean[][] {
    return this.evaluated.selected[number]!;
  }

  /** Whether it is what the program computes. */
  isOutput(number: number): boolean {
    return this.spec.root === number;
  }

  /** The hue of a text among the tokens; null: it is none of them. */
  hue(text: string): number | null {
    const letter = this.spec.alphabet.indexOf(text);
    return letter < 0 ? null : letter % 7;
  }

  /** A row in words, for screen readers. */
  said(row: number): string {
    const { name } = this.node(row);
    return this.kind(row) === "selector" ? `selector ${name}` : `${name}: ${this.texts(row).join(" ")}`;
  }

  /** Why a cell is what it is, in a line. */
  because({ node: number, at }: Place): string {
    const node = this.node(number);
    const here = `${node.name} at ${at}`;
    const selector = this.scheme.selector(number);
    const text = this.texts(number)[at];
    const list = (all: string[]) => (all.length > LISTED ? [...all.slice(0, LISTED), "…"] : all).join(", ");
    if (selector === null) {
      const parts = this.scheme.into(number).map(({ from }) => `${this.node(from).name} = ${this.texts(from)[at]}`);
      return parts.length ? `${here} = ${node.text} = ${text}, where ${list(parts)}` : `${here} = ${text}`;
    }
    const keys = this.selected(selector)[at]!.flatMap((on, k) => (on ? [k] : []));
    const places = list(keys.map(String));
    if (node.kind === "selector") {
      if (node.operator !== "select") return `${here} selects ${places || "nothing"}`;
      const [key, query] = node.arguments as [number, number];
      return `${here} selects ${places || "nothing"}: the positions where ${this.node(key).name} ${node.relation} ${this.texts(query)[at]}`;
    }
    const values = node.arguments[1]!;
    const { name } = this.node(values);
    if (!keys.length) return `${here} = ${text}, the default: ${this.node(selector).name} selects nothing there`;
    if (keys.length === 1) return `${here} = ${name} at ${places} = ${text}`;
    return `${here} = the mean of ${name} at ${places} = the mean of ${list(keys.map((k) => this.texts(values)[k]!))} = ${text}`;
  }

  /** The numbers of the heads that compute a selector, in their hues. */
  tags(row: number): HTMLElement[] {
    return this.scheme.heads(row).map(([layer, head]) => el("b", { class: `tag hue${this.number(layer, head) % 7}` }, `${layer + 1}.${head + 1}`));
  }

  /** Where the heads of the selector of a node look, in the chosen pass. */
  looks(node: number, { layer: step }: Showing): Looks[] {
    const steps = this.run.stepsWith(step);
    return this.scheme.heads(node).map(([layer, head]) => ({
      label: `${layer + 1}.${head + 1}`,
      hue: this.number(layer, head) % 7,
      keys: this.word.map((_, at) => {
        const { uniform, sight, sharers } = this.run.look(steps[layer]!, head, this.position(at));
        const looked = (j: number) => (uniform ? sight[0] <= j && j < sight[1] : sharers.includes(j));
        return this.word.flatMap((_, k) => (looked(this.position(k)) ? [k] : []));
      }),
    }));
  }

  /** The number of a head among those of all layers. */
  private number(layer: number, head: number): number {
    return this.run.spec.layers.slice(0, layer).reduce((sum, { heads }) => sum + heads.length, head);
  }

  // ── layers: the page counts the steps of a run, in which the layers of a loop come once for each pass
  /** The layer of a step, from 0; -1: the embedding. */
  layer(step: number): number {
    return this.run.layerOf(step);
  }

  /** The step of a layer that goes with the chosen step: in the same pass of a loop, otherwise the last. */
  step(layer: number, chosen: number): number {
    return layer < 0 ? -1 : this.run.stepsWith(chosen)[layer]!;
  }

  title(layer: number): string {
    return layer < 0 ? "input" : this.run.spec.layers[layer]!.name;
  }

  /** See what there is in the pass of a step. */
  turn({ layer: step }: Showing): void {
    const { spec, run, after } = this;
    const [layer, pass] = run.spec.steps[step] ?? [-1, 0];
    const loop = spec.nodes.flatMap((node, n) => (node.kind === "loop" ? [n] : []))[run.spec.loops.findIndex(([first, last]) => first <= layer && layer <= last)];
    if (loop === undefined) return void (this.evaluated = this.whole);
    const key = `${loop} ${pass}`;
    if (!after.has(key)) after.set(key, evaluate(spec, this.word, new Map([[loop, pass]])));
    this.evaluated = after.get(key)!;
  }

  /** Whether a row is not known yet after the chosen layer, and whether it is computed there. */
  known(row: number, { layer: step }: Showing): { unknown: boolean; fresh: boolean } {
    const { run, scheme } = this;
    const [own, layer] = [scheme.layer(row), this.layer(step)];
    const looping = own === layer && (run.spec.steps[step]?.[1] ?? 0) < run.passes(layer) && scheme.afterLoop(row);
    return { unknown: own > layer || looping, fresh: own === layer && !looping };
  }

  /** The chosen row: the one that was clicked, otherwise the head of the chosen layer, or the last row that is known there. */
  chosen({ node, layer }: Showing): number {
    if (node !== null && this.scheme.row(node)) return node;
    const known = this.scheme.bands.filter((band) => band.layer <= this.layer(layer));
    const rows = (known.at(-1) ?? this.scheme.bands[0]!).rows;
    return rows.find((row) => this.node(row).operator === "aggregate") ?? rows.at(-1)!;
  }

  /** The cell that is looked at: the one under the mouse, otherwise that of the chosen row at the position. */
  place(now: Showing): Place {
    const at = Math.max(0, Math.min(this.count - 1, now.i - this.spec.before.length));
    return now.lit ?? { node: this.chosen(now), at };
  }
}
