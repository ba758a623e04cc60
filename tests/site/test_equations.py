"""Every equation that the code and the documents mention is stated on a page, with what computes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import tm2tfr
from tests.readme import ROOT

PAGE = "docs/construction/equations.md"
PATTERNS = (
    "tm2tfr/**/*.py",
    "docs/**/*.md",
    "docs/**/*.ipynb",
    "tests/sources/turing/compiler/golden/*",
    "traces/*",
    "*.md",
    "machines/*",
)
EQUATIONS = re.compile(r"\bEqs?\.\s+(8\.\d+(?:(?:\s*[-–]\s*|,\s*|\s+and\s+)8\.\d+)*)")
OTHERS = re.compile(r"\b(?:Theorem|Definition|Exercise) 8\.\d+")
BARE = re.compile(r"\((8\.\d+)\)")
LEMMAS = re.compile(r"\b(?:Lemmas?|Theorem) (\d+(?:(?:, | and )\d+)*)(?![.\d])")


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def sections() -> dict[str, str]:
    """Return the sections of the page of equations by what stands in their headings."""
    _, *parts = re.split(r"^##+ (.+)$", read(PAGE), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def numbers(mentioned: str) -> Iterator[str]:
    """Yield the equations that ``8.8-8.14`` or ``8.8, 8.11`` stands for."""
    for first, last in re.findall(r"8\.(\d+)(?:\s*[-–]\s*8\.(\d+))?", mentioned):
        for number in range(int(first), int(last or first) + 1):
            yield f"Eq. 8.{number}"


def mentions() -> Iterator[tuple[str, str]]:
    """Yield each number that is mentioned anywhere, with the file."""
    paths = {path.relative_to(ROOT) for pattern in PATTERNS for path in ROOT.glob(pattern) if path.is_file()}
    for path in sorted(paths - {Path(PAGE)}):
        text = read(str(path))
        for found in EQUATIONS.findall(text) + BARE.findall(text):
            yield from ((number, str(path)) for number in numbers(found))
        yield from ((found, str(path)) for found in OTHERS.findall(text))


def test_a_list_or_a_range_of_equations_is_all_of_them() -> None:
    (found,) = EQUATIONS.findall("step 3, Eqs. 8.6-8.8, 8.11 and 8.15; repair 2")
    assert list(numbers(found)) == ["Eq. 8.6", "Eq. 8.7", "Eq. 8.8", "Eq. 8.11", "Eq. 8.15"]


@pytest.mark.slow
def test_every_number_that_is_mentioned_is_stated() -> None:
    found = list(mentions())
    assert len(found) > 150
    stated = sections().keys()
    assert {(number, path) for number, path in found if number not in stated} == set()


def test_every_lemma_that_is_mentioned_is_stated() -> None:
    (soft,) = (text for heading, text in sections().items() if heading.startswith("Soft attention"))
    listed = {
        number
        for row in re.findall(r"^\| ((?:Lemma|Theorem)[^|]*) \|", soft, re.MULTILINE)
        for number in re.findall(r"\d+", row)
    }
    paths = {*ROOT.glob("tm2tfr/**/*.py"), *ROOT.glob("docs/**/*.md")}
    of_rasp = {
        path
        for path in paths
        if (OF_RASP & {*path.relative_to(ROOT).parts} and FRAMED not in path.parts)
        or path.name.startswith(("rasp", "coming-from-tracr"))
    }
    found = mentioned(paths - of_rasp)
    assert len(found) > 6
    assert found - listed == set()
    scheme = (ROOT / "docs" / "rasp-scheme.md").read_text(encoding="utf-8")
    stated = set(re.findall(r"^(?:## |\*\*)Lemma (\d+)\b", scheme, re.MULTILINE))
    assert mentioned(of_rasp) == stated == set("01234567")


def test_every_lemma_of_formulas_that_is_mentioned_is_stated() -> None:
    lemma = re.compile(r"\bLemmas? ([A-Z](?:(?:, | and )[A-Z])*)\b")
    paths = {*ROOT.glob("tm2tfr/**/*.py"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/sources/**/*.py")}
    texts = (path.read_text(encoding="utf-8") for path in paths)
    found = {letter for text in texts for list_ in lemma.findall(text) for letter in re.findall("[A-Z]", list_)}
    scheme = (ROOT / "docs/logic-scheme.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\*\*Lemma ([A-Z])\b", scheme, re.MULTILINE)
    assert stated == sorted(found) == list("ABCDEFGHIJ")


OF_RASP = {"sequence", "rasp"}
"""Folders whose lemmas are those of docs/rasp-scheme.md, but for `FRAMED`, whose are those of docs/logic-scheme.md."""
FRAMED = "framed"


def mentioned(paths: Iterable[Path]) -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return {n for text in texts for list_ in LEMMAS.findall(text) for n in re.findall(r"\d+", list_)}


def test_the_equations_stand_in_their_order() -> None:
    stated = [heading for heading in sections() if heading.startswith("Eq.")]
    assert stated == [f"Eq. 8.{number}" for number in range(1, 20)]


@pytest.mark.parametrize("name", ["chapter", "left-edge", "palindromes"])
def test_a_listing_s_layers_and_heads_stand_where_their_equations_are_stated(name: str) -> None:
    stated = sections()
    for layer in tm2tfr.compile(name).layers:
        step = next(text for heading, text in stated.items() if layer.source.startswith(heading.partition(":")[0].lower()))
        own = [stated[number] for found in EQUATIONS.findall(layer.source) for number in numbers(found)] or [step]
        assert any(f"layer `{layer.name}`" in text and "tm2tfr/sources/turing/compiler/" in text for text in own)
        for repair in re.findall(r"repair (\d)", layer.source):
            assert any(f"repairs.md#{repair}-" in text for text in own), f"{layer.name}: repair {repair}"
        for head in layer.heads:
            (equation,) = EQUATIONS.findall(head.source)
            assert f"`{head.name}`" in stated[f"Eq. {equation}"]


def test_the_files_and_the_code_that_are_named_are_there() -> None:
    text, code = read(PAGE), read("docs/reference/construction.md")
    files = set(re.findall(r"`(tm2tfr/[\w/]+\.py)`", text))
    assert len(files) > 8
    assert [file for file in files if not (ROOT / file).exists()] == []
    for target in re.findall(r"reference/construction\.md#([\w.]+)\)", text):
        module, _, name = target.rpartition(".")
        assert f"::: {target}\n" in code or re.search(rf"::: {re.escape(module)}\n(?: .*\n)*? .*\b{name}\b", code), target


@pytest.mark.slow
def test_a_mention_on_the_site_is_a_link_to_the_statement(site: Path) -> None:
    html = (site / "tutorial.html").read_text(encoding="utf-8")
    assert '<a class="source" href="construction/equations.html#eq-88">Eqs. 8.8-8.14</a>' in html
    assert '<a class="source" href="construction/repairs.html#2-only-a-bounded-number-can-be-gated">repair 2</a>' in html
    assert '<a class="source" href="construction/equations.html#exercise-83">Exercise 8.3</a>' in html
