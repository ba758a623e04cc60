// A labeller's run as tables, as tm2tfr/web/explorer/labeller.py and tm2tfr/tables/sheet.py write them.

import { el } from "../dom";
import type { Decoder } from "../live/decoder";
import { sixDigits } from "../live/python";
import { counted, thousands, visible } from "../live/refusals";
import type { Labelled, LabellerSpec, Stage } from "./run";

/** The most rows of the table of answers. */
const MOST_ROWS = 40;
const SPACE = "␣";

/** What is fed and answered at every position. */
export function answers({ tokens, answers: rows }: Labelled, decoder: Decoder): HTMLElement {
  const taken = [...tokens, ...rows.flat()].some((text) => text.includes(SPACE));
  const show = (text: string) => (text === " " ? (taken ? "' '" : SPACE) : visible(text));
  const lines = rows.map((row, i) => el("tr", {}, el("th", { scope: "row" }, String(i)), ...[tokens[i]!, ...row].map((cell) => el("td", {}, show(cell)))));
  const heading = ["i", "x", ...decoder.outputs.map(({ name }) => name)].map(visible);
  const gap = lines.length - MOST_ROWS;
  if (gap > 0) {
    const words = `⋮ (${thousands(gap)} ${gap === 1 ? "row" : "rows"})`;
    lines.splice(MOST_ROWS / 2, gap, el("tr", {}, el("td", { colspan: heading.length }, words)));
  }
  return table("tm2tfr", heading, lines);
}

/** A matrix for each head, layer by layer: a row for each position that looks. */
export function heads({ tokens, attended }: Labelled, { named, layers }: LabellerSpec): HTMLElement[] {
  const names = tokens.map((token, i) => (named ? `${i} ${visible(token)}` : String(i)));
  return layers.flatMap(({ heading, heads: each }, n) => {
    if (!each.length) return [];
    const drawn = each.map((name, k) => matrix(name, attended[n]![k]!, names));
    return [el("h3", {}, heading), el("div", { class: "heads" }, ...drawn)];
  });
}

function matrix(name: string, attended: number[][], names: string[]): HTMLElement {
  const across = names.map((each) => {
    const [place, ...token] = each.split(" ");
    return el("th", { scope: "col" }, token.length ? `${place} ` : place, token.length ? el("br") : null, token.join(" "));
  });
  const rows = attended.map((places, i) => {
    const there = new Set(places);
    const said = places.length === 1 ? "1" : `1/${places.length}`;
    const style = `background:rgba(11,114,133,${hundredths(1 / places.length)})${places.length === 1 ? ";color:#fff" : ""}`;
    const cells = names.map((_, j) => (there.has(j) ? el("td", { style }, said) : el("td")));
    return el("tr", {}, el("th", { scope: "row" }, names[i]!), ...cells);
  });
  return el("table", { class: "weights" }, el("caption", {}, name), el("thead", {}, el("tr", {}, el("td"), ...across)), el("tbody", {}, ...rows));
}

/** A share to two digits, as Python rounds it: 1/8, halfway between two of them, goes to the even one. */
function hundredths(share: number): string {
  return share === 0.125 ? "0.12" : share.toFixed(2);
}

/** The subspaces that each stage changes, with a row for each position. */
export function stages({ stages: all }: Labelled, { subspaces }: LabellerSpec): HTMLElement[] {
  const starts = [0];
  for (const { labels } of subspaces) starts.push(starts.at(-1)! + (labels ? labels.length : 1));
  const part = (x: Float64Array | undefined, n: number) => (x ?? new Float64Array(starts.at(-1)!)).subarray(starts[n]!, starts[n + 1]!);
  return all.map(({ layer, part: named, pass, streams }, number) => {
    const before: Stage | undefined = all[number - 1];
    const differs = (n: number) => streams.some((x, i) => part(x, n).some((value, k) => value !== part(before?.streams[i], n)[k]));
    const changed = Array.from(subspaces.keys()).filter(differs);
    const where = number === 0 ? "embedding" : `layer ${layer + 1}, ${pass ? `pass ${pass}, ` : ""}${named.replace("_", "-")}`;
    const summary = el("summary", {}, changed.length ? `${where}: ${counted(changed.length, "subspace")}` : `${where}: nothing changes`);
    if (!changed.length) return el("details", { open: number === 0 }, summary);
    const rows = streams.map((x, i) => el("tr", {}, el("th", { scope: "row" }, String(i)), ...changed.map((n) => el("td", {}, content(subspaces[n]!.labels, part(x, n))))));
    const drawn = table(null, ["i", ...changed.map((n) => visible(subspaces[n]!.name))], rows);
    return el("details", { open: number === 0 }, summary, el("div", { class: "wide", tabindex: 0 }, drawn));
  });
}

/** What a subspace holds at a position. */
function content(labels: string[] | null, values: Float64Array): string {
  if (!labels) return Array.from(values, sixDigits).join(", ");
  const there = labels.flatMap((label, k) => (values[k] ? [values[k] === 1 ? visible(label) : `${visible(label)}: ${sixDigits(values[k]!)}`] : []));
  return there.length ? there.join(", ") : "·";
}

function table(name: string | null, heading: string[], rows: HTMLElement[]): HTMLElement {
  const [first, ...rest] = heading;
  const top = [first!, ...rest].map((text, n) => el("th", name || n ? { scope: "col" } : {}, text));
  return el("table", { class: name }, el("thead", {}, el("tr", {}, ...top)), el("tbody", {}, ...rows));
}
