// The simulator: a Turing machine run as in the textbook, and the rows of the chapter's table that follow from its steps.

import type { Cell, Said, Truth } from "./reference";

/** A machine, with the tokens of its verdicts (tm2tfr/web/explorer/document.py writes it). */
export interface MachineReference {
  kind: "machine";
  states: string[];
  start: number;
  /** The states in which no step is ever made. */
  halting: number[];
  /** [state, symbol read, new state, symbol written, move] */
  rules: [number, string, number, string, number][];
  blank: string;
  oneWay: boolean;
  /** Whether m is the rule's own move even where the head stays at cell 0, as in the chapter's step 4 (Exercise 8.3). */
  nominal: boolean;
  /** The tokens that describe the machine to a universal decoder. */
  lead: string[];
  /** The verdict that answers the prompt, if one does. */
  first: string | null;
  /** By state, the verdict of a step into it. */
  entered: (string | null)[];
  /** By state, the verdict of a run that has no rule there, except for these pairs. */
  stopped: string[];
  unruled: [number, string, string][];
  /** The verdicts that it can give. */
  verdicts: string[];
  /** What is said where the sum of the moves is wrong, with {bump}, the position of the first such move, and {token}; null: it never is. */
  bump: string | null;
}

const VERDICTS = ["ACC", "REJ", "HALT"];

function triple(state: string, symbol: string, move: number): string {
  return `(${state},${symbol},${move > 0 ? "+" : ""}${move})`;
}

/** The rows x, q, b, m, h, a, y of every position; the configuration at which the limit cuts the run off has none. */
export function* machineRows(machine: MachineReference, word: string[], maxSteps: number | null): Generator<Cell[]> {
  const { states, blank, lead } = machine;
  const under = word[0] ?? blank;
  for (const token of lead) yield [token, null, null, 0, 0, blank, token];
  for (const symbol of word) yield [symbol, null, null, 0, 0, under, symbol];
  let token = machine.first ?? triple(states[machine.start]!, under, 0);
  yield ["BOS", null, null, 0, 0, under, token];
  if (VERDICTS.includes(token)) return;

  const rules = new Map(machine.rules.map(([q, a, ...rule]) => [`${q},${a}`, rule]));
  const halting = new Set(machine.halting);
  const tape = new Map(word.map((symbol, cell) => [cell, symbol]));
  let [state, head, written, moved] = [machine.start, 0, under, 0];
  for (let step = 0; ; step++) {
    const symbol = tape.get(head) ?? blank;
    const rule = halting.has(state) ? undefined : rules.get(`${state},${symbol}`);
    const row = [token, states[state]!, written, moved, head, symbol];
    if (!rule) {
      const unruled = machine.unruled.find(([q, a]) => q === state && a === symbol);
      yield [...row, unruled?.[2] ?? machine.stopped[state]!];
      return;
    }
    if (maxSteps !== null && step >= maxSteps) return;
    const [next, write, move] = rule;
    const made = machine.oneWay && head === 0 && move < 0 ? 0 : move; // at the left end the head stays
    const said = machine.nominal ? move : made;
    token = machine.entered[next] ?? triple(states[next]!, write, said);
    yield [...row, token];
    if (VERDICTS.includes(token)) return;
    tape.set(head, write);
    [state, head, written, moved] = [next, head + made, write, said];
  }
}

export function machineSays(machine: MachineReference): Pick<Truth, "result" | "ending" | "facts"> {
  return {
    result: () => "",
    facts: (rows, columns) => factsOf(machine, rows, columns),
    ending(stop) {
      const lacking = machine.verdicts.filter((token) => !stop.includes(token));
      const early = stop.filter((token) => !VERDICTS.includes(token));
      const listed = (tokens: string[]) => tokens.join(", ") || "empty";
      return lacking.length || early.length ? { expected: listed(machine.verdicts), found: listed(stop) } : null;
    },
  };
}

/** A machine in the prompt: which rule a position uses; without the repair, from where on the head is elsewhere (Exercise 8.3). */
function factsOf({ lead, bump }: MachineReference, rows: Cell[][], columns: string[]): Said {
  const [q, m, h, a] = ["q", "m", "h", "a"].map((name) => columns.indexOf(name)) as [number, number, number, number];
  const first = bump === null ? -1 : rows.findIndex((row, k) => k > 0 && row[m] === -1 && rows[k - 1]![h] === 0 && row[h] === 0);
  return {
    about(i) {
      const key = lead.indexOf(`${String(rows[i]![q])},${String(rows[i]![a])}`);
      return rows[i]![q] === null || key < 0 || key + 1 >= i ? null : `the rule ${lead[key]!} ${lead[key + 1]!}, at position ${key + 1}`;
    },
    bump: (i) => (first < 0 || i < first ? null : bump!.replace("{bump}", String(first)).replace("{token}", String(rows[first]![0]))),
  };
}
