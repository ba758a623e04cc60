// How the script of a page begins: as a page, or, where there is no document, as a worker that runs weights.

import type { Buffers, PageData } from "./data";
import { el } from "./dom";
import { serve } from "./live/worker";

declare global {
  interface Window {
    /** What the page shows, for users who look at the numbers in the browser's console. */
    tm2tfrShows?: { data: PageData; buffers: Buffers };
  }
}

/** Build the page with `start`, which is given the script itself, for its workers; say it in the page if that fails. */
export function launch(start: (script: string) => Promise<void>): void {
  if (typeof document === "undefined") return serve();
  start(document.currentScript!.textContent).catch((error: unknown) => {
    document.querySelector("main")!.replaceChildren(el("p", { class: "notice" }, `This page cannot be shown: ${String(error)}. It needs a browser of 2024 or later.`));
    throw error;
  });
}
