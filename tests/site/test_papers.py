"""The page "The papers, claim by claim": each number of the papers has a row, and each command shows what its row says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'tm2tfr[docs]'")

from docs.papers.rows import HERE, PAGE, PAPERS, STATES, Row, counts, label, rows
from tests.readme import ROOT, completed
from tm2tfr.cli import app

NUMBERED = {
    "chapter": {
        "Definition": "8.1",
        "Theorem": "3.7 8.2",
        "Example": "4.10",
        "Exercise": "8.3",
        "Eq.": " ".join(f"8.{n}" for n in range(1, 20)),
        "Figure": "8.1a 8.1b",
    },
    "soft-attention": {
        "Definition": "1 2 3 4 5 10 14 19",
        "Lemma": "6 7 8a 8b 8c 9 24 25 27 28 29 30 31 32 33 34",
        "Proposition": "11a 11b",
        "Theorem": "12a 12b 13a 13b 15a 15b 16a 16b 20a 20b 21 26",
        "Corollary": "17a 17b 18a 18b 22a 22b 23",
        "Figure": "1",
    },
    "steps": {"Table": "1 2", "Figure": "1a 1b 2 3a 3b 3c 4a 4b 4c"},
    "rasp": {},
}
"""The numbers in the text of each paper, which is not part of this project: the matches of
``(Definition|Lemma|Proposition|Theorem|Corollary|Example|Exercise|Table|Figure|Fig.) NUMBER`` that are not in a citation of
another paper, with the letters of their cases, and the chapter's equations, ``(8.NUMBER)``. The slides have no numbers."""
EXTRAS = {"torch": "torch", "matplotlib": "plot"}
"""Module that a row needs -> the extra that brings it."""


def every() -> Iterator[tuple[str, Row]]:
    """Yield all rows, with the names of their papers."""
    for paper in PAPERS:
        yield from ((paper, row) for row in rows(paper))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_number_of_a_paper_has_a_row_and_no_other_number(paper: str) -> None:
    wanted = [f"{kind} {number}" for kind, numbers in NUMBERED[paper].items() for number in numbers.split()]
    kinds = "|".join(sorted({kind for numbers in NUMBERED.values() for kind in numbers}))
    found = [re.match(rf"(?:{kinds}) [\d.]+[a-z]?(?![\w.])", row.what) for row in rows(paper)]
    assert {match[0] for match in found if match} == set(wanted)


def test_the_papers_on_the_page_are_those_with_rows() -> None:
    text = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    assert re.findall(r"^<!-- rows of ([\w-]+) -->$", text, re.MULTILINE) == list(PAPERS)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(PAPERS.values())
    assert {path.stem for path in HERE.glob("*.yaml")} == set(PAPERS)


def test_the_rows_are_counted() -> None:
    states = [row.state for _, row in every()]
    (last,) = (line for line in counts().splitlines() if "**all**" in line)
    assert re.findall(r"\d+", last) == [str(number) for number in (*map(states.count, STATES), len(states))]
    assert len(states) > 120


def test_every_row_leads_to_a_place_that_says_more() -> None:
    assert all(label(row.more) for _, row in every())


def test_every_row_has_a_command_that_there_is() -> None:
    for _, row in every():
        names = re.findall(r"(?:^|[;|&] )tm2tfr ([\w-]+)", row.run)
        assert names or row.run == "" or row.run.startswith('python -c "from tm2tfr.'), row
        assert set(names) <= set(app.commands), row


BY_COMMAND: dict[str, list[Row]] = {}
for _, one in every():
    if one.run:
        BY_COMMAND.setdefault(one.run, []).append(one)


@pytest.mark.slow
@pytest.mark.parametrize("command", BY_COMMAND)
def test_a_command_shows_what_its_rows_say(command: str, tmp_path: Path, programs: Path) -> None:
    found = BY_COMMAND[command]
    for module in {row.needs for row in found} - {""}:
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'tm2tfr[{EXTRAS[module]}]'")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    done = completed(command, tmp_path, programs)
    printed = " ".join((done.stdout + done.stderr).split())
    for row in found:
        assert done.returncode == row.exit, printed
        for text in row.shown:
            assert " ".join(text.split()) in printed, row.what
