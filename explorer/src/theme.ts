// Light, dark, or the system's setting; kept for the next page where that is allowed.

import { set } from "./dom";

const KEPT = "tm2tfr-theme";
const MODES = ["auto", "light", "dark"];
const NAMES: Record<string, string> = { auto: "◐ theme: auto", light: "☀ theme: light", dark: "☾ theme: dark" };

/** Let a button change the colours of the whole page. */
export function theme(button: HTMLElement): void {
  const apply = (mode: string) => {
    set(document.documentElement, { "data-theme": mode });
    button.textContent = NAMES[mode]!;
  };
  let mode = "auto";
  try {
    mode = localStorage.getItem(KEPT) ?? "auto";
  } catch {
    // no storage here
  }
  apply(MODES.includes(mode) ? mode : "auto");
  button.addEventListener("click", () => {
    mode = MODES[(MODES.indexOf(mode) + 1) % MODES.length]!;
    apply(mode);
    try {
      localStorage.setItem(KEPT, mode);
    } catch {
      // no storage here
    }
  });
}
