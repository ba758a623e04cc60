"""The exercises are one text: the notebook is made from the page, and shows what the page shows."""

from __future__ import annotations

import doctest
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.readme import ROOT, shown

MADE = runpy.run_path(str(ROOT / "docs/lecture/notebook.py"))
PAGE, NOTEBOOK = Path(MADE["PAGE"]), Path(MADE["NOTEBOOK"])


def told(cell: dict[str, Any]) -> str:
    """Return what a cell of the notebook shows, without spaces: Jupyter breaks long values."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in cell["outputs"]]
    return "".join("".join("".join(text) for text in texts).split())


def test_the_notebook_is_made_from_the_page() -> None:
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    made = MADE["cells"]()
    assert [cell["id"] for cell in found] == [cell["id"] for cell in made], "python docs/lecture/notebook.py"
    for cell, right in zip(found, made, strict=True):
        assert ("".join(cell["source"]), cell["cell_type"]) == (right["source"], right["cell_type"])


def test_the_notebook_shows_what_the_page_shows() -> None:
    cells = iter(c for c in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code")
    for kind, block in MADE["FENCE"].findall(PAGE.read_text(encoding="utf-8")):
        if kind == "python":
            examples = doctest.DocTestParser().get_examples(block)
            wanted = [example.want for example in examples if example.want]
            rest = bool(examples) and not examples[-1].want
        else:
            wanted, rest = ["".join(output for _, output in shown(block))], False
        for want in wanted:
            assert told(next(cells)) == "".join(want.split())
        if rest:
            assert told(next(cells)) == ""
    assert list(cells) == []


@pytest.mark.parametrize("text", ["\\(", "<details", "\n$ ", ">>> "])
def test_nothing_of_the_page_is_left_in_the_notebook(text: str) -> None:
    assert [cell["source"] for cell in MADE["cells"]() if text in cell["source"]] == []


def test_every_exercise_has_a_solution_that_runs() -> None:
    exercises = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(exercises) == 10
    for exercise in exercises:
        _, solution = exercise.split("<summary>Solution</summary>\n")
        assert MADE["FENCE"].search(solution), exercise.splitlines()[0]
