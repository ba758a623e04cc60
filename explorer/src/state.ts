// What is being shown: the position, the layer, and how it plays. Views subscribe; changes are drawn once per frame.

export interface Showing {
  /** The position, from 0. */
  i: number;
  /** The chosen layer, from 0, each pass of a loop a layer of its own (see `RunSpec.steps`); -1 is the embedding. Where layers play,
   * the one after the last stands for the outputs. */
  layer: number;
  raw: boolean;
  /** The node that is chosen, of a program with a view of its own; null: one of the chosen layer. */
  node: number | null;
  /** The cell of that view that is pointed at: a node, and a position of the input. */
  lit: { node: number; at: number } | null;
  playing: boolean;
  /** Positions per second, or layers. */
  speed: number;
}

export class Store {
  readonly now: Showing;
  private readonly views: ((now: Showing) => void)[] = [];
  private drawing = false;
  private clock = 0;
  private owed = 0;
  private ended = false;

  constructor(
    readonly last: number,
    readonly layers: number,
    start: Partial<Showing>,
    /** The position that playing begins at, and the layer that is chosen first. */
    readonly first = 0,
    readonly home = layers - 1,
    /** What plays: positions one after the other, or the layers at one position. */
    readonly plays: "positions" | "layers" = "positions",
  ) {
    this.now = { i: 0, layer: home, raw: false, node: null, lit: null, playing: false, speed: plays === "layers" ? 1 : 2, ...start };
  }

  /** The last layer that can be chosen. */
  get top(): number {
    return this.plays === "layers" ? this.layers : this.layers - 1;
  }

  subscribe(view: (now: Showing) => void): void {
    this.views.push(view);
  }

  /** Draw nothing any more. */
  end(): void {
    this.ended = true;
    this.now.playing = false;
  }

  set(change: Partial<Showing>): void {
    if (this.ended) return;
    const next = { ...this.now, ...change };
    next.i = Math.max(0, Math.min(this.last, Math.round(next.i) || 0));
    next.layer = Math.max(-1, Math.min(this.top, next.layer));
    if (next.layer !== this.now.layer && change.node === undefined) next.node = null;
    const starts = next.playing && !this.now.playing;
    Object.assign(this.now, next);
    if (starts) this.play();
    if (!this.drawing) {
      this.drawing = true;
      requestAnimationFrame(() => this.draw());
    }
  }

  /** Go to the position that playing begins at; from there, to the very first. */
  begin(): void {
    this.set({ i: this.now.i > this.first ? this.first : 0, playing: false });
  }

  /** Move by n positions, and stop playing. */
  step(n: number): void {
    this.set({ i: this.now.i + n, playing: false });
  }

  /** Move what plays by n, and stop playing. */
  advance(n: number): void {
    if (this.plays === "layers") this.set({ layer: this.now.layer + n, playing: false });
    else this.step(n);
  }

  toggle(): void {
    const { playing } = this.now;
    const again = !playing && (this.plays === "layers" ? { layer: -1 } : { i: this.first });
    this.set({ playing: !playing, ...(again && this.finished ? again : {}) });
  }

  private get finished(): boolean {
    return this.plays === "layers" ? this.now.layer === this.top : this.now.i === this.last;
  }

  draw(): void {
    this.drawing = false;
    if (this.ended) return;
    for (const view of this.views) view(this.now);
  }

  private play(): void {
    this.clock = performance.now();
    this.owed = 0;
    const tick = (time: number) => {
      if (!this.now.playing) return;
      this.owed += (Math.max(0, time - this.clock) / 1000) * this.now.speed;
      this.clock = time;
      const whole = Math.floor(this.owed);
      if (whole > 0) {
        this.owed -= whole;
        this.set(this.plays === "layers" ? { layer: this.now.layer + whole } : { i: this.now.i + whole });
        if (this.finished) this.set({ playing: false });
      }
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
}
