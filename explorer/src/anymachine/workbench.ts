// The machine that is written, its input, and its run: read, put into the prompt, run by a worker, compared, and shared in a link.

import { Broken } from "../broken/broken";
import { type Buffers, type PageData, textAt } from "../data";
import { el, set } from "../dom";
import { hint, type BoxSpec, stepsOf, stepsRefused, wordOf } from "../live/inputs";
import { counted, quoted, Refused, visible } from "../live/refusals";
import { type Again, busy, Rerun, workerOf } from "../live/rerun";

import { fragment, isLink, opened } from "../playground/link";
import { Editor } from "./editor";
import type { Machine } from "./machine";
import { canonical, MOST_SYMBOLS, needs, type Placed, placed } from "./prompt";
import { editable, isJflap, read } from "./reading";
import type { AnyMachineData, Template } from "./template";
import { type Diagnostic, listing, MOST_BYTES, SpecError } from "./text";

/** Shows a run. */
export type Show = (data: PageData, buffers: Buffers, broken: Broken | null) => void;

/** The time after the last key until the text is read, in ms. */
const PAUSE = 350;
const MOST_EXAMPLES = 12;
/** The width from which on there are two columns, and room for the prompt. */
const WIDE = 900;

/** A machine that was read, in the prompt. */
interface Ready {
  machine: Machine;
  placed: Placed;
  warnings: Diagnostic[];
}

export class Workbench {
  readonly element: HTMLElement;
  private readonly editor: Editor;
  private readonly menu: HTMLSelectElement;
  private readonly input: HTMLInputElement;
  private readonly steps: HTMLInputElement;
  private readonly start: HTMLButtonElement;
  private readonly stop: HTMLButtonElement;
  private readonly words = el("datalist", { id: "live-examples" });
  private readonly bar = el("progress", { hidden: true, "aria-label": "Positions done" });
  private readonly hint = el("p", { class: "hint", id: "live-hint" });
  private readonly problems = el("div", { class: "problems", id: "problems", role: "status" });
  private readonly status = el("p", { class: "said-live", role: "status" });
  private readonly error = el("pre", { class: "live-error", role: "alert", id: "live-error" });
  private readonly link = el("input", { class: "mono", readonly: true, hidden: true, "aria-label": "The link" });
  private readonly made = el("div", { class: "made" });
  private running: ReturnType<Rerun["begin"]> | null = null;
  private timer = 0;
  /** Whether the input was typed, so that another text does not change it. */
  private typed = false;
  /** The input alphabet of the machine that was read last. */
  private alphabet: string | null = null;

  constructor(
    private readonly data: AnyMachineData,
    private readonly buffers: Buffers,
    private readonly template: Template,
    private readonly script: string,
    private readonly show: Show,
  ) {
    const { states, symbols } = data.class;
    this.editor = new Editor("The machine: YAML of turingmachine.io, a JFLAP file, or bbchallenge text", "problems editor-keys", () => this.later(), () => this.run());
    this.menu = el("select", { id: "examples", change: () => this.example() }, el("option", { value: "" }, "examples …"), ...data.examples.map(({ name }, n) => el("option", { value: n }, name)));
    this.input = el("input", { type: "text", id: "live-input", class: "mono", spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-describedby": "live-hint live-error", list: "live-examples", input: () => (this.typed = true) });
    this.steps = el("input", { type: "number", id: "live-steps", min: 1, max: data.most, value: data.opens.steps });
    this.start = el("button", { type: "submit", class: "small go" }, "Run");
    this.stop = el("button", { type: "button", class: "small", disabled: true, click: () => this.halt() }, "Stop");
    const picker = el("input", { type: "file", hidden: true, accept: ".jff,.yaml,.yml,.txt", "aria-label": "A file of a machine", change: () => this.file(picker.files?.[0]) });
    const share = el("button", { type: "button", class: "small", click: () => void this.share() }, "Copy link");
    this.element = el(
      "form",
      { class: "live workbench panel", "aria-label": "Your machine", novalidate: true, submit: (event: SubmitEvent) => this.submit(event), paste: (event: ClipboardEvent) => this.pasted(event), dragover: (event: DragEvent) => this.dragged(event), drop: (event: DragEvent) => this.dragged(event) },
      el(
        "div",
        { class: "writing" },
        el("h2", {}, "Your machine", el("span", { class: "check" }, `at most ${counted(states, "state")} and ${counted(symbols, "symbol")}`), el("label", { class: "examples", for: "examples" }, el("span", { class: "said" }, "An example"), this.menu), el("button", { type: "button", class: "small", click: () => ((picker.value = ""), picker.click()) }, "Open a file"), picker),
        this.editor.element,
        el("p", { class: "hint", id: "editor-keys" }, "YAML as on ", el("b", {}, "turingmachine.io"), ", a JFLAP file (", el("code", {}, ".jff"), "), or bbchallenge text such as ", el("code", {}, "1RB1LB_1LA1RZ"), ". ", el("kbd", {}, "Ctrl Enter"), " runs, ", el("kbd", {}, "Esc"), " ", el("kbd", {}, "Tab"), " leaves the editor."),
      ),
      el(
        "div",
        { class: "doing" },
        el("h2", {}, "Its run"),
        el("div", { class: "fields" }, el("label", { for: "live-input" }, "input"), this.input, this.words, el("label", { for: "live-steps", class: "most" }, "at most ", this.steps, " steps"), this.start, this.stop, share, this.bar),
        this.hint,
        this.status,
        this.error,
        this.link,
        this.problems,
        this.made,
      ),
    );
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.defaultPrevented) this.run();
    });
    addEventListener("hashchange", () => void this.follow());
  }

  /** Open what the address carries, or else what the page opens with, and run it. */
  async begin(): Promise<void> {
    if (await this.follow()) return;
    const { text, input } = this.data.opens;
    this.open(text, input);
    await this.run(false);
  }

  /** Open what the address carries, if it is a link; whether it was one that can be opened. */
  private async follow(): Promise<boolean> {
    if (!isLink(location.hash)) return false;
    const linked = await opened(location.hash);
    if (typeof linked === "string") {
      if (!this.editor.text) {
        const { text, input } = this.data.opens;
        this.open(text, input);
        await this.run(false);
      }
      this.refuse(new Refused(`This link cannot be opened: ${linked}`));
      return true;
    }
    this.steps.value = String(Math.min(linked.options.max_steps ?? this.data.opens.steps, this.data.most));
    this.open(linked.source, linked.input);
    await this.run(false);
    return true;
  }

  /** Show a text, with an input; null: its own. */
  private open(text: string, input: string | null): void {
    this.editor.show(text);
    [this.typed, this.alphabet] = [input !== null, null];
    if (input !== null) this.input.value = input;
    this.check();
  }

  private example(): void {
    const chosen = this.data.examples[Number(this.menu.value)];
    if (this.menu.value === "" || !chosen) return;
    this.menu.value = "";
    this.open(textAt(this.buffers, chosen.text), null);
    void this.run();
  }

  // ── a file, or a text that is one ───────────────────────────────────────────────────────────────────────
  /** Take a text in place of the one in the editor, a JFLAP file as YAML, and run it; name: the machine's, if the text has none. */
  private take(text: string, name?: string): void {
    if (this.running) this.halt();
    this.editor.replace(editable(text, name));
    [this.typed, this.alphabet] = [false, null];
    void this.run();
  }

  private file(file: File | undefined): void {
    if (!file) return;
    this.say("");
    if (file.size > MOST_BYTES) return this.refuse(new Refused(`${file.name} is larger than 1 MiB, the most that this page reads: use tm2tfr check for a machine of that size`));
    file.text().then((text) => this.take(text, file.name.replace(/\.[^.]*$/, "") || undefined), (error: unknown) => this.refuse(error));
  }

  private pasted(event: ClipboardEvent): void {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (event.target !== this.editor.area || !isJflap(text)) return;
    event.preventDefault();
    this.take(text);
  }

  private dragged(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (event.type === "drop") this.file(event.dataTransfer.files[0]);
  }

  // ── the text is read ────────────────────────────────────────────────────────────────────────────────────
  private later(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.check(), PAUSE);
  }

  /** Read the text, and say what is wrong with it; null if it is no machine that these weights run. */
  private check(): Ready | null {
    clearTimeout(this.timer);
    let found: Machine | null = null;
    try {
      const { machine, warnings } = read(this.editor.text);
      found = machine;
      this.complain(warnings);
      const ready = { machine, warnings, placed: placed(machine, this.data.class) };
      this.describe(ready);
      return ready;
    } catch (error) {
      if (error instanceof SpecError) this.complain(error.diagnostics);
      else if (error instanceof Refused) this.complain([], error.message, found && this.larger(found));
      else throw error;
      return null;
    }
  }

  /** What of a machine counts that is too large for these weights, and how a larger page is made; null if no such page would do. */
  private larger(machine: Machine): HTMLElement | null {
    const { states, symbols } = needs(machine);
    const { class: most } = this.data;
    if ((states.length <= most.states && symbols.length <= most.symbols) || symbols.length > MOST_SYMBOLS) return null;
    const command = `tm2tfr explore machine.yaml --universal ${states.length},${symbols.length} --standalone -o page.html`;
    return el("p", { class: "hint" }, `What counts: the states ${listing(states)}; the symbols ${listing(symbols)}. Save the text as machine.yaml; a page for its size is made by `, el("code", {}, command), ".");
  }

  private complain(diagnostics: Diagnostic[], unfit = "", more: HTMLElement | null = null): void {
    this.editor.mark(diagnostics);
    const items = diagnostics.map((diagnostic) => {
      const { span, severity, what, remedy } = diagnostic;
      const place = span ? el("button", { type: "button", class: "small", click: () => this.editor.go(diagnostic) }, `line ${span.line}, column ${span.column}`) : null;
      return el("li", { class: severity }, place, el("span", {}, severity === "warning" ? "warning: " : "", visible(what), ": ", visible(remedy)));
    });
    if (unfit) items.push(el("li", { class: "error" }, el("span", {}, unfit)));
    this.problems.replaceChildren(...(items.length ? [el("ul", {}, ...items)] : []), ...(more ? [more] : []));
  }

  /** What the machine has become: its prompt, and which of its names is which there. */
  private describe({ machine, placed: { names, canonical: tokens, description, rules } }: Ready): void {
    const box = this.box(machine);
    this.hint.textContent = hint(box);
    const over = [...this.input.value].every((sign) => machine.inputAlphabet.includes(sign));
    const alphabet = machine.inputAlphabet.join();
    if (!this.typed || (this.alphabet !== null && alphabet !== this.alphabet && !over)) this.input.value = box.word; // what was typed was for another machine
    this.alphabet = alphabet;
    this.words.replaceChildren(...box.examples.map((word) => el("option", { value: word })));
    const own = canonical(this.data.class);
    const used = new Set([...machine.states, ...machine.tapeAlphabet]);
    const pairs = (mine: string[], theirs: string[]) => mine.flatMap((name, n) => (used.has(name) ? [[name === " " ? "␣" : visible(name), theirs[n]!] as const] : []));
    const verdicts = machine.states.filter((state) => !names.states.includes(state)).map((state) => [visible(state), machine.outcomeOf(state) === "accept" ? "→ACC" : "→REJ"] as const);
    const list = (title: string, all: readonly (readonly [string, string])[]) => [el("dt", {}, title), el("dd", {}, ...all.flatMap(([mine, theirs]) => [el("span", { class: "pair mono" }, mine, el("i", {}, " is "), el("b", {}, theirs)), " "]))];
    const open = this.made.querySelector("details")?.open ?? innerWidth >= WIDE;
    this.made.replaceChildren(
      el(
        "details",
        { open },
        el("summary", {}, el("b", {}, "The prompt"), ` that it becomes: ${counted(rules, "rule")} in ${counted(description.length, "token")}, then the input`),
        el("p", { class: "prompt-text mono", tabindex: 0, role: "group", "aria-label": "The prompt" }, tokens.join(" ")),
        el("dl", { class: "names" }, ...list("states", [...pairs(names.states, own.states), ...verdicts]), ...list("symbols", pairs(names.symbols, own.symbols))),
      ),
    );
  }

  private box(machine: Machine): BoxSpec {
    const examples = [...new Set([...(machine.input === null ? [] : [machine.input]), ...machine.examples.map(({ input }) => input)])].slice(0, MOST_EXAMPLES);
    return { name: visible(machine.name), word: examples[0] ?? "", steps: null, most: this.data.most, examples, alphabet: machine.inputAlphabet, blank: machine.blank, about: machine.aboutInput, tokens: null, circuit: null };
  }

  // ── the run ─────────────────────────────────────────────────────────────────────────────────────────────
  private submit(event: SubmitEvent): void {
    event.preventDefault();
    void this.run();
  }

  /** Run what is written; kept: whether the address then has it. */
  private async run(kept = true): Promise<void> {
    if (this.running) return;
    this.say("");
    const ready = this.check();
    if (!ready) {
      const problems = counted(this.problems.querySelectorAll("li.error").length, "problem");
      this.say(`Nothing was run: ${problems} with the machine. The page shows the previous run.`);
      return this.problems.scrollIntoView({ block: "nearest" });
    }
    const box = this.box(ready.machine);
    try {
      const word = wordOf(box, this.input.value);
      const maxSteps = stepsOf(this.steps.value, this.data.most);
      if (maxSteps === null) throw stepsRefused(this.data.most);
      const title = `${box.name} on ${quoted(this.input.value)}`;
      const { data, buffers } = this.template.named(ready.machine, ready.placed);
      const page: PageData = { title, ...data, circuit: null, sequence: null, drawing: null, searched: null, box };
      await this.carryOut(page, buffers, Broken.of(page, buffers), word, maxSteps);
      if (kept) await this.keep();
    } catch (error) {
      this.refuse(error);
    }
  }

  /** Have the weights run, and show that; with changes of them, if there are any. */
  private async carryOut(page: PageData, buffers: Buffers, broken: Broken | null, word: string[], maxSteps: number): Promise<void> {
    this.running?.stop();
    try {
      this.working(true);
      this.say("Running …");
      this.running = new Rerun(page, buffers, () => workerOf(this.script), broken).begin(word, null, maxSteps, (done) => this.say(`Running: ${counted(done, "position")} …`));
      const again: Again = await this.running.finished;
      if (broken) broken.start = () => void this.carryOut(page, buffers, broken, word, maxSteps).catch((error: unknown) => this.refuse(error));
      this.show(again.data, again.buffers, broken);
      this.say(again.said);
      if (broken?.changes.length) broken.say(again.said, again.data.runs[0]!.agrees === false);
    } finally {
      this.working(false);
    }
  }

  private halt(): void {
    this.running?.stop();
    this.working(false);
    this.say("Stopped: the page shows the previous run.");
  }

  private working(on: boolean): void {
    if (!on) this.running = null;
    const { element, start, stop, bar } = this;
    busy({ element, start, stop, bar }, on);
  }

  private say(text: string): void {
    this.status.textContent = text;
    this.error.textContent = "";
    this.link.hidden = true;
    set(this.input, { "aria-invalid": null });
  }

  private refuse(error: unknown): void {
    this.status.textContent = "";
    this.error.textContent = error instanceof Refused ? error.message : `This cannot be run here: ${error instanceof Error ? error.message : String(error)}`;
    const ofInput = error instanceof Refused && error.message.startsWith("input of");
    set(this.input, { "aria-invalid": ofInput ? "true" : null });
    if (ofInput) this.input.focus();
  }

  // ── links ───────────────────────────────────────────────────────────────────────────────────────────────
  /** The address with what is written; null if it is too long for one. */
  private async address(): Promise<string | null> {
    const steps = Number(this.steps.value);
    const options = Number.isSafeInteger(steps) && steps > 0 ? { max_steps: steps } : {};
    const found = await fragment({ name: "machine", source: this.editor.text, format: null, input: this.input.value, options });
    return found === null ? null : `${location.href.split("#")[0]}#${found}`;
  }

  /** Have the address carry what was run. */
  private async keep(): Promise<void> {
    const address = await this.address();
    try {
      history.replaceState(null, "", address ?? "#");
    } catch {
      // a frame in another page does not have its own address
    }
  }

  private async share(): Promise<void> {
    const address = await this.address();
    if (address === null) return this.refuse(new Refused("This machine is too long for a link: save its text instead"));
    try {
      await navigator.clipboard.writeText(address);
      const where = location.protocol === "file:" ? "; it opens this file, and its part from # on opens in any copy of this page" : "";
      this.say(`The link is copied: it opens this page with this machine and this input${where}.`);
    } catch {
      this.say("Copy this link:");
      this.link.hidden = false;
      this.link.value = address;
      this.link.select();
    }
  }
}
