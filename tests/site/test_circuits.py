"""The pages on circuits: the misprints are numbered as in the code and the tests, and mentions lead to their repairs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tm2tfr
from tests.readme import ROOT
from tm2tfr.base.choices import CIRCUIT_VARIANTS
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_FORMATS
from tm2tfr.transformer.weights import matrices

PAGE = "docs/circuits/repairs.md"


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def rows() -> dict[int, str]:
    """Return the rows of the table of misprints by their numbers."""
    return {int(number): row for number, row in re.findall(r"^\| (\d+) \|(.*)$", read(PAGE), re.MULTILINE)}


def test_the_misprints_are_numbered_from_1_to_19() -> None:
    assert list(rows()) == list(range(1, 20))


def test_every_repair_that_the_code_mentions_is_a_row() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tm2tfr/sources/circuit").rglob("*.py"))
    mentioned = {
        int(n) for found in re.findall(r"\brepairs? (\d+(?:(?:, |-)\d+)*)", text) for n in re.findall(r"\d+", found)
    }
    assert mentioned >= {1, 2, 3, 4, 6, 14, 15}
    assert mentioned - rows().keys() == set()


def test_the_rows_that_are_said_to_be_tests_are() -> None:
    (said,) = re.findall(r"^Rows ([\d, and]+) are tests", read(PAGE), re.MULTILINE)
    tests = read("tests/sources/circuit/compiler/test_misprints.py")
    tested = {
        n for found in re.findall(r"^def test_rows?_(\d+(?:_and_\d+)*)", tests, re.MULTILINE) for n in found.split("_and_")
    }
    assert set(re.findall(r"\d+", said)) == tested


def test_a_repair_with_a_section_is_linked_to_from_its_row() -> None:
    headings = re.findall(r"^### (\d+)(?: and (\d+))?\.", read(PAGE), re.MULTILINE)
    for number in (int(n) for heading in headings for n in heading if n):
        assert re.search(rf"\(#(?:\d+-and-)?{number}-", rows()[number]), number


def test_the_number_of_weights_is_said_as_it_is() -> None:
    found = matrices(tm2tfr.compile("sha256-round"))
    own = sum(matrix.values.size for path, matrix in found.items() if path != "position_table")
    for page in ("README.md", "docs/index.md", "docs/circuits/index.md"):
        assert set(re.findall(r"\b(\d+) weights\b", read(page))) & {str(own)}, page


def test_every_format_and_variant_is_in_a_table() -> None:
    formats = re.findall(r"^\| ([^|]*)\|", read("docs/how-to/circuits.md"), re.MULTILINE)
    assert CIRCUIT_FORMATS.keys() - set(re.findall("`([^`]*)`", "".join(formats))) == set()
    (heading,) = re.findall(r"^\| \| (`lookup`.*) \|$", read("docs/circuits/index.md"), re.MULTILINE)[:1]
    assert set(re.findall("`([^`]*)`", heading)) == set(CIRCUIT_VARIANTS)


@pytest.mark.slow
def test_a_mention_of_a_repair_leads_to_the_appendix_s_on_pages_of_circuits(site: Path) -> None:
    html = (site / "reference/circuits.html").read_text(encoding="utf-8")
    assert '<a class="source" href="../circuits/repairs.html#1-dimensions-of-their-own">repair 1</a>' in html
    assert '<a class="source" href="../circuits/repairs.html#14-the-epsilon-of-the-norms">repair 14</a>' in html
    assert "construction/repairs.html#" not in re.sub(r"<nav.*?</nav>", "", html, flags=re.DOTALL)
