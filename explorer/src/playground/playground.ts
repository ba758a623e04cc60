// What happens: a source is opened, typed in, answered, shown, kept and saved.

import { el } from "../dom";
import { count } from "../words";
import { type Answer, type Api, Busy, type Export, Gone, type Question, type Shipped, Stranger } from "./api";
import { confirmed, given } from "./ask";
import { type Opened, forget, fresh, isDirty, keep, keepCurrent, kept } from "./documents";
import { Editor } from "./editor";
import { download, Exports } from "./exports";
import { type Chosen, Inputs } from "./inputs";
import { Keys } from "./keys";
import { Library } from "./library";
import { checked, fragment, isLink, type Linked, opened } from "./link";
import { Message } from "./message";
import { Problems } from "./problems";
import { Reading, recognised } from "./reading";
import { Result, runs } from "./result";
import { splitter } from "./split";
import { starters } from "./starters";
import { Tabs } from "./tabs";

/** From the last key stroke to the question; milliseconds. */
const DEBOUNCE = 40;
/** From a change to its being kept, and from a question to "computing"; milliseconds. */
const KEEPING = 300;
const PATIENCE = 400;
/** How often a server that is gone or busy is asked again, and one that computes, when it is our turn. */
const AGAIN = 1000;
/** What is opened the first time. */
const FIRST: Shipped = { kind: "turing", name: "binary-increment", format: "yaml", description: "" };
/** The fragment of an address that opens what was named where the server was started. */
const GIVEN = "#given";
/** How a machine and a circuit are called whose texts do not say it. */
const NAMELESS = new Set(["machine", "circuit"]);
const GONE = "The server does not answer: start it again with 'tm2tfr playground'. Your texts are kept in this browser.";
const STRANGER = "The server does not know this page: open the address that 'tm2tfr playground' prints. Your texts are kept in this browser.";

export class Playground {
  private sources: Opened[] = [];
  private current!: Opened;
  private readonly editor: Editor;
  private readonly tabs = new Tabs((source) => void this.go(source), (source) => void this.close(source));
  private readonly library = new Library((source) => void this.open(source).then(() => this.editor.view.focus()));
  private readonly problems = new Problems((found) => this.editor.go(found), (fix) => this.editor.apply(fix));
  private readonly inputs = new Inputs((chosen) => this.chose(chosen));
  private readonly exports = new Exports((what, to) => void this.save(what, to), () => void this.link());
  private readonly message = new Message();
  private readonly reading = new Reading((format) => this.readAs(format));
  private readonly starters = starters((name) => void this.start(name));
  /** Those whose format was chosen by hand. */
  private readonly told = new WeakSet<Opened>();
  /** Those whose whole text was replaced. */
  private readonly pasted = new WeakSet<Opened>();
  private readonly result: Result;
  private abort: AbortController | null = null;
  private asking = 0;
  private keeping = 0;
  private slow = 0;
  /** The answer that is waited for. */
  private newest: Promise<unknown> | null = null;

  constructor(
    private readonly api: Api,
    work: HTMLElement,
    bar: HTMLElement,
    theme: () => void,
  ) {
    this.result = new Result(this.exports.element, theme);
    const keys = new Keys();
    const text = el("div", { class: "text" }, this.starters);
    const revert = el("button", { type: "button", class: "small", id: "revert", title: "back to the text as it was opened", click: () => void this.revert() }, "revert");
    const hint = el("p", { class: "hint", id: "editor-hint" }, "Tab indents. Escape, then Tab leaves the text. F8 goes to the next problem.");
    const left = el("section", { class: "left", "aria-label": "Source" }, this.reading.element, text, this.problems.element, el("div", { class: "foot" }, hint, revert));
    const right = el("div", { class: "right-side" }, this.inputs.element, this.result.element);
    work.replaceChildren(left, splitter(work), right);
    bar.querySelector("h1")!.after(
      el("button", { type: "button", class: "small", id: "library", "aria-haspopup": "dialog", click: () => this.library.open() }, "all sources"),
      el("button", { type: "button", class: "small", id: "new", title: "an empty source", click: () => this.add({ name: this.unused("untitled"), source: "", format: null, input: null, options: {} }) }, "+ new"),
      this.tabs.element,
    );
    bar.after(this.message.element);
    document.body.append(this.library.element, keys.element);
    bar.querySelector("#keys")!.addEventListener("click", () => keys.open());
    // keys that are pressed here are not for the run
    for (const part of [left, this.inputs.element, bar]) part.addEventListener("keydown", (event) => event.stopPropagation());
    this.editor = new Editor(text, (whole) => this.typed(whole), "editor-hint");
    addEventListener("hashchange", () => void this.linked());
    addEventListener("pagehide", () => this.keepNow());
    addEventListener("beforeunload", (event) => {
      if (!this.keepNow() && this.sources.some(isDirty)) event.preventDefault();
    });
  }

  /** Open what was open last and what the address carries; or, the first time, a machine. */
  async begin(): Promise<void> {
    const { sources, current } = kept();
    this.sources = sources.map((each) => ({
      ...each,
      original: each.original ?? "",
      state: each.text === null && each.shipped !== null ? null : this.editor.state(each.text ?? each.original ?? "", each.format),
      shown: null,
    }));
    const last = this.sources.find(({ id }) => id === current) ?? this.sources[0];
    void this.stock();
    if (isLink(location.hash) || location.hash === GIVEN) await this.linked();
    else await (last ? this.go(last) : this.open(FIRST));
    document.documentElement.dataset["ready"] = "true";
  }

  /** Fetch the list of what is shipped. */
  private async stock(): Promise<void> {
    try {
      this.reading.offer(await this.api.formats());
      this.library.fill(await this.api.shipped());
    } catch (error) {
      this.failed(error, () => void this.stock());
    }
  }

  // ── sources ──

  private async open(shipped: Shipped): Promise<void> {
    const there = this.sources.find((source) => source.shipped === shipped.name);
    const { name, kind, format } = shipped;
    await this.go(there ?? { id: fresh(), name, shipped: name, kind, format, original: "", state: null, input: null, options: {}, shown: null });
  }

  private add({ name, source, format, input, options }: Linked): void {
    void this.go({ id: fresh(), name, shipped: null, kind: null, format, original: source, state: this.editor.state(source, format), input, options, shown: null });
  }

  /** Make a source the current one; it becomes one of the open ones when its text is there. */
  private async go(source: Opened): Promise<void> {
    if (source.state === null) {
      try {
        source.original = await this.api.source(source.shipped!);
      } catch (error) {
        this.failed(error, () => void this.go(source));
        return;
      }
      source.state = this.editor.state(source.original, source.format);
    }
    this.message.clear();
    this.keepNow();
    this.result.leave();
    this.current = source;
    if (!this.sources.includes(source)) this.sources.push(source);
    this.editor.edit(source.state, source.format);
    this.tabs.show(this.sources, source);
    this.inputs.show(source);
    this.inputs.clear();
    this.problems.show(null);
    this.marked();
    this.titled();
    keepCurrent(source.id);
    this.keepNow();
    if (source.shown) {
      this.inputs.answered(source.shown.answer, source.shown.input);
      void this.result.show(source.shown);
    } else this.result.nothing("Computing the run …");
    this.ask(0);
  }

  private async close(source: Opened): Promise<void> {
    if (isDirty(source) && !(await confirmed(`Close ${source.name}? Your changes to it would be lost.`, "close it"))) return;
    const at = this.sources.indexOf(source);
    this.sources.splice(at, 1);
    forget(source.id);
    const next = this.sources[Math.min(at, this.sources.length - 1)];
    if (source !== this.current) this.tabs.show(this.sources, this.current);
    else if (next) await this.go(next);
    else this.add({ name: "untitled", source: "", format: null, input: null, options: {} });
  }

  /** Back to the text as it was opened; this can be undone, as long as the page is open. */
  private async revert(): Promise<void> {
    const { name, original } = this.current;
    if (!(await confirmed(`Replace the text of ${name} by the one that was opened? Your changes would be lost.`, "replace it"))) return;
    this.editor.replace(original);
    this.editor.view.focus();
  }

  /** Begin an empty source with the text of a shipped one. */
  private async start(name: string): Promise<void> {
    const source = this.current;
    try {
      const text = await this.api.source(name);
      if (source !== this.current || this.editor.text.trim()) return; // something else is there by now
      this.editor.replace(text);
      this.editor.view.focus();
    } catch (error) {
      this.failed(error, () => {});
    }
  }

  /** A name that no other source has. */
  private unused(name: string, whose?: Opened): string {
    const taken = new Set(this.sources.filter((source) => source !== whose).map((source) => source.name));
    for (let n = 1; ; n++) {
      const tried = n === 1 ? name : `${name}-${n}`;
      if (!taken.has(tried)) return tried;
    }
  }

  // ── changes ──

  private typed(whole: boolean): void {
    if (!this.current) return;
    this.current.state = this.editor.view.state;
    if (whole) this.pasted.add(this.current);
    if (whole && isDirty(this.current) && !this.told.has(this.current)) this.current.format = null; // what was pasted may be in another
    this.marked();
    this.ask(DEBOUNCE);
  }

  private readAs(format: string | null): void {
    this.current.format = format;
    if (format === null) this.told.delete(this.current);
    else this.told.add(this.current);
    this.ask(0);
  }

  private marked(): void {
    this.tabs.mark(this.current);
    this.reading.show(this.current.format);
    this.starters.hidden = this.editor.text !== "";
    document.querySelector<HTMLButtonElement>("#revert")!.disabled = !isDirty(this.current);
  }

  private chose({ input, options }: Chosen): void {
    Object.assign(this.current, { input, options });
    this.ask(DEBOUNCE);
  }

  private keepNow(): boolean {
    clearTimeout(this.keeping);
    if (!this.sources.includes(this.current)) return true; // nothing is open yet, or it was just closed
    const done = keep(this.current);
    if (!done) this.message.show("This browser's storage is full: close some sources, or save them as files.");
    return done;
  }

  // ── answers ──

  private question(): Question {
    const { name, format, input, options } = this.current;
    return { source: this.editor.text, format, input, options, name };
  }

  /** Ask about the current source after some milliseconds; the newest question is the only one that is answered. */
  private ask(delay: number): void {
    clearTimeout(this.keeping);
    this.keeping = window.setTimeout(() => this.keepNow(), KEEPING);
    clearTimeout(this.asking);
    this.asking = window.setTimeout(() => void this.asked(), delay);
  }

  private async asked(): Promise<void> {
    clearTimeout(this.asking);
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const source = this.current;
    const question = this.question();
    try {
      const answer = await this.patiently(this.api.answer(question, abort.signal));
      if (abort.signal.aborted) return;
      this.message.clear("gone");
      await this.answered(source, question, answer);
    } catch (error) {
      if (!abort.signal.aborted) this.failed(error, () => void this.asked());
    }
  }

  /** Wait for the newest question; say, if that takes long, that it is computed or how many come before it. */
  private async patiently<T>(answer: Promise<T>): Promise<T> {
    this.newest = answer;
    clearTimeout(this.slow);
    const tell = async (): Promise<void> => {
      const before = await this.api.before().catch(() => null);
      if (this.newest !== answer) return;
      const turn = before ? `${count(before, "request")} before yours` : "yours is the next request";
      this.result.busy(before === null ? "computing …" : `waiting: ${turn}`);
      this.slow = window.setTimeout(() => void tell(), AGAIN);
    };
    this.slow = window.setTimeout(() => void tell(), PATIENCE);
    try {
      return await answer;
    } finally {
      if (this.newest === answer) {
        this.newest = null;
        clearTimeout(this.slow);
        this.result.busy("");
      }
    }
  }

  private titled(): void {
    document.title = `${this.current.name} – tm2tfr playground`;
  }

  /** A source is called as its text says, a shipped one that was not changed as it is listed. */
  private called(source: Opened, said: string, text: string): void {
    const { name, shipped } = source;
    const named = said !== "" && !NAMELESS.has(said) && text.includes(said);
    if (shipped !== null && !isDirty(source)) source.name = shipped;
    else if (named) source.name = this.unused(said, source);
    else if (said !== "" && this.pasted.has(source) && name === shipped) source.name = this.unused("untitled", source);
    if (source.name === name) return;
    this.tabs.show(this.sources, this.current);
    this.titled();
  }

  private async answered(source: Opened, { input: asked, source: text }: Question, answer: Answer): Promise<void> {
    const input = asked ?? answer.input;
    this.editor.speak(answer.format ?? source.format);
    this.editor.show(answer.diagnostics);
    this.problems.show(text.trim() ? answer.diagnostics : null, recognised(answer));
    this.called(source, answer.name, text);
    this.inputs.answered(answer, input);
    const run = runs(answer);
    this.exports.allow(run, answer.targets);
    if (run) {
      source.shown = { of: source.id, answer, input, place: null };
      await this.result.show(source.shown);
    } else if (source.shown && text.trim()) {
      const wrong = answer.diagnostics.some(({ severity }) => severity === "error");
      this.result.stale(wrong ? "from the last valid source" : "from the last valid input");
    } else this.result.nothing(answer.diagnostics.length ? "No run yet: fix the errors in the source." : "No run yet.");
    this.problems.say(run ? this.result.outcome : "");
    document.documentElement.dataset["answered"] = String(Number(document.documentElement.dataset["answered"] ?? 0) + 1);
  }

  /** Say what went wrong between here and the server; a server that is gone is asked again. */
  private failed(error: unknown, again: () => void): void {
    if (error instanceof Gone || error instanceof Stranger) this.problems.show(null);
    if (error instanceof Gone) {
      this.message.show(GONE, "gone");
      setTimeout(again, AGAIN);
    } else if (error instanceof Busy) {
      this.message.show(error.message, "gone");
      setTimeout(again, AGAIN);
    } else if (error instanceof Stranger) this.message.show(STRANGER, "gone");
    else {
      this.inputs.unsaid();
      this.message.show(error instanceof Error ? error.message : String(error));
    }
  }

  // ── what goes out ──

  private async save(what: Export, to: string): Promise<void> {
    try {
      download(...(await this.patiently(this.api.exported(this.question(), what, to))));
    } catch (error) {
      this.failed(error, () => {});
    }
  }

  private async link(): Promise<void> {
    const { name, format } = this.current;
    const { source, input, options } = this.question();
    const hash = await fragment({ name, source, format, input, options });
    if (hash === null) {
      this.message.show("This source is too long for a link: save it as a file instead.");
      return;
    }
    const address = `${location.origin}${location.pathname}#${hash}`;
    try {
      await navigator.clipboard.writeText(address);
      this.message.show("The link is copied: opened in another playground, it shows this source and this input.", "fine");
    } catch {
      given("Copy this link", address);
    }
  }

  private async given(): Promise<Linked | string> {
    try {
      return checked(await this.api.given());
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Open what the address carries or the server was started with, as a source of its own; the address is then as it was. */
  private async linked(): Promise<void> {
    const { hash } = location;
    if (!isLink(hash) && hash !== GIVEN) return;
    history.replaceState(null, "", location.pathname + location.search);
    const found = await (hash === GIVEN ? this.given() : opened(hash));
    if (typeof found === "string") {
      if (!this.current) await (this.sources[0] ? this.go(this.sources[0]) : this.open(FIRST));
      this.message.show(`Nothing was opened: ${found}.`);
      return;
    }
    const same = this.sources.find(({ name, state }) => name === found.name && state?.doc.toString() === found.source);
    if (!same) this.add({ ...found, name: this.unused(found.name) });
    else {
      Object.assign(same, { input: found.input ?? same.input, options: found.options });
      await this.go(same);
    }
  }
}
