"""The explorer: how long a page takes to make, to show and to step through, for 20,000 rows; how large it is.

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


if __name__ == "__main__":
    main()
