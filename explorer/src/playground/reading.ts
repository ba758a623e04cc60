// What a source is read as: chosen above it, or recognised by its content, which is said below it.

import { el } from "../dom";
import type { Answer, Formats } from "./api";

const NOUNS: Record<string, string> = { turing: "Turing machine", circuit: "Boolean circuit", rasp: "RASP program", automaton: "finite automaton" };
const TITLES = new Map<string, string>();

export class Reading {
  readonly element: HTMLElement;
  private readonly format: HTMLSelectElement;
  private wanted: string | null = null;

  constructor(chosen: (format: string | null) => void) {
    this.format = el(
      "select",
      { id: "reading", change: () => chosen(this.format.value || null) },
      el("option", { value: "" }, "automatically"),
    );
    this.element = el("div", { class: "reading" }, el("label", { for: "reading" }, "read as"), this.format);
  }

  /** Offer the formats that the server reads. */
  offer(groups: Formats): void {
    for (const [group, formats] of groups) {
      this.format.append(el("optgroup", { label: group }, ...formats.map(([name, title]) => el("option", { value: name }, title))));
      for (const [name, title] of formats) TITLES.set(name, title.split(":")[0]!);
    }
    this.show(this.wanted);
  }

  show(format: string | null): void {
    this.wanted = format;
    this.format.value = format !== null && TITLES.has(format) ? format : "";
  }
}

/** What the server takes a source for, in words; empty if it cannot say. */
export function recognised({ kind, format }: Answer): string {
  if (kind === "logic") return format === "tl" ? "formula of temporal logic" : "B-RASP or S-RASP program";
  if (kind === null || kind === "rasp") return kind === null ? "" : NOUNS[kind]!;
  return `${NOUNS[kind]!} · ${TITLES.get(format ?? "") ?? format ?? ""}`;
}
