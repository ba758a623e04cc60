"use strict";
// The slides are sections below each other: keys and buttons turn them by scrolling, and the address keeps the number.
const slides = [...document.querySelectorAll("section")];

// The number of the slide that the address names: a slide by its number, or one with a heading of that name.
function numbered() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  return Math.max(slides.indexOf(place?.closest("section")) + 1, 1);
}

let now = numbered();

function go(n) {
  now = Math.min(Math.max(n, 1), slides.length);
  slides[now - 1].scrollIntoView({ behavior: "instant" });
  slides[now - 1].focus({ preventScroll: true });
  history.replaceState(null, "", `#${now}`);
}

function notes() {
  const shown = document.body.toggleAttribute("data-notes");
  document.getElementById("notes").setAttribute("aria-pressed", String(shown));
}

const themes = ["auto", "light", "dark"];

function theme() {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
  document.documentElement.dataset.theme = next;
  document.getElementById("theme").textContent = `Theme: ${next}`;
}

const keys = {
  ArrowRight: () => go(now + 1), ArrowDown: () => go(now + 1), PageDown: () => go(now + 1), " ": () => go(now + 1),
  ArrowLeft: () => go(now - 1), ArrowUp: () => go(now - 1), PageUp: () => go(now - 1),
  Home: () => go(1), End: () => go(slides.length), n: notes, t: theme,
};

addEventListener("keydown", (event) => {
  const turns = keys[event.key];
  if (!turns || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("nav")) return;
  event.preventDefault();
  turns();
});
addEventListener("hashchange", () => go(numbered()));
document.getElementById("back").addEventListener("click", () => go(now - 1));
document.getElementById("on").addEventListener("click", () => go(now + 1));
document.getElementById("notes").addEventListener("click", notes);
document.getElementById("theme").addEventListener("click", theme);
// What is in sight is measured anew: an entry may be about a slide that has been left since.
const seen = new IntersectionObserver(() => {
  const place = slides.findIndex((slide) => Math.abs(slide.getBoundingClientRect().top) < 0.4 * innerHeight);
  if (place < 0) return;
  now = place + 1;
  history.replaceState(null, "", `#${now}`);
}, { threshold: 0.6 });
for (const slide of slides) seen.observe(slide);
if (location.hash) go(now);
