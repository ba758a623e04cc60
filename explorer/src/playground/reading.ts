// What a source is read as: chosen above it, or recognised by its content, which is said below it.

import { el } from "../dom";
import type { Answer } from "./api";

/** The formats that are read as text, in groups, with their titles. */
const FORMATS: [string, [string, string][]][] = [
  ["machine or circuit", [["yaml", "YAML"]]],
  [
    "machine",
    [
      ["turingmachine.io", "turingmachine.io"],
      ["bbchallenge", "bbchallenge"],
      ["advent-of-code", "Advent of Code"],
      ["doty", "Doty"],
      ["morphett", "Morphett"],
      ["jflap", "JFLAP"],
      ["ft_turing", "ft_turing"],
      ["turingmachinesimulator.com", "turingmachinesimulator.com"],
      ["automata-lib", "automata-lib"],
    ],
  ],
  [
    "circuit",
    [
      ["expression", "expression: a ^ b & ~c"],
      ["truth-table", "truth table: 0110"],
      ["bench", "BENCH"],
      ["aag", "AIGER"],
      ["blif", "BLIF"],
      ["pla", "PLA"],
    ],
  ],
  [
    "program or formula",
    [
      ["rasp", "RASP"],
      ["tl", "formula: Q[a] S Q[b]"],
      ["srasp", "B-RASP, S-RASP"],
    ],
  ],
];
const NOUNS: Record<string, string> = { turing: "Turing machine", circuit: "Boolean circuit", rasp: "RASP program" };
const TITLES = new Map(FORMATS.flatMap(([, formats]) => formats.map(([name, title]) => [name, title.split(":")[0]!])));

export class Reading {
  readonly element: HTMLElement;
  private readonly format: HTMLSelectElement;

  constructor(chosen: (format: string | null) => void) {
    this.format = el(
      "select",
      { id: "reading", change: () => chosen(this.format.value || null) },
      el("option", { value: "" }, "automatically"),
      ...FORMATS.map(([group, formats]) => el("optgroup", { label: group }, ...formats.map(([name, title]) => el("option", { value: name }, title)))),
    );
    this.element = el("div", { class: "reading" }, el("label", { for: "reading" }, "read as"), this.format);
  }

  show(format: string | null): void {
    this.format.value = format !== null && TITLES.has(format) ? format : "";
  }
}

/** What the server takes a source for, in words; empty if it cannot say. */
export function recognised({ kind, format }: Answer): string {
  if (kind === "logic") return format === "tl" ? "formula of temporal logic" : "B-RASP or S-RASP program";
  if (kind === null || kind === "rasp") return kind === null ? "" : NOUNS[kind]!;
  return `${NOUNS[kind]!} · ${TITLES.get(format ?? "") ?? format ?? ""}`;
}
