// The weights of a page, some of them changed: what is changed, in which words, and what is done with it.

import { type Buffers, type PageData, textAt } from "../data";
import type { About, Decoder, DecoderSpec } from "../live/decoder";
import { Rerun } from "../live/rerun";
import { weightsOf } from "../live/worker";
import { changesInAddress, keepInAddress } from "./address";
import { weightFile } from "./file";
import { type Change, changed, entry, matricesOf, placeText, pythonOf, readChange, weightText } from "./weights";

export class Broken {
  /** The weights as they came. */
  readonly right: Decoder;
  readonly about: About;
  changes: Change[] = [];
  /** The weights with all changes. */
  current: Decoder;
  /** The weights with all changes but those to 0, so that a listing still has their terms. */
  listed: Decoder;
  /** The layers whose weights are open: 0 is the embedding, one more than the last the unembedding. */
  readonly open = new Set<number>();
  /** Runs the weights as they are. */
  start: () => void = () => {};
  /** Opens the weights of the chosen layer, as a view says it. */
  invite: () => void = () => {};
  /** What is said of the last run, and whether it is bad news; whether one is going on; whether the present weights have not been run. */
  news = { text: "", bad: false, running: false, stale: false };
  private views: (() => void)[] = [];
  private readonly spec: DecoderSpec;

  private constructor(
    private readonly name: string,
    spec: PageData["runs"][number],
    private readonly buffers: Buffers,
    /** Whether the address keeps the changes. */
    private readonly address: boolean,
  ) {
    this.spec = spec.decoder as DecoderSpec;
    [this.right, this.about] = weightsOf(spec, buffers);
    this.current = this.listed = this.right;
  }

  /** The weights of a page of one run, if the page can run them. */
  static of(data: PageData, buffers: Buffers, address = false): Broken | null {
    return data.runs.length > 1 || Rerun.refusal(data) !== null ? null : new Broken(data.box.name, data.runs[0]!, buffers, address);
  }

  /** Tell these views of every change, and those of an earlier run no more. */
  watched(views: (() => void)[]): void {
    this.views = views;
  }

  /** Tell these views as well. */
  watches(...views: (() => void)[]): void {
    this.views.push(...views);
  }

  /** Change a weight, as it is written in the card of a layer. Throws `Refused`. */
  write(text: string, layer: number): void {
    this.set(readChange(this.right, text, layer));
  }

  set(change: Change): void {
    const others = this.changes.filter((each) => !same(each, change));
    this.update(change.value === this.old(change) ? others : [...others, change]);
  }

  undo(change: Change): void {
    this.update(this.changes.filter((each) => !same(each, change)));
  }

  /** Forget all changes. */
  clear(): void {
    if (this.changes.length) this.update([]);
    this.news = { text: "", bad: false, running: false, stale: false };
    this.told();
  }

  /** The value that a weight had. */
  old({ path, row, column }: Change): number {
    return entry(matricesOf(this.right).get(path)!, row, column);
  }

  /** The change of a weight; undefined if it is as it was. */
  changeOf(weight: Change): Change | undefined {
    return this.changes.find((each) => same(each, weight));
  }

  /** Say what came of a run. */
  say(text: string, bad = false): void {
    this.news = { ...this.news, text, bad };
    this.told();
  }

  running(on: boolean): void {
    this.news = { ...this.news, running: on, stale: on ? false : this.news.stale };
    this.told();
  }

  /** The lines that do the same in Python. */
  get python(): string {
    const lines = this.changes.map((change) => pythonOf(this.right, change));
    return ["import tm2tfr", "", `decoder = tm2tfr.compile(${JSON.stringify(this.name)})  # or the weights that this page shows`, ...lines, ""].join("\n");
  }

  /** The options that do the same on the command line. */
  get command(): string {
    return this.changes.map((change) => `--set '${this.said(change)}'`).join(" ");
  }

  said(change: Change): string {
    return `${placeText(this.right, change).replace(", ", ",")}=${weightText(change.value)}`;
  }

  /** The changed weights as a weight file, and its name. */
  async file(): Promise<[Uint8Array<ArrayBuffer>, string]> {
    return [await weightFile(textAt(this.buffers, this.spec.about), this.current), `${this.name.replace(/[^\w.-]+/g, "-") || "weights"}-changed.safetensors`];
  }

  /** Make the changes that the address says: `#set=layers.4.heads.0.query[h,1]=-1`. Returns whether there are any, and throws `Refused`. */
  fromAddress(): boolean {
    const texts = changesInAddress();
    const changes = texts.map((text) => readChange(this.right, text)).filter((change) => change.value !== this.old(change));
    if (changes.map((change) => this.said(change)).join() === this.changes.map((change) => this.said(change)).join()) return false;
    this.update(changes);
    return true;
  }

  private update(changes: Change[]): void {
    this.changes = changes;
    this.current = changes.length ? changed(this.right, changes) : this.right;
    this.listed = changes.some(({ value }) => value === 0) ? changed(this.right, changes.filter(({ value }) => value !== 0)) : this.current;
    this.news = { ...this.news, text: "", bad: false, stale: true };
    if (this.address) keepInAddress(changes.map((change) => this.said(change)));
    this.told();
  }

  private told(): void {
    for (const view of this.views) view();
  }
}

const same = (a: Change, b: Change): boolean => a.path === b.path && a.row === b.row && a.column === b.column;
