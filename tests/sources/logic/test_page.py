"""The tables of docs/logic.md: what they show can be written, in all its spellings, and is at the ends what they say."""

from __future__ import annotations

import re
from html import unescape

import pytest

from tests.readme import ROOT
from tests.sources.logic.printed.model import words
from tm2tfr.sources.logic.evaluate import LogicValue, evaluate
from tm2tfr.sources.logic.read import formula, read

PAGE = (ROOT / "docs" / "logic.md").read_text(encoding="utf-8")
F, G = "(Q[a] | Q[b])", "(Q[b] | Q[c])"
WORDS = list(words("abc", 3))


def values(text: str) -> list[tuple[LogicValue, ...]]:
    """Return what a formula is at every position of every word."""
    program = formula(text, "abc")
    return [evaluate(program, word)[program.root] for word in WORDS]


def first(text: str) -> list[LogicValue]:
    return [each[0] for each in values(text)]


def last(text: str) -> list[LogicValue]:
    return [each[-1] for each in values(text)]


def written(text: str) -> str:
    """Return a spelling of the table with f and g, s and t for what they stand for."""
    meant = {"f": F, "g": G, "s": "count(Q[a])", "t": "count(Q[b])", "m": "3", "r": "1"}
    return re.sub(r"\b[fgstmr]\b", lambda found: meant[found[0]], text)


@pytest.mark.parametrize(
    "text",
    [
        unescape(text)
        for row in re.findall(r"^\| (`[^|]*)\|", PAGE.partition("## Programs")[0], re.MULTILINE)
        for text in re.findall(r"(?:`|<code>)(.+?)(?:`|</code>)", row)
        if "_" not in text or text.startswith(("Q_", "power", "count"))
    ],
)
def test_what_is_in_the_first_columns_can_be_written(text: str) -> None:
    assert values(written(text).replace('Q["ab"]', 'Q["a"]'))


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        ("!f", "¬f"),
        ("!f", "~f"),
        ("!f", "not f"),
        ("f & g", "f ∧ g"),
        ("f & g", "f and g"),
        ("f | g", "f ∨ g"),
        ("f | g", "f or g"),
        ("f -> g", "f → g"),
        ("f -> g", "f ⇒ g"),
        ("f <-> g", "f ⇔ g"),
        ("prev f", "⊖ f"),
        ("next f", "⊕ f"),
        ("s <= t", "s ≤ t"),
        ("s != t", "s ≠ t"),
        ("count(f) <= count_right(g)", "#←[f] ≤ #→[g]"),
        ("count(f) <= count_right(g)", "#<-[f] <= #->[g]"),
        ("true", "⊤"),
        ("false", "⊥"),
        # what the page says of them
        ("f S g", "(f | g) since g"),
        ("f since g", "f S (f & g)"),
        ("f U g", "(f | g) until g"),
        ("once f", "true since f"),
        ("historically f", "!once !f"),
        ("eventually f", "true until f"),
        ("always f", "!eventually !f"),
        ("!prev true", "first"),
        ("!next true", "last"),
        ("position == 1", "first"),
        ("!f & g | f", "((!f) & g) | f"),
        ("!count(f) <= 1", "!(count(f) <= 1)"),
        ("f since g & f", "(f since g) & f"),
        ("prev f since g", "(prev f) since g"),
        ("count(f) + 2 * count(g) <= 3", "(count(f) + (2 * count(g))) <= 3"),
        ("f -> g <-> f", "(f -> g) <-> f"),
    ],
)
def test_two_spellings_of_one_formula(plain: str, other: str) -> None:
    assert values(written(plain)) == values(written(other))


def test_the_ends_of_a_word() -> None:
    assert set(first(f"prev {F}")) == set(last(f"next {F}")) == {False}
    both, here, there = f"{F} & {G}", F, G
    assert first(f"{F} since {G}") == first(both)
    assert first(f"{F} S {G}") == first(there)
    assert last(f"{F} until {G}") == last(both)
    assert last(f"{F} U {G}") == last(there)
    assert first(f"once {F}") == first(f"historically {F}") == first(here)
    assert last(f"eventually {F}") == last(f"always {F}") == last(here)
    assert all(not any(each) for each in values("Q[a] since Q[b]"))


def test_predicates_of_0() -> None:
    said = {
        name: last(f"{name}(count(Q[a]))")[WORDS.index("bcb")] for name in ("even", "odd", "square", "prime", "power_of_2")
    }
    assert said == {"even": True, "odd": False, "square": True, "prime": False, "power_of_2": False}


def test_the_picture_is_of_the_formula_of_the_page() -> None:
    drawn = (ROOT / "docs" / "logic" / "matched.svg").read_text(encoding="utf-8")
    (text,) = re.findall(r"^\$ cat > matched\.tl <<END\n(.*?)^> END$", PAGE, re.MULTILINE | re.DOTALL)
    program = read(re.sub(r"^> ", "", text, flags=re.MULTILINE), file="matched.tl").program
    assert drawn.count('class="node"') == len(program.nodes) - 1, "all but the token itself"
    for name in (*program.definitions, "since", "Q[a]", "Q[b]", "#←"):
        assert f">{name}</text>" in drawn
