// What is being shown: the position, the layer, and how it plays. Views subscribe; changes are drawn once per frame.

export interface Showing {
  /** The position, from 0. */
  i: number;
  /** The chosen layer, from 0; -1 is the embedding. */
  layer: number;
  raw: boolean;
  playing: boolean;
  /** Positions per second. */
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
  ) {
    this.now = { i: 0, layer: home, raw: false, playing: false, speed: 2, ...start };
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
    next.layer = Math.max(-1, Math.min(this.layers - 1, next.layer));
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

  toggle(): void {
    const again = !this.now.playing && this.now.i === this.last;
    this.set({ playing: !this.now.playing, ...(again ? { i: this.first } : {}) });
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
        const i = this.now.i + whole;
        this.set(i >= this.last ? { i: this.last, playing: false } : { i });
      }
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
}
