// What divides the window into source and run: dragged, or moved with the arrow keys.

import { el, set } from "../dom";

const KEPT = "tm2tfr-playground-split";
const [LEAST, MOST, STEP] = [22, 70, 2];

export function splitter(whole: HTMLElement): HTMLElement {
  let share = 40;
  try {
    share = Number(localStorage.getItem(KEPT) ?? share) || share;
  } catch {
    // no storage here
  }
  const bar = el("div", { class: "splitter", role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": "Width of the source", "aria-valuemin": LEAST, "aria-valuemax": MOST });
  const move = (to: number) => {
    share = Math.max(LEAST, Math.min(MOST, to));
    whole.style.setProperty("--left", `${share}%`);
    set(bar, { "aria-valuenow": Math.round(share) });
    try {
      localStorage.setItem(KEPT, String(share));
    } catch {
      // no storage here
    }
  };
  bar.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(share + by);
  });
  bar.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    bar.focus();
    bar.setPointerCapture(event.pointerId);
  });
  bar.addEventListener("pointermove", (event) => {
    if (!bar.hasPointerCapture(event.pointerId)) return;
    const { left, width } = whole.getBoundingClientRect();
    move((100 * (event.clientX - left)) / width);
  });
  move(share);
  return bar;
}
