// What is drawn of a RASP program: a row for each s-op with a place of its own and for the selector of each head, in bands by the
// layer of the weights after which they are known, and the edges between the rows.

import { type Atom, nearest } from "../live/truth/atoms";
import type { Evaluated, NodeSpec, SequenceSpec } from "./spec";

/** What the cells of a row are; those of a selector tell which positions are selected. */
export type Kind = "token" | "number" | "truth" | "selector";
/** What one node is to another: its keys, queries or values, its selector, a part at the same position; `again`: in the next pass of a loop. */
export type Role = "key" | "query" | "value" | "selector" | "part" | "again";

/** `to` is made of `from`; both are nodes. */
export interface Edge {
  from: number;
  to: number;
  role: Role;
}

/** The rows of a layer of the weights, counted from 0; of the embedding, -1. */
export interface Band {
  layer: number;
  rows: number[];
}

/** A cell of a row: a node and a position of the input. */
export interface Place {
  node: number;
  at: number;
}

export class Scheme {
  readonly bands: Band[];
  readonly edges: Edge[];
  /** The nodes with rows, from top to bottom. */
  readonly rows: number[];
  private readonly has: boolean[];
  /** By node the row that stands for an s-op with a place of its own. */
  private readonly standsFor: (number | null)[];
  private readonly layers: number[];
  /** Whether a node is made of what a loop leaves. */
  private readonly ended: boolean[] = [];

  constructor(readonly spec: SequenceSpec) {
    const { nodes } = spec;
    // s-ops of one name are made in the same way, and are one row
    const first = new Map<string, number>();
    this.standsFor = nodes.map(({ kind, box, name }, n) => {
      if (!box || kind !== "sop") return null;
      if (!first.has(name)) first.set(name, n);
      return first.get(name)!;
    });
    this.has = this.standsFor.map((row, n) => row === n);
    nodes.forEach((node, n) => {
      if (node.operator === "aggregate" && this.has[n]) this.has[node.arguments[0]!] = true;
    });
    this.layers = [];
    for (const node of nodes) {
      this.layers.push(this.since(node));
      this.ended.push(node.operator === "looped" || (node.kind !== "loop" && node.arguments.some((part) => this.ended[part])));
    }
    const layers = [...new Set(this.layers.filter((_, n) => this.has[n]))].sort((a, b) => a - b);
    this.bands = layers.map((layer) => ({ layer, rows: this.inside(layer) }));
    this.rows = this.bands.flatMap((band) => band.rows);
    this.edges = [...this.rows.flatMap((row) => this.into(row)), ...nodes.flatMap((node) => this.again(node))];
  }

  /** The layer of the weights after which a node is known, from 0; -1: from the embedding on. */
  layer(number: number): number {
    return this.layers[number]!;
  }

  /** Whether a node is made of what a loop leaves, so that it is known after the last pass. */
  afterLoop(number: number): boolean {
    return this.ended[number]!;
  }

  /** Whether a node has a row. */
  row(number: number): boolean {
    return this.has[number]!;
  }

  /** The heads of the weights that look where a selector selects, or where that of an aggregate does: layer and head, from 0. */
  heads(number: number): [number, number][] {
    const selector = this.selector(number);
    if (selector === null) return [];
    const own = this.spec.nodes[selector]!.heads;
    return own.length ? own : this.spec.nodes[number]!.heads;
  }

  /** A selector itself, or that of an aggregate; null of other nodes. */
  selector(number: number): number | null {
    const node = this.spec.nodes[number]!;
    if (node.kind === "selector") return number;
    return node.operator === "aggregate" ? node.arguments[0]! : null;
  }

  /** The s-ops that a selector compares, as they are written: keys and queries, each once and without constants. */
  compared(selector: number): { keys: number[]; queries: number[] } {
    const { nodes } = this.spec;
    const [keys, queries] = [new Set<number>(), new Set<number>()];
    const visit = (number: number): void => {
      const node = nodes[number]!;
      if (node.operator !== "select") return node.arguments.forEach(visit);
      const [key, query] = node.arguments as [number, number];
      if (nodes[key]!.operator !== "constant") keys.add(key);
      if (nodes[query]!.operator !== "constant") queries.add(query);
    };
    visit(selector);
    return { keys: [...keys], queries: [...queries] };
  }

  /** The aggregates with rows of a selector. */
  aggregates(selector: number): number[] {
    return this.rows.filter((row) => row !== selector && this.selector(row) === selector);
  }

  /** The edges to a row: from the rows that it is made of. */
  into(to: number): Edge[] {
    const node = this.spec.nodes[to]!;
    const from = (numbers: number[], role: Role) => this.behind(numbers).map((number): Edge => ({ from: number, to, role }));
    if (node.kind === "selector") {
      const { keys, queries } = this.compared(to);
      return [...from(keys, "key"), ...from(queries, "query")];
    }
    if (node.operator === "aggregate") return [{ from: node.arguments[0]!, to, role: "selector" }, ...from([node.arguments[1]!], "value")];
    return from(parts(node), "part");
  }

  /** The edges of a loop: from what a pass makes to what the next one begins with. */
  private again(node: NodeSpec): Edge[] {
    if (node.operator !== "repeat") return [];
    return node.states.flatMap((to, n) => (this.has[to] ? this.behind([node.nexts[n]!]).filter((from) => from !== to).map((from): Edge => ({ from, to, role: "again" })) : []));
  }

  /** The rows that nodes stand for: their own, or those of what they are made of; each once. */
  behind(numbers: number[]): number[] {
    const found = new Set<number>();
    const visit = (number: number): void => {
      const row = this.has[number] ? number : this.standsFor[number]!;
      if (row !== null) found.add(row);
      else parts(this.spec.nodes[number]!).forEach(visit);
    };
    numbers.forEach(visit);
    return [...found].sort((a, b) => a - b);
  }

  /** The cells that a cell is made of: the other end of each edge, and the position there. */
  sources({ node, at }: Place, { selected }: Evaluated): (Edge & { at: number })[] {
    const selector = this.selector(node);
    const row = selector === null ? [] : selected[selector]![at]!;
    return this.into(node).flatMap((edge) => {
      if (edge.role !== "key" && edge.role !== "value") return [{ ...edge, at }];
      return row.flatMap((on, k) => (on ? [{ ...edge, at: k }] : []));
    });
  }

  /** All cells that a cell depends on. */
  upstream(place: Place, evaluated: Evaluated): Place[] {
    const found = new Map<string, Place>();
    const waiting = [place];
    for (let here = waiting.pop(); here; here = waiting.pop())
      for (const { from, at } of this.sources(here, evaluated)) {
        const name = `${from}:${at}`;
        if (found.has(name)) continue;
        found.set(name, { node: from, at });
        waiting.push({ node: from, at });
      }
    return [...found.values()];
  }

  private since(node: NodeSpec): number {
    if (node.heads.length) return Math.max(...node.heads.map(([layer]) => layer));
    if (node.operator === "aggregate" && this.spec.nodes[node.arguments[0]!]!.heads.length) return this.layers[node.arguments[0]!]!;
    return node.since ?? Math.max(-1, ...node.arguments.map((part) => this.layers[part] ?? -1));
  }

  /** The rows of a layer: each selector before what it aggregates, anything after what it is made of. */
  private inside(layer: number): number[] {
    const here = this.layers.flatMap((own, number) => (own === layer && this.has[number] ? [number] : []));
    const order = here.flatMap((number) => (this.spec.nodes[number]!.kind === "selector" ? [number, ...here.filter((each) => this.spec.nodes[each]!.operator === "aggregate" && this.selector(each) === number)] : []));
    return [...order, ...here.filter((number) => !order.includes(number))];
  }
}

/** The nodes that a node is made of at the same position; of what a loop leaves, its last value alone. */
function parts(node: NodeSpec): number[] {
  return node.operator === "looped" ? [node.arguments[1]!] : node.arguments;
}

/** What the values of a row are. */
export function kindOf(node: NodeSpec, values: Atom[]): Kind {
  if (node.kind === "selector") return "selector";
  if (typeof values[0] === "string") return "token";
  return values.every((value) => typeof value === "boolean") && !node.numeric ? "truth" : "number";
}

/** How large a value is; null of a text. */
export function sizeOf(value: Atom): number | null {
  return typeof value === "string" ? null : Math.abs(nearest(value));
}
