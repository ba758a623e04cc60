// The editor: CodeMirror, with our diagnostics as its own, and an undo history for each source.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { type Action, type Diagnostic as Mark, lintGutter, nextDiagnostic, previousDiagnostic, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension, type Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers, tooltips } from "@codemirror/view";
import { el } from "../dom";
import type { Diagnostic, Fix } from "./api";
import { colours, language } from "./languages";

/** The part of a text that begins at a line and a column, both from 1, without a length one word or sign. Columns count as
 * JavaScript does. */
export function range(doc: Text, line: number, column: number | null, length: number | null): [number, number] {
  const there = doc.line(Math.max(1, Math.min(line, doc.lines)));
  if (column === null) return [there.from, there.to];
  const from = Math.min(there.from + column - 1, there.to);
  const word = () => /^(?:[\p{L}\p{N}_-]+|.)/u.exec(there.text.slice(from - there.from))?.[0].length ?? 0;
  return [from, Math.min(from + (length ?? word()), doc.length)];
}

export class Editor {
  readonly view: EditorView;
  private readonly common: Extension;
  private readonly language = new Compartment();
  private spoken: string | null = null;

  /** `changed` is told whether the whole text was replaced. */
  constructor(parent: HTMLElement, changed: (whole: boolean) => void, described: string) {
    this.common = [
      lineNumbers(),
      highlightActiveLineGutter(),
      highlightActiveLine(),
      highlightSpecialChars(),
      history(),
      drawSelection(),
      indentOnInput(),
      indentUnit.of("  "),
      bracketMatching(),
      search({ top: true }),
      highlightSelectionMatches(),
      lintGutter(),
      tooltips({ parent: document.body }),
      colours,
      EditorView.lineWrapping,
      keymap.of([{ key: "F8", run: nextDiagnostic }, { key: "Shift-F8", run: previousDiagnostic }, indentWithTab, ...searchKeymap, ...historyKeymap, ...defaultKeymap]),
      EditorView.contentAttributes.of({ tabindex: "0", "aria-label": "Source", "aria-describedby": described, spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        let whole = false;
        const { length } = update.startState.doc;
        update.changes.iterChanges((from, to) => (whole ||= length > 0 && from === 0 && to === length), true);
        changed(whole);
      }),
    ];
    this.view = new EditorView({ parent });
  }

  /** A text with a history of its own. */
  state(text: string, format: string | null): EditorState {
    return EditorState.create({ doc: text, extensions: [this.common, this.language.of(language(format))] });
  }

  /** Make a text the one that is edited. */
  edit(state: EditorState, format: string | null): void {
    this.spoken = null;
    this.view.setState(state);
    this.speak(format);
  }

  /** Colour the text as one in this format. */
  speak(format: string | null): void {
    if (format === this.spoken) return;
    this.spoken = format;
    this.view.dispatch({ effects: this.language.reconfigure(language(format)) });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Replace the text, as one step that can be undone. */
  replace(text: string): void {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, userEvent: "input.replace" });
  }

  /** Underline what the diagnostics are about; those without a line are in the list of problems alone. */
  show(diagnostics: Diagnostic[]): void {
    const { doc } = this.view.state;
    const marks: Mark[] = diagnostics.flatMap((found) => {
      if (found.line === null) return [];
      const [from, to] = range(doc, found.line, found.column, found.length);
      const actions: Action[] = found.fixes.map((fix) => ({ name: fix.label, apply: () => this.apply(fix, doc) }));
      return [{ from, to, severity: found.severity, message: sentence(found), renderMessage: () => el("span", {}, sentence(found)), actions }];
    });
    this.view.dispatch(setDiagnostics(this.view.state, marks.sort((a, b) => a.from - b.from)));
  }

  /** Carry out a fix that was found in `doc`; where the text has changed since then, a new answer is on its way. */
  apply(fix: Fix, doc: Text = this.view.state.doc): void {
    if (!doc.eq(this.view.state.doc)) return;
    const [from, to] = range(doc, fix.line, fix.column, fix.length);
    this.view.dispatch({ changes: { from, to, insert: fix.replacement }, selection: { anchor: from + fix.replacement.length }, userEvent: "input.complete", scrollIntoView: true });
    this.view.focus();
  }

  /** Put the cursor where a problem is. */
  go(found: Diagnostic): void {
    if (found.line !== null) {
      const [from, to] = range(this.view.state.doc, found.line, found.column, found.length);
      this.view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    }
    this.view.focus();
  }
}

/** A diagnostic in words: what is wrong, and what to do. */
export function sentence({ what, remedy }: Diagnostic): string {
  return remedy ? `${what}: ${remedy}` : what;
}
