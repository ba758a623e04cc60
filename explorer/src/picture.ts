// The drawing of a program that has no view of its own.

import type { Buffers, PictureSpec } from "./data";
import { set } from "./dom";
import { Graph } from "./graph";

export class Picture extends Graph {
  constructor({ name, graph }: PictureSpec, buffers: Buffers, redraw: () => void) {
    super(name, graph, buffers, redraw);
    set(this.scroll, { "aria-label": `The ${name}` });
  }

  /** It shows the same at every position. */
  draw(): void {}
}
