"""What a text means when it has been read and evaluated, beside what it means read off position by position."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sources.logic.language.printed import written
from tests.strategies import tries
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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mod(count(Q[a]) - count(Q[b]), 3, 1)", lambda a, b, i: (a - b) % 3 == 1),
        ("mod(2 * count(Q[b]) - 3 * count(Q[a]) - position - 2, 5, 4)", lambda a, b, i: (2 * b - 3 * a - i - 2) % 5 == 4),
        ("odd(position + 1 - 2 * count(Q[a]))", lambda a, b, i: (i + 1) % 2 == 1),
        ("even(-count(Q[a]) - 1)", lambda a, b, i: (-a - 1) % 2 == 0),
        ("even(2 * count(Q[a]) + 1)", lambda a, b, i: False),
        ("mod(max(count(Q[a]), count(Q[b])) - 1, 3, 0)", lambda a, b, i: (max(a, b) - 1) % 3 == 0),
        ("abs(count(Q[a]) - count(Q[b])) <= 1", lambda a, b, i: abs(a - b) <= 1),
        ("3 - abs(count(Q[a]) - 2) = abs(count(Q[b]))", lambda a, b, i: 3 - abs(a - 2) == b),
        ("odd(abs(count(Q[a]) - count(Q[b])) - position)", lambda a, b, i: (abs(a - b) - i) % 2 == 1),
    ],
)
def test_remainders_and_absolute_values_of_sums(text: str, value: Callable[[int, int, int], bool]) -> None:
    root = read(f"x := {text}", file="x.tl").program.root
    for word in (word for n in range(1, 7) for word in all_words("ab", n)):
        prefixes = [word[: i + 1] for i in range(len(word))]
        assert list(evaluate([root], word)[root]) == [value(p.count("a"), p.count("b"), len(p)) for p in prefixes], word


def test_a_bit_counts_in_a_remainder() -> None:
    root = read("x := mod(Q[a] - (prev Q[a]) + count(Q[a]), 3, 2)", file="x.tl").program.root
    assert list(evaluate([root], "aabba")[root]) == [True, True, False, True, False]


def test_macros_may_use_what_is_of_two_numbers() -> None:
    """Their bodies are looked through for unknown names where they are defined."""
    program = read(
        "near(s, t) := abs(min(s, t) - max(s, t)) <= 1\nx := near(count(Q[a]), count(Q[b]))", file="x.tl"
    ).program
    assert list(evaluate([program.root], "aab")[program.root]) == [True, False, True]
    own = read("abs(s) := !s\nx := abs(Q[a])", file="x.tl").program.root
    assert list(evaluate([own], "ab")[own]) == [False, True]
