"""The explorer: how long a page takes to make, to show and to step through, for 20,000 rows; how large it is.

Of RASP programs with 10 tokens: how long the page takes to open, and to answer a pointer: from the event to the end of the
next frame, up to 17 ms of which pass before that begins; `cpu` is the time that the page's thread computes for an answer.

Needs Chromium and Playwright. Times depend on the machine; what carries over are the ratios, and that the first paint
comes long before a second is over.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import tm2tfr
from tests.web.explorer import browser

STEPS = 20_000
PAGES: dict[str, dict[str, Any]] = {
    "the chapter's example": {"subject": "chapter"},
    f"busy-beaver-5, {STEPS:,} rows": {"subject": "busy-beaver-5", "max_steps": STEPS},
    "30 states, 20,000 rows": {"subject": None, "max_steps": STEPS},
}

PROGRAMS = {
    "reverse": "abcabcabca",
    "sort": "cabbacabca",
    "double-histogram": "§abbcabcab",
    "dyck-2": "({}())({)}",
    "looped-parity": "0110100110",
    "long-addition": "9517+08423",
}

TIMES = """async () => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime;
  const frames = async key => {
    const times = [];
    for (let n = 0; n < 100; n++) {
      const start = performance.now();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[50];
  };
  return { paint, step: await frames("ArrowRight"), leap: await frames("PageDown") };
}"""

HOVER = """async () => {
  const times = { matrix: [], cells: [] };
  const timed = async (name, act) => {
    const start = performance.now();
    act();
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    times[name].push(performance.now() - start);
  };
  const tape = document.querySelector(".flow-tape");
  const box = tape.getBoundingClientRect();
  [...document.querySelectorAll(".sop.kind-selector")].at(-1).click();
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  for (let n = 0; n < 60; n++) {
    const rows = [...document.querySelectorAll(".matrix .row-frame")];
    await timed("matrix", () => rows[(7 * n) % rows.length].dispatchEvent(new MouseEvent("mouseenter")));
    const [clientX, clientY] = [box.left + (0.07 * n % 1) * box.width, box.top + (0.13 * n % 1) * box.height];
    await timed("cells", () => tape.dispatchEvent(new MouseEvent("mousemove", { clientX, clientY })));
  }
  const median = times => times.sort((a, b) => a - b)[times.length >> 1];
  const both = [...times.matrix, ...times.cells];
  const late = both.sort((a, b) => a - b)[Math.floor(0.95 * both.length)];
  return { count: both.length, matrix: median(times.matrix), cells: median(times.cells), late };
}"""


def thirty_states() -> tm2tfr.Machine:
    """Return a machine with 30 states that never halts, and goes through all of them again and again."""
    rules: dict[tuple[str, str], Any] = {}
    for n in range(30):
        rules[f"s{n}", "_"] = (f"s{(n + 1) % 30}", "1", "R")
        rules[f"s{n}", "1"] = (f"s{(7 * n + 3) % 30}", "_", "L" if n % 3 else "R")
    return tm2tfr.Machine(transitions=rules, start="s0", blank="_", name="thirty-states")


def timed(action: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def main() -> None:
    """Print the figures."""
    if why := browser.missing():
        raise SystemExit(why)
    machine = thirty_states()
    columns = ("MB", "made s", "÷ run", "paint ms", "ready ms", "step ms", "100 steps ms")
    print(f"{'page':<30}" + "".join(f"{column:>14}" for column in columns))
    tm2tfr.explore("palindromes")  # so that nothing is imported while the time runs
    with browser.browser() as chromium, tempfile.TemporaryDirectory() as folder:
        for name, options in PAGES.items():
            options["subject"] = options["subject"] or machine
            steps = options.get("max_steps", 1000)
            alone, _ = timed(lambda o=options, s=steps: tm2tfr.check(o["subject"], engine="dense", max_steps=s))
            made, page = timed(lambda o=options: tm2tfr.explore(**o))
            path = Path(folder) / "run.html"
            page.save(path)
            seen = []
            for _ in range(3):
                window = browser.Window(chromium)
                ready, shown = timed(lambda w=window, p=path: w.open(p))
                seen.append({"ready": 1000 * ready, **shown.evaluate(TIMES)})
                window.close()
            paint, ready, step, leap = (median(times[key] for times in seen) for key in ("paint", "ready", "step", "leap"))
            figures = (path.stat().st_size / 1e6, made, made / alone, paint, ready, step, leap)
            print(f"{name:<30}" + "".join(f"{figure:14.2f}" for figure in figures))
        columns = ("kB", "opened ms", "matrix ms", "cells ms", "95 % ms", "cpu ms")
        print(f"\n{'RASP program, 10 tokens':<30}" + "".join(f"{column:>14}" for column in columns))
        for name, word in PROGRAMS.items():
            path = Path(folder) / "program.html"
            tm2tfr.explore(name, word).save(path)
            print(
                f"{name:<30}"
                + "".join(f"{figure:14.1f}" for figure in (path.stat().st_size / 1000, *pointed(chromium, path)))
            )


def pointed(chromium: Any, path: Path) -> tuple[float, ...]:
    """Return how long the page of a RASP program takes to open and to answer a pointer, in ms."""
    window = browser.Window(chromium)
    opened, page = timed(lambda: window.open(path))
    session = window.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def computed() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(1000 * float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")

    before = computed()
    found = page.evaluate(HOVER)
    answer = (computed() - before) / found["count"]
    window.close()
    return (1000 * opened, found["matrix"], found["cells"], found["late"], answer)


if __name__ == "__main__":
    main()
