// The state graph of a machine as SVG, in the form that Graphviz gives it: the page has no Graphviz, which is ten times as large.
//
// The states are on an ellipse, in the order of a walk from the start state, so that no arrow runs through a state; arrows
// in both directions bend by different amounts.

import { visible } from "../live/refusals";
import type { Machine } from "./machine";

const IN_A_ROW = 8;
const LETTER = 10.5;
const HEIGHT = 24;
const LINE = 20;
const MOVES = ["L", "S", "R"];

type Point = readonly [number, number];

/** The label of the arrow between two states: its lines, each with the symbols that it is about. */
export interface ArrowLabel {
  from: string;
  to: string;
  lines: { text: string; symbols: string[] }[];
}

/** The labels of all arrows; symbols with the same action share a line: `0,1 → x, R`. */
export function labels(machine: Machine, show: (name: string) => string): ArrowLabel[] {
  const arrows = new Map<string, { from: string; to: string; groups: Map<string, string[]> }>();
  for (const { state: from, symbol, rule } of machine.rules.entries) {
    const key = JSON.stringify([from, rule.state]);
    const arrow = arrows.get(key) ?? { from, to: rule.state, groups: new Map<string, string[]>() };
    arrows.set(key, arrow);
    const action = `${rule.write === symbol ? "" : `${show(rule.write)}, `}${MOVES[rule.move + 1]}`;
    arrow.groups.set(action, [...(arrow.groups.get(action) ?? []), symbol]);
  }
  return [...arrows.values()].map(({ from, to, groups }) => ({
    from,
    to,
    lines: [...groups].flatMap(([action, read]) => {
      const rows = Array.from({ length: Math.ceil(read.length / IN_A_ROW) }, (_, n) => read.slice(n * IN_A_ROW, (n + 1) * IN_A_ROW));
      return rows.map((symbols, n) => ({ text: symbols.map(show).join(",") + (n < rows.length - 1 ? "," : ` → ${action}`), symbols }));
    }),
  }));
}

export function drawn(machine: Machine, show: (name: string) => string): string {
  const order = walked(machine);
  const size = order.length;
  const [wide, high] = size < 2 ? [0, 0] : [Math.max(120, 58 * size), Math.max(70, 26 * size)];
  const number = new Map(machine.states.map((state, n) => [state, n]));
  const nodes = new Map(
    order.map((state, n): [string, Placed] => {
      const angle = Math.PI + (2 * Math.PI * n) / size; // the start state is on the left
      const centre: Point = [wide * Math.cos(angle), high * Math.sin(angle)];
      return [state, { place: n, centre, half: Math.max(27, (LETTER * visible(state).length) / 2 + 14) }];
    }),
  );
  const parts: string[] = [];
  let bounds = [Infinity, Infinity, -Infinity, -Infinity] as [number, number, number, number];
  const reach = ([x, y]: Point, across: number, up: number) => {
    bounds = [Math.min(bounds[0], x - across), Math.min(bounds[1], y - up), Math.max(bounds[2], x + across), Math.max(bounds[3], y + up)];
  };
  for (const [state, { centre, half }] of nodes) {
    parts.push(`<g class="node" id="state${number.get(state)}"><title>s${number.get(state)}</title>${outline(machine.outcomeOf(state), centre, half)}${written(centre, visible(state), 18)}</g>`);
    reach(centre, half + 6, HEIGHT + 6);
  }
  for (const { from, to, lines } of labels(machine, show)) {
    const [a, b] = [nodes.get(from)!, nodes.get(to)!];
    const arrow = from === to ? loop(a.centre, a.half, high) : between(a, b, size);
    const texts = lines.map(({ text }, n) => {
      const across = (LETTER * text.length) / 2;
      const at: Point = [arrow.label[0] + (from === to ? Math.sign(Math.round(arrow.label[0] - a.centre[0])) * across * 0.8 : 0), arrow.label[1] + LINE * (n - (lines.length - 1) / 2)];
      reach(at, across, LINE);
      return written(at, text, 17);
    });
    parts.push(`<g class="edge"><title>${escaped(`s${number.get(from)}->s${number.get(to)}`)}</title>${arrow.drawing}${texts.join("")}</g>`);
  }
  const start = nodes.get(machine.start)!;
  const tip: Point = [start.centre[0] - start.half, start.centre[1]];
  parts.push(`<g class="edge"><title>start-&gt;s${number.get(machine.start)}</title>${curve([tip[0] - 40, tip[1]], [tip[0] - 20, tip[1]], tip)}</g>`);
  reach([tip[0] - 40, tip[1]], 4, 4);
  const [left, top, right, bottom] = bounds.map(Math.round) as typeof bounds;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${left - 4} ${top - 4} ${right - left + 8} ${bottom - top + 8}"><g class="graph">${parts.join("")}</g></svg>`;
}

/** The states in the order of a walk from the start state, breadth first, then those that no rule leads to. */
function walked(machine: Machine): string[] {
  const found = new Set([machine.start]);
  for (const state of found) for (const { state: from, rule } of machine.rules.entries) if (from === state) found.add(rule.state);
  return [...new Set([...found, ...machine.states])];
}

function outline(end: string | null, [x, y]: Point, half: number): string {
  const ellipse = (more: number, fill: string) => `<ellipse fill="${fill}" stroke="black" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" rx="${half + more}" ry="${HEIGHT + more}"/>`;
  if (end === "accept") return ellipse(0, "white") + ellipse(4, "none");
  if (end === null) return ellipse(0, "white");
  const [cut, w, h] = [end === "reject" ? 9 : 4, half, HEIGHT - 2];
  const corners = [[-w, -h + cut], [-w + cut, -h], [w - cut, -h], [w, -h + cut], [w, h - cut], [w - cut, h], [-w + cut, h], [-w, h - cut]];
  return `<polygon fill="white" stroke="black"${end === "reject" ? ' stroke-dasharray="5,2"' : ""} points="${corners.map(([dx, dy]) => point([x + dx!, y + dy!])).join(" ")}"/>`;
}

/** A state on the ellipse: its place in the order of the walk, its centre, and half of its width. */
interface Placed {
  place: number;
  centre: Point;
  half: number;
}

interface Arrow {
  drawing: string;
  label: Point;
}

/** An arrow between two states, with its label on it: between neighbours outwards in the order of the walk, all others inwards. */
function between(a: Placed, b: Placed, size: number): Arrow {
  const [dx, dy] = [b.centre[0] - a.centre[0], b.centre[1] - a.centre[1]];
  const length = Math.hypot(dx, dy) || 1;
  const middle: Point = [(a.centre[0] + b.centre[0]) / 2, (a.centre[1] + b.centre[1]) / 2];
  const left: Point = [dy / length, -dx / length];
  const side = left[0] * middle[0] + left[1] * middle[1] >= 0 ? 1 : -1; // of the normal that points outwards
  const ahead = (b.place - a.place + size) % size;
  const bend = ahead === 1 ? 0.16 * length + 6 : ahead === size - 1 ? -0.14 * length - 4 : -(b.place > a.place ? 0.07 : 0.2) * length;
  const control: Point = [middle[0] + left[0] * side * bend, middle[1] + left[1] * side * bend];
  const [from, to] = [edgeOf(a.centre, a.half, control), edgeOf(b.centre, b.half + 1, control)];
  const t = 0.4; // not in the middle, where chords cross
  const on = (k: 0 | 1) => (1 - t) ** 2 * from[k] + 2 * t * (1 - t) * control[k] + t ** 2 * to[k];
  return { drawing: curve(from, control, to), label: [on(0), on(1)] };
}

/** An arrow from a state to itself, on the outer side. */
function loop([x, y]: Point, half: number, high: number): Arrow {
  const up = high === 0 || y <= 0.01 ? -1 : 1;
  const [from, to]: [Point, Point] = [[x - half * 0.55, y + up * HEIGHT * 0.86], [x + half * 0.55, y + up * HEIGHT * 0.86]];
  const [first, second]: [Point, Point] = [[x - half * 0.75, y + up * (HEIGHT + 34)], [x + half * 0.75, y + up * (HEIGHT + 34)]];
  const drawing = `<path fill="none" stroke="black" d="M${point(from)} C${point(first)} ${point(second)} ${point(to)}"/>${tip(second, to)}`;
  return { drawing, label: [x, y + up * (HEIGHT + 42)] };
}

function curve(from: Point, control: Point, to: Point): string {
  return `<path fill="none" stroke="black" d="M${point(from)} Q${point(control)} ${point(to)}"/>${tip(control, to)}`;
}

/** An arrowhead at `to` that comes from another point. */
function tip(from: Point, to: Point): string {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  const wing = (turn: number): Point => [to[0] - 10 * Math.cos(angle + turn), to[1] - 10 * Math.sin(angle + turn)];
  return `<polygon fill="black" stroke="black" points="${[to, wing(0.38), wing(-0.38)].map(point).join(" ")}"/>`;
}

/** Where the line from a state's centre to a point leaves the state. */
function edgeOf([x, y]: Point, half: number, [px, py]: Point): Point {
  const [dx, dy] = [px - x, py - y];
  const scale = 1 / (Math.hypot(dx / half, dy / HEIGHT) || 1);
  return [x + dx * scale, y + dy * scale];
}

function point([x, y]: Point): string {
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}

function written([x, y]: Point, text: string, height: number): string {
  return `<text text-anchor="middle" x="${x.toFixed(1)}" y="${(y + height * 0.34).toFixed(1)}" font-family="Helvetica,Arial,sans-serif" font-size="${height}">${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
