"""What a text means when it has been read and evaluated, beside what it means read off position by position."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.sources.logic.language.printed import written
from tests.strategies import tries
from tm2tfr.base.errors import SpecError
from tm2tfr.base.text.words import all_words
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.read import read


@pytest.mark.slow
@pytest.mark.parametrize("language", ["tl", "srasp"])
def test_a_text_means_what_it_says(language: str) -> None:
    for seed in range(tries(250)):
        text = written(seed, language)
        program = read(text.text, file=f"{seed}.{language}").program
        assert set(program.definitions) == set(text.definitions)
        for word in (word for n in range(1, 4) for word in all_words("ab", n)):
            found = evaluate(program.definitions.values(), word)
            for name, node in program.definitions.items():
                assert found[node] == text.values(name, "".join(word)), (text.text, name, word)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "latest_j [j <= i, count(true) = 2] Q_a(j)",
            "x.srasp:1:26: 'count' is of a constant here, and does not say whether it is at i or at j: define it before, "
            "with a name, and use the name at i or at j",
        ),
        (
            "latest_j [j <= i, Q_a(j)] (prev true & in(j) = in(i))",
            "x.srasp:1:35: 'prev' is of a constant here, and does not say",
        ),
        (
            "latest_j [j <= i, Q_a(j)] (prev (Q_a(j) & Q_b(i)))",
            "x.srasp:1:35: 'prev' is of something about both i and j: keep what is about i outside of it",
        ),
        ("latest_j [j <= i, Q_a(j) since Q_b(i)] true", "x.srasp:1:26: 'since' is of something about both i and j"),
        ("latest_j [j <= i, Q_a(j)] (count(Q_a(j) & Q_b(i)) > 1)", "x.srasp:1:35: 'count' is of something about both"),
        ("latest_j [j <= i, f(j, i)] true", "x.srasp:1:20: 'once' is of something about both i and j"),
    ],
)
def test_what_looks_elsewhere_does_so_from_one_position(text: str, message: str) -> None:
    """As what is selected, or carried, it would mean one thing or the other."""
    macro = "f(s, t) = Q_a(s) & once (Q_a(s) | Q_b(t))\n" if "f(" in text else ""
    with pytest.raises(SpecError, match=f"^{re.escape(message)}"):
        read(f"{macro}x(i) = {text}", file="x.srasp")


EXTREMES = """c(i) = #[j <= i] Q_a(j)
d(i) = #[j <= i] Q_b(j)
least(i) = min(c(i), d(i))
own(i) = Q_a(i) ? least(i) + 1 : 2 * d(i)
x(i) = {}
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("least(i) = 1", lambda a, b, here: min(a, b) == 1),
        ("max(c(i), least(i) + 2) > 3 - max(0, d(i))", lambda a, b, here: max(a, min(a, b) + 2) > 3 - max(0, b)),
        ("own(i) < 3", lambda a, b, here: (min(a, b) + 1 if here == "a" else 2 * b) < 3),
        ("least(i) != max(c(i), d(i)) & Q_b(i)", lambda a, b, here: a != b and here == "b"),
    ],
)
def test_numbers_in_cases_may_have_names(text: str, value: Callable[[int, int, str], bool]) -> None:
    program = read(EXTREMES.format(text), file="x.srasp").program
    assert list(program.definitions) == ["c", "d", "x"]
    for word in (word for n in range(1, 6) for word in all_words("ab", n)):
        found = evaluate([program.root], word)[program.root]
        prefixes = [word[: i + 1] for i in range(len(word))]
        assert list(found) == [value(p.count("a"), p.count("b"), p[-1]) for p in prefixes], word


def test_the_minimum_is_of_two_numbers_and_a_formula_has_it_too() -> None:
    root = read("min(count(Q[a]), 2) = 2", file="x.tl").program.root
    assert list(evaluate([root], "aba")[root]) == [False, False, True]
    own = read("min(s, t) = s & t\nx(i) = min(Q_a(i), prev Q_a(i))", file="x.srasp").program.root
    assert list(evaluate([own], "aab")[own]) == [False, True, False]
