"""The exercises as a notebook: the same text, made from the page, so that there is one source.

`python docs/lecture/notebook.py` writes it without outputs, and `python -m tests.notebooks docs/notebooks/exercises.ipynb`
runs it. Examples become code cells, each up to one that shows something; commands become cells that the shell runs; a
solution is under a heading that Jupyter shows folded.
"""

from __future__ import annotations

import doctest
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent
PAGE, NOTEBOOK = DOCS / "lecture" / "exercises.md", DOCS / "notebooks" / "exercises.ipynb"
FENCE = re.compile(r"^```(python|console)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
SOLUTION = "### Solution"  # then the number of the exercise, so that each heading is one of its own
WORDS = {
    "here and in the [notebook](../notebooks/exercises.ipynb)": "here and [on the site](../lecture/exercises.md)",
    " [A sheet to print](index.md#the-exercises-on-paper) leaves the solutions out.": "",
    "</details>\n": "",
}
"""What stands in the page -> what stands in the notebook."""
FOLDED = "<details markdown>\n<summary>Solution</summary>\n"
INLINE = re.compile(r"\\\((.*?)\\\)")


def cells() -> list[dict[str, Any]]:
    """Return the notebook's cells, without outputs."""
    found = []
    for n, (kind, source) in enumerate(_parts(PAGE.read_text(encoding="utf-8"))):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"exercises-{n}", "metadata": {}, "source": source}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        elif source.startswith(SOLUTION):
            cell["metadata"] = {"jp-MarkdownHeadingCollapsed": True}
        found.append(cell)
    return found


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind of each cell and its source."""
    for old, new in WORDS.items():
        text = text.replace(old, new)
    numbers = itertools.count(1)
    text = re.sub(FOLDED, lambda _: f"{SOLUTION} {next(numbers)}\n", text)
    end = 0
    for fence in FENCE.finditer(text):
        yield from _markdown(text[end : fence.start()])
        yield from (("code", source) for source in (_examples if fence[1] == "python" else _commands)(fence[2]))
        end = fence.end()
    yield from _markdown(text[end:])


def _markdown(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(rf"^(?={SOLUTION} \d+$|## )", INLINE.sub(r"$\1$", text), flags=re.MULTILINE):
        if part.strip():
            yield "markdown", part.strip()


def _examples(text: str) -> Iterator[str]:
    """Yield the statements of examples, up to each that shows something: a cell shows its last value."""
    source = ""
    for example in doctest.DocTestParser().get_examples(text):
        source += example.source.replace("def ", "\ndef ") + "\n" * example.source.startswith("def ")
        if example.want:
            yield source.strip()
            source = ""
    if source:
        yield source.strip()


def _commands(text: str) -> Iterator[str]:
    """Yield the commands, without prompts and outputs."""
    lines = [re.sub(r"^[$>] ", "", line) for line in text.splitlines() if line.startswith(("$ ", "> "))]
    yield "\n".join(["%%bash", *lines])


if __name__ == "__main__":
    import nbformat

    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook = nbformat.from_dict({"cells": cells(), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})
    nbformat.validate(notebook)
    nbformat.write(notebook, NOTEBOOK)
