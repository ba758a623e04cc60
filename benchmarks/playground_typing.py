"""The playground: from a key stroke to the new run on the screen, and where that time goes.

Needs the extra ``playground``, Chromium and Playwright. Keys are typed into a machine of ten states: first into its
description, so that its graph stays as it is, then into a rule, so that its graph changes with every key. Each part is a
median, in milliseconds:

wait
    from the key to the request: the page waits a little for the next key
server
    from the request to the first byte of the answer, `answer` of it in the function itself
network
    the rest of the answer
layout
    reading it and building the views; a new graph is laid out by Graphviz
paint
    until the browser has painted them
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import Any

from tests.web.explorer import browser
from tests.web.playground.window import Window, answered, opened, serving, written

TARGET = 300
"""Milliseconds from a key stroke to the new run."""
KEYS = 30
PARTS = ("wait", "server", "answer", "network", "layout", "paint", "all")
STATES = (*(f"s{n}" for n in range(1, 10)), "s")
SOURCE = (
    "name: ten-states\n"
    "description: Goes through ten states, from the left to the right, and stops in the last.\n"
    "blank: _\n"
    "start state: s1\n"
    "input alphabet: ['1']\n"
    "input: '11111111'\n"
    "table:\n"
    + "".join(f"  {q}:\n    1: {{R: {p}}}\n    _: {{write: 1, R: s}}\n" for q, p in pairwise(STATES))
    + f"  {STATES[-1]}:\n"
)
PLACES = {
    "ten states, the graph stays": ("description", 0, "x"),
    "ten states, a new graph each time": ("write: 1, R: s}", 1, "1"),
}
"""Where a key is typed: at the end of the first line with this text, so many characters before it."""

WATCH = """() => {
  window.strokes = [];
  let key = 0;
  addEventListener("keydown", () => { key = performance.now(); }, true);
  new MutationObserver(() => {
    const shown = performance.now(), typed = key;
    const asked = performance.getEntriesByType("resource").filter((each) => each.name.endsWith("api/answer")).at(-1);
    const { startTime, responseStart, responseEnd } = asked;
    const painted = new MessageChannel();
    painted.port1.onmessage = () => {
      const all = performance.now();
      const times = [typed, startTime, responseStart, responseEnd, shown, all];
      window.strokes.push([...times.slice(1).map((time, n) => time - times[n]), all - typed]);
    };
    requestAnimationFrame(() => painted.port2.postMessage(0));
  }).observe(document.documentElement, { attributeFilter: ["data-answered"] });
}"""


def typed(page: Any, key: str) -> dict[str, float]:
    """Return the medians for strokes of a key and of the one that takes it back, in turn."""
    seconds: list[float] = []
    page.on(
        "response",
        lambda response: seconds.append(response.json()["seconds"]) if response.url.endswith("api/answer") else None,
    )
    page.evaluate("window.strokes.length = 0")
    for n in range(KEYS):
        with answered(page):
            page.keyboard.press("Backspace" if n % 2 else key)
        page.wait_for_timeout(150)
    strokes = page.evaluate("window.strokes")
    wait, server, network, layout, paint, whole = (median(times) for times in zip(*strokes, strict=True))
    figures = (wait, server, 1000 * median(seconds), network, layout, paint, whole)
    return dict(zip(PARTS, figures, strict=True))


def main() -> None:
    """Print the figures."""
    if why := browser.missing():
        raise SystemExit(why)
    print(f"{'milliseconds':<34}" + "".join(f"{part:>9}" for part in PARTS))
    with browser.browser() as chromium, serving() as server:
        window = Window(chromium, server)
        page = window.open()
        opened(page, "chapter")
        written(page, SOURCE)
        page.evaluate(WATCH)
        for what, (line, before, key) in PLACES.items():
            page.locator(".cm-line", has_text=line).first.click()
            page.keyboard.press("End")
            for _ in range(before):
                page.keyboard.press("ArrowLeft")
            figures = typed(page, key)
            print(f"{what:<34}" + "".join(f"{figures[part]:>9.0f}" for part in PARTS))
        window.close()
    print(f"to be reached: {TARGET} in all, on two idle cores")


if __name__ == "__main__":
    main()
