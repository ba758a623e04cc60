"""Names for people: short, each given once, and the same whatever else is named."""

from __future__ import annotations

import random

from tm2tfr.sources.sequence.naming import MOST, role, shortened, unique

LETTERS = "ab (),[]=-1'"


def test_random_texts_are_short_and_short_ones_stay() -> None:
    chance = random.Random(0)
    for _ in range(2_000):
        text = "".join(chance.choices(LETTERS, k=chance.randint(1, 120)))
        plain = " ".join(text.split())
        found = shortened(text)
        assert len(found) <= MOST
        assert (found == plain) == (len(plain) <= MOST)
        assert shortened(found) == found


def test_random_names_are_given_once() -> None:
    chance, taken = random.Random(1), set[str]()
    for _ in range(2_000):
        name = unique("".join(chance.choices("ab ", k=chance.choice((1, 2, 60)))) + "x", taken)
        assert len(name) <= MOST
        assert name not in taken
        taken.add(name)


def test_the_first_of_two_keeps_its_name() -> None:
    assert [unique("x", taken) for taken in ((), ("x",), ("x", "x'"), ("x", "x'", "x''", "x'''"))] == [
        "x",
        "x'",
        "x''",
        "x'4",
    ]
    assert unique("y" * 40, ["y" * 40])[-2:] == "y'"


def test_a_role_stands_before_a_name() -> None:
    assert role("found by", "same_tok") == "found by same_tok"
    assert role("found by", "select(tokens, tokens, ==) and earlier") == "found by select(tokens, …) and earlier"
