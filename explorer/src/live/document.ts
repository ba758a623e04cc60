// A run of the page's own as the data that all views read: the shape that tm2tfr/web/explorer/document.py gives a recording.

import type { ColumnSpec, Heading, Numbers, Place, RunSpec, SheetSpec } from "../data";
import type { Growing, Seen } from "./record";
import { visible } from "./refusals";
import type { Ran } from "./run";
import { ANY, type Cell } from "./truth/reference";

const NAMES = ["winner", "count", "score", "runner", "runner_score"] as const;

/** Columns that are not in the page's buffer: the n-th is at -1 - n. */
export class Extra {
  readonly columns: Numbers[] = [];

  add(values: Numbers): Place {
    this.columns.push(values);
    return { type: "f8", at: -this.columns.length, count: values.length };
  }
}

/** The column of a `Extra` that a place says; null: it is in the page's buffer. */
export function shelved(columns: Numbers[], { at }: Place): Numbers | null {
  return at < 0 ? columns[-1 - at]! : null;
}

/** How texts are shown that are not shown as they are. */
export type Shown = Record<string, string>;

/** The data of a run, with what stays the same from that of the recorded run of the same weights. */
export function documented(old: RunSpec, ran: Ran, word: string[], result: string, extra: Extra): RunSpec {
  const { rows, expected, divergence, compared, answer, T, recorder } = ran;
  const { shown } = old.live;
  const show = (text: string) => (Object.hasOwn(shown, text) ? shown[text]! : visible(text));
  const texts = new Map<string, number>();
  const count = rows.length;
  const checked = old.live.reference !== null;
  return {
    ...old,
    T,
    agrees: checked ? !divergence && compared > 0 : null,
    compared,
    answer,
    result,
    input: word.map(show).join(""),
    prompt: ran.prompt,
    lead: ran.lead,
    count,
    rows: sheet(old.columns, rows, texts, show, extra),
    expected: divergence ? sheet(old.columns, expected, texts, show, extra) : null,
    checked: expected.length,
    unspecified: unspecified(old.columns, expected, extra),
    divergence,
    ...(ran.stopped ? { stopped: true } : {}),
    layers: old.layers.map((layer, l) => {
      const passes = recorder.seen.filter((_, step) => recorder.steps[step]![0] === l);
      return { ...layer, heads: layer.heads.map((head, k) => (head.seen ? { ...head, ...looks(passes.map((seen) => seen[k]!), count, extra) } : head)) };
    }),
    steps: recorder.steps,
    stages: recorder.written.map((columns) => [...columns].sort(([a], [b]) => a - b).map(([n, { values, others }]): [number, ColumnSpec] => [n, { values: extra.add(values.upto(count)), ...coordinates(others, count) }])),
    texts: [...texts.keys()],
  };
}

function sheet(columns: Heading[], rows: Cell[][], texts: Map<string, number>, show: (text: string) => string, extra: Extra): SheetSpec {
  const interned = (cell: Cell): number => {
    if (cell === null || cell === ANY) return 0;
    const text = show(String(cell));
    if (!texts.has(text)) texts.set(text, texts.size);
    return texts.get(text)! + 1;
  };
  const number = (cell: Cell): number => (cell === ANY ? 0 : Number(cell));
  return Object.fromEntries(columns.map(({ name, number: numeric }, n) => [name, extra.add(Float64Array.from(rows, (row) => (numeric ? number : interned)(row[n]!)))]));
}

/** For each column with cells of which the reference says nothing, which cells they are. */
function unspecified(columns: Heading[], expected: Cell[][], extra: Extra): SheetSpec {
  const free = columns.flatMap(({ name }, n): [string, Uint8Array][] => {
    const cells = Uint8Array.from(expected, (row) => Number(row[n] === ANY));
    return cells.includes(1) ? [[name, cells]] : [];
  });
  return Object.fromEntries(free.map(([name, cells]) => [name, extra.add(cells)]));
}

/** Where a head looked in each pass, one pass after the other. */
function looks(passes: Seen[], count: number, extra: Extra): Pick<RunSpec["layers"][number]["heads"][number], "seen" | "sharers" | "weights"> {
  const places = Object.fromEntries(NAMES.map((name) => [name, extra.add(joined(passes.map((seen) => (seen[name] as Growing).upto(count))))]));
  const sharers = Object.fromEntries(passes.flatMap((seen, n) => [...seen.sharers].filter(([i]) => i < count).map(([i, shared]) => [n * count + i, shared])));
  const weights = passes.flatMap((seen) => [...seen.weights].filter(([i]) => i < count).sort(([a], [b]) => a - b).map(([, own]) => own));
  const soft = weights.length ? { weights: extra.add(joined(weights)) } : {};
  return { ...soft, seen: places as Record<(typeof NAMES)[number], Place>, sharers };
}

function joined(parts: Float64Array[]): Float64Array {
  return parts.length === 1 ? parts[0]! : Float64Array.from(parts.flatMap((part) => [...part]));
}

function coordinates(others: Map<number, number[]>, count: number): Pick<ColumnSpec, "others"> {
  const kept = [...others].filter(([i]) => i < count).sort(([a], [b]) => a - b);
  return kept.length ? { others: Object.fromEntries(kept) } : {};
}
