// Graphs, laid out in a worker, which is started for the first of them and asked again only for those that are new.

/** How many drawings are kept. */
const MOST = 12;
/** How long a drawing may take before a newer one takes its place, and at all; in milliseconds. */
const BUSY = 400;
const LONGEST = 15_000;

interface Waiting {
  resolve: (svg: string) => void;
  reject: (error: Error) => void;
  since: number;
  timer: number;
}

export class Drawing {
  private readonly kept = new Map<string, Promise<string>>();
  private readonly waiting = new Map<number, Waiting>();
  private worker: Worker | null = null;
  private count = 0;

  /** Draw a graph in Graphviz's language as SVG. */
  draw(dot: string): Promise<string> {
    const known = this.kept.get(dot);
    if (known) {
      this.kept.delete(dot); // so that it becomes the newest
      this.kept.set(dot, known);
      return known;
    }
    const drawn = this.ask(dot);
    drawn.catch(() => this.kept.delete(dot));
    this.kept.set(dot, drawn);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= MOST) break;
      this.kept.delete(oldest);
    }
    return drawn;
  }

  /** Wait until a graph is drawn, but not longer than some milliseconds. */
  async ready(dot: string | undefined, patience: number): Promise<void> {
    if (dot === undefined) return;
    const late = new Promise<void>((resolve) => setTimeout(resolve, patience));
    await Promise.race([this.draw(dot).then(() => {}, () => {}), late]);
  }

  private ask(dot: string): Promise<string> {
    const now = performance.now();
    if ([...this.waiting.values()].some(({ since }) => now - since > BUSY)) this.stop("a newer graph took its place");
    this.worker ??= this.started();
    const n = this.count++;
    return new Promise((resolve, reject) => {
      const timer = window.setTimeout(() => this.stop("it takes longer than 15 s to lay out"), LONGEST);
      this.waiting.set(n, { resolve, reject, since: now, timer });
      this.worker!.postMessage([n, dot]);
    });
  }

  private started(): Worker {
    const worker = new Worker("assets/draws.js");
    worker.addEventListener("message", ({ data: [n, svg, error] }: MessageEvent<[number, string | null, string | null]>) => {
      const found = this.waiting.get(n);
      this.waiting.delete(n);
      if (!found) return;
      clearTimeout(found.timer);
      if (svg === null) found.reject(new Error(error ?? ""));
      else found.resolve(svg);
    });
    worker.addEventListener("error", () => this.stop("Graphviz could not be fetched"));
    return worker;
  }

  /** End the worker; whoever waits is told why. */
  private stop(why: string): void {
    this.worker?.terminate();
    this.worker = null;
    for (const { reject, timer } of this.waiting.values()) {
      clearTimeout(timer);
      reject(new Error(why));
    }
    this.waiting.clear();
  }
}
