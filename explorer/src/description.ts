// The machine in the prompt of a universal decoder: its rules, token by token, and which of them is looked up.

import type { Look, Run } from "./data";

const ARROW = "→";

/** A rule: the positions of what it is for and of what it answers, and their tokens. */
export interface PromptRule {
  key: number;
  value: number;
  wanted: string;
  answer: string;
}

/** What the head that finds rules looked up at a position: the rule for the state and the symbol, and where it looked. */
export interface Lookup {
  wanted: string;
  look: Look;
  /** The rule it found, null if what it looked at is for something else. */
  found: PromptRule | null;
  /** The rule for the state and the symbol, if there is one. */
  due: PromptRule | null;
}

export class Description {
  readonly rules: PromptRule[] = [];
  /** The name of the tape at position 0, if the prompt begins with one. */
  readonly tape: string | null;
  /** The head that finds rules, as `6.1`, and its number among all heads. */
  readonly label: string;
  readonly number: number;
  private readonly byValue = new Map<number, PromptRule>();
  private readonly byKey = new Map<string, PromptRule>();

  constructor(
    readonly run: Run,
    private readonly at: { layer: number; head: number },
  ) {
    const { rows, spec } = run;
    for (let i = 1; i < spec.lead; i++) {
      if (!this.answers(i)) continue;
      const rule = { key: i - 1, value: i, wanted: rows.fed(i - 1), answer: rows.fed(i).slice(ARROW.length) };
      this.rules.push(rule);
      this.byValue.set(rule.value, rule);
      this.byKey.set(rule.wanted, rule);
    }
    this.tape = this.rules[0]?.key === 0 ? null : rows.fed(0);
    this.label = `${at.layer + 1}.${at.head + 1}`;
    this.number = spec.layers.slice(0, at.layer).reduce((sum, layer) => sum + layer.heads.length, at.head);
  }

  /** The description in the prompt of this run; null if there is none, or no head that finds rules. */
  static of(run: Run): Description | null {
    const { lead, finds } = run.spec;
    return lead > 0 && finds ? new Description(run, { layer: finds[0], head: finds[1] }) : null;
  }

  /** The rule that a position is part of. */
  ruleAt(i: number): PromptRule | null {
    return this.byValue.get(i) ?? this.byValue.get(i + 1) ?? null;
  }

  /** What is looked up at position i; null in the prompt, where the machine has no state yet. */
  lookup(i: number): Lookup | null {
    const { rows } = this.run;
    const [q, a] = [rows.text("q", i), rows.text("a", i)];
    if (!this.run.generated(i) || q === null || a === null) return null;
    const wanted = `${q},${a}`;
    const look = this.run.look(this.at.layer, this.at.head, i);
    const seen = look.count === 1 ? (this.byValue.get(look.winner) ?? null) : null;
    return { wanted, look, found: seen?.wanted === wanted ? seen : null, due: this.byKey.get(wanted) ?? null };
  }

  private answers(i: number): boolean {
    const token = this.run.rows.fed(i);
    return token.length > 1 && token.startsWith(ARROW);
  }
}
