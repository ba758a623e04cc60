"""The pictures of the page on drawings: ``python -m tests.sources.rasp.drawing.pictures`` draws them anew."""

from __future__ import annotations

from pathlib import Path

import tm2tfr
from tests.readme import ROOT
from tm2tfr.sources.rasp.drawing.graphs import save

FOLDER = ROOT / "docs" / "rasp"


def runs() -> dict[str, str]:
    """Return the drawings of runs, by the names of their files: they are the same on every machine."""
    histogram = tm2tfr.Subject.of("histogram", options={"alphabet": "§jibeg"})
    return {
        "reverse-run.svg": tm2tfr.draw_run("reverse", "abcdeabcde"),
        "histogram-attention.svg": tm2tfr.draw_run(histogram, "§jibbiejig", attention=True),
    }


def draw_all(folder: Path) -> None:
    """Write the pictures into a folder."""
    save(tm2tfr.load("reverse"), folder / "reverse.svg")
    for name, svg in runs().items():
        (folder / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    draw_all(FOLDER)
