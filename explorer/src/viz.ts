// Graphviz, for pages that come without a drawing: sets window.tm2tfrDraws.
import { instance } from "@viz-js/viz";

declare global {
  interface Window {
    tm2tfrDraws?: (dot: string) => Promise<string>;
  }
}

window.tm2tfrDraws = async (dot) => (await instance()).renderString(dot, { format: "svg" });
