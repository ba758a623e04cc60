"""What the slides show (Weiss, Goldberg and Yahav, "Thinking Like Transformers"), one test per thing that they show."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.sources.rasp.headers import header
from tests.sources.rasp.running import heads, matrix, read, values

HELLO = tuple("hello")
ONE_HEAD = """
key = [2, 0, 0][indices];
query = [0, 1, 2][indices];
sel = select(key, query, ==);
sel2 = select(key, query, >=);
new = aggregate(sel, [1, 2, 4][indices]);
flip = select([2, 1, 0][indices], query, ==);
reversed = aggregate(flip, tokens);
"""
"""The slides write lists where RASP has s-ops: a list indexed with the position."""


def exactly(found: tuple[Any, ...], wanted: list[Any]) -> bool:
    """Return whether values are the wanted ones, and of the wanted kinds: a float is a fraction, even a whole one."""
    return list(found) == wanted and list(map(type, found)) == list(map(type, wanted))


def picture(text: str, name: str, word: str) -> str:
    """Return the matrix of a selector as the slides write it: FTT/FFF/TFF, one row per query position."""
    return "/".join("".join("FT"[entry] for entry in row) for row in matrix(text, name, tuple(word)))


# ── the base s-ops, and what is done at each position ─────────────────────────────────────────────────────
def test_tokens_are_strings_and_indices_are_numbers() -> None:
    text = "shown = tokens;\nplaces = indices;"
    assert exactly(values(text, "shown", HELLO), ["h", "e", "l", "l", "o"])
    assert exactly(values(text, "places", HELLO), [0, 1, 2, 3, 4])


def test_indices_plus_one() -> None:
    assert exactly(values("out_ = indices+1;", "out_", HELLO), [1, 2, 3, 4, 5])


def test_e_or_o() -> None:
    assert exactly(values('out_ = tokens=="e" or tokens=="o";', "out_", HELLO), [False, True, False, False, True])


# ── one head ─────────────────────────────────────────────────────────────────────────────────────────────
def test_a_selector_has_a_row_per_query() -> None:
    assert picture(ONE_HEAD, "sel", "abc") == "FTT/FFF/TFF"


def test_the_operator_that_the_slide_has_lost_is_greater_or_equal() -> None:
    assert picture(ONE_HEAD, "sel2", "abc") == "TTT/TFF/TFF"


def test_mean_default_and_single_value() -> None:
    assert exactly(values(ONE_HEAD, "new", tuple("abc")), [Fraction(3), 0, 1])


def test_one_selected_value_is_not_averaged() -> None:
    assert picture(ONE_HEAD, "flip", "ABC") == "FFT/FTF/TFF"
    assert exactly(values(ONE_HEAD, "reversed", tuple("ABC")), ["C", "B", "A"])


# ── length ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("word", "share"), [("four", Fraction(1, 4)), ("hello", Fraction(1, 5))])
def test_frac_0(word: str, share: Fraction) -> None:
    text = "full = select(1, 1, ==);\nfrac_0 = aggregate(full, indicator(indices==0));"
    assert picture(text, "full", word) == "/".join(["T" * len(word)] * len(word))
    assert exactly(values(text, "frac_0", tuple(word)), [share] * len(word))


def test_one_over_frac_0_is_the_length() -> None:
    text = "frac_0 = aggregate(full_s, indicator(indices==0));\nout_ = round(1/frac_0);\nlibrary = length;"
    assert exactly(values(text, "out_", HELLO), [5] * 5)
    assert exactly(values(text, "library", HELLO), [5] * 5)


# ── reverse ──────────────────────────────────────────────────────────────────────────────────────────────
def test_reverse() -> None:
    text = "flip = select(length-indices-1, indices, ==);\nreverse = aggregate(flip, tokens);"
    assert picture(text, "flip", "hello") == "FFFFT/FFFTF/FFTFF/FTFFF/TFFFF"
    assert exactly(values(text, "reverse", HELLO), ["o", "l", "l", "e", "h"])


def test_reverse_has_two_layers_of_one_head_since_length_costs_one() -> None:
    text = header("reverse").text
    assert heads(text, "reverse") == [1, 1]
    assert heads("how_long = length;", "how_long") == [1]
    assert values(text, "reverse", tuple("abcdeabcde")) == tuple("edcbaedcba")


def test_how_layers_are_counted() -> None:
    """Base s-ops need none, heads stand after what they need, many in one layer, and what is elementwise is free."""
    text = """
    free = indicator(tokens == "a") + indices;
    one = aggregate(select(indices, 0, ==), free);
    side = aggregate(select(indices, 1, ==), free);
    both = one + side;
    two = aggregate(select(both, both, ==), free);
    """
    assert heads(text, "free") == []
    assert heads(text, "one") == heads(text, "side") == [1]
    assert heads(text, "both") == [2]
    assert heads(text, "two") == [2, 1]


# ── histogram ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("word", "counts"), [("§hello", [0, 1, 1, 2, 2, 1]), ("§abccc", [0, 1, 1, 3, 3, 3]), ("§aba", [0, 2, 1, 2])]
)
def test_histogram(word: str, counts: list[int]) -> None:
    assert exactly(values(header("histogram").text, "histogram", tuple(word)), counts)


def test_frac_with_0() -> None:
    found = values(header("histogram").text, "frac_with_0", tuple("§hello"))
    assert found == (1, Fraction(1, 2), Fraction(1, 2), Fraction(1, 3), Fraction(1, 3), Fraction(1, 2))


def test_the_histogram_needs_one_head() -> None:
    assert heads(header("histogram").text, "histogram") == [1]


def test_where_the_histogram_looks() -> None:
    """At all positions with the same token and at position 0, on the word of the slide on the trained transformer."""
    word = "§jibbiejig"
    rows = matrix(header("histogram").text, "same_and_0", tuple(word))
    assert [[k for k, entry in enumerate(row) if entry] for row in rows] == [
        [k for k in range(10) if k == 0 or word[k] == word[q]] for q in range(10)
    ]


# ── selector_width, sort, and the points for discussion ──────────────────────────────────────────────────
@pytest.mark.parametrize("relation", ["==", "!=", "<", "<=", ">", ">="])
def test_selector_width_of_any_selector(relation: str) -> None:
    text = f"sel = select(tokens, tokens, {relation});\nwidth = selector_width(sel);"
    assert values(text, "width", HELLO) == tuple(sum(row) for row in matrix(text, "sel", HELLO))


def test_earlier_token_sorts() -> None:
    text = """
    earlier_token = select(tokens,tokens,<) or (select(tokens,tokens,==) and select(indices,indices,<));
    num_prev = selector_width(earlier_token);
    sorted = aggregate(select(num_prev, indices, ==), tokens);
    """
    assert picture(text, "earlier_token", "cab") == "FTT/FFF/FTF"
    assert values(text, "sorted", HELLO) == tuple("ehllo")
    assert heads(text, "sorted") == [2, 1]


def test_parity_takes_one_head() -> None:
    text = header("parity").text
    assert heads(text, "is_even") == [1]
    assert values(text, "is_even", tuple("110")) == (True,) * 3
    assert read(text).chosen == "is_even"
