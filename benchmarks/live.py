"""The engine in the explorer's page beside the dense one: seconds for 5,000 positions in Chromium, and what numpy needs.

``page`` is what a reader waits for: the run in a worker, recorded and compared with the page's simulator, and drawn.

Needs Chromium and Playwright. Both compute the same numbers, which ``tests/web/explorer/test_live_engine.py`` holds; here
only the tokens are compared.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import tm2tfr
from tests.web.explorer import browser
from tests.web.explorer.test_live_engine import in_a_worker
from tm2tfr.api.subject import Subject
from tm2tfr.engines.decode import generate, prompted
from tm2tfr.engines.dense import Dense
from tm2tfr.web.explorer.weights_data import PackedColumns, decoder_data

POSITIONS = 5_000
RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("busy-beaver-5", {}),
    ("binary-counter", {}),
    ("never-halts", {"universal": (2, 2)}),
    ("binary-counter", {"universal": (8, 4)}),
    ("sha256", {}),
)
RUN = """
async ({ columns, spec, given, positions }) => {
  const start = performance.now();
  const decoder = explorer.decoderOf(spec, await explorer.unpacked(columns));
  const ready = performance.now();
  const fed = [];
  for (const step of explorer.generate(decoder, given, positions)) fed.push(step.fed);
  return { fed, unpacking: (ready - start) / 1000, seconds: (performance.now() - ready) / 1000 };
}
"""


def in_its_page(chromium: Any, subject: Subject, folder: Path) -> float:
    """Return the seconds from Enter to the new run of a machine on its own input in a page; of a circuit, nan."""
    if subject.decoder.positions is not None:
        return float("nan")
    tm2tfr.explore(subject, max_steps=20).save(folder / "run.html")
    window = browser.Window(chromium)
    page = window.open(folder / "run.html")
    page.locator("input[type=number]").first.fill(str(POSITIONS - len(subject.prompt(None)) - 2))
    page.get_by_label("another input").focus()
    start = time.perf_counter()
    page.keyboard.press("Enter")
    page.locator(".said-live", has_text="Run in this page").wait_for()
    seconds = time.perf_counter() - start
    window.close()
    return seconds


def main() -> None:
    """Print the figures."""
    if why := browser.missing():
        raise SystemExit(why)
    headings = ("positions", "unpacked s", "engine s", "numpy s", "engine ÷ numpy", "page s")
    print(f"{'decoder':<36}" + "".join(f"{heading:>17}" for heading in headings))
    with browser.browser() as chromium, tempfile.TemporaryDirectory() as folder:
        for name, options in RUNS:
            subject = Subject.of(name, options=options)
            decoder, columns = subject.decoder, PackedColumns()
            spec = decoder_data(decoder, columns)
            prompt = list(subject.prompt(None))
            argument = {"columns": columns.packed(), "spec": spec, "positions": POSITIONS}
            argument["given"] = prompted(decoder, prompt)
            found = in_a_worker(chromium, RUN, argument)
            start = time.perf_counter()
            steps = list(generate(decoder, prompt, engine=Dense(), max_positions=POSITIONS))
            seconds = time.perf_counter() - start
            if [decoder.numbers[step.token] for step in steps] != found["fed"]:
                raise SystemExit(f"{name}: the two engines differ")
            called = name + "".join(f", {key} {value}" for key, value in options.items())
            page = in_its_page(chromium, subject, Path(folder))
            figures = (found["unpacking"], found["seconds"], seconds, found["seconds"] / seconds, page)
            print(f"{called:<36}{len(steps):>17,}" + "".join(f"{figure:17.2f}" for figure in figures))


if __name__ == "__main__":
    main()
