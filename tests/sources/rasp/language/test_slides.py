"""What the slides of "Thinking Like Transformers" show, row by row, and what the language does beside."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.sources.rasp.language.running import on, program, rows
from tm2tfr.sources.rasp.evaluate import Undefined, attempt, evaluate

F = Fraction
ON_HELLO: dict[str, list[Any]] = {
    "tokens": [*"hello"],
    "indices": [0, 1, 2, 3, 4],
    "indices + 1": [1, 2, 3, 4, 5],
    'tokens == "e" or tokens == "o"': [False, True, False, False, True],
    "aggregate(select(length - indices - 1, indices, ==), tokens)": [*"olleh"],
    "aggregate(full_s, indicator(indices == 0))": [F(1, 5)] * 5,
    "round(1 / aggregate(full_s, indicator(indices == 0)))": [5] * 5,
    "length": [5] * 5,
    "reverse": [*"olleh"],
    # the rest of the language
    '"l" in tokens': [True] * 5,
    '"x" in tokens': [False] * 5,
    'tokens in ["l", "o"]': [False, False, True, True, True],
    "tokens[1]": ["e"] * 5,
    "indices[-1]": [4] * 5,
    "indices[9]": [0] * 5,
    "[5, 6][indices - 2 - 2]": None,
    "[5, 6][indices % 2]": [5, 6, 5, 6, 5],
    "[5, 6, 7, 8, 9][indices - 5]": [5, 6, 7, 8, 9],
    '"abcdef"[indices]': [*"abcde"],
    '{"h": 1, "e": 2, "l": 3, "o": 4}[tokens]': [1, 2, 3, 3, 4],
    '{"h": 1}[tokens]': None,
    "1 if indices == 0 else True": [1, True, True, True, True],
    "1 if indices == 0 else 0.5": [1, F(1, 2), F(1, 2), F(1, 2), F(1, 2)],
    '"a" if indices == 0 else 1': None,
    "indices / 2": [F(0), F(1, 2), F(1), F(3, 2), F(2)],
    "round(indices / 2)": [0, 0, 1, 2, 2],
    "1 / indices": None,
    "indices ^ 2": [0, 1, 4, 9, 16],
    "2 ^ (indices - 2)": [F(1, 4), F(1, 2), 1, 2, 4],
    "indices ^ 0.5": None,
    "indices % 3": [0, 1, 2, 0, 1],
    "-indices": [0, -1, -2, -3, -4],
    "not indices": [True, False, False, False, False],
    "indices and tokens": [False, True, True, True, True],
    'indicator(tokens == "l")': [0, 0, 1, 1, 0],
    "indicator(indices)": [0, 1, 1, 1, 1],
    "tokens + tokens": ["hh", "ee", "ll", "ll", "oo"],
    "tokens * 2": ["hh", "ee", "ll", "ll", "oo"],
    "tokens + 1": None,
    "tokens < indices": None,
    "tokens == indices": [False] * 5,
    "tokens_int": None,
    "tokens_bool": [True] * 5,
    'aggregate(select(indices, indices + 1, ==), tokens, "-")': [*"ello-"],
    "aggregate(select(indices, indices + 1, ==), tokens)": None,
    "aggregate(full_s, tokens)": None,
    'aggregate(full_s, tokens == "l")': None,
    "aggregate(select(indices, 0, ==), tokens)": [*"hhhhh"],
    "aggregate(select(indices, indices, <=), indices)": [0, F(1, 2), F(1), F(3, 2), F(2)],
    "aggregate(not full_s, indices, 0.5)": [F(1, 2)] * 5,
}


@pytest.mark.parametrize(("text", "values"), ON_HELLO.items(), ids=list(ON_HELLO))
def test_an_s_op_on_hello(text: str, values: list[Any] | None) -> None:
    if values is None:
        with pytest.raises(Undefined):
            on(text)
    else:
        got = on(text)
        assert (got, [type(value) for value in got]) == (values, [type(value) for value in values])


@pytest.mark.parametrize(
    ("selector", "matrix"),
    [
        ("select([2, 0, 0][indices], [0, 1, 2][indices], ==)", ["FTT", "FFF", "TFF"]),
        ("select([2, 0, 0][indices], [0, 1, 2][indices], >=)", ["TTT", "TFF", "TFF"]),
        ("select([2, 1, 0][indices], [0, 1, 2][indices], ==)", ["FFT", "FTF", "TFF"]),
        ("select(indices, indices, <)", ["FFF", "TFF", "TTF"]),
        ("select(indices, 1, !=)", ["TFT", "TFT", "TFT"]),
        ("not select(indices, indices, <=)", ["FTT", "FFT", "FFF"]),
        ("select(indices, indices, <=) and select(indices, 1, >=)", ["FFF", "FTF", "FTT"]),
        ("select(indices, indices, <) or select(indices, indices, >)", ["FTT", "TFT", "TTF"]),
    ],
)
def test_a_selector_has_a_row_per_query_and_keys_come_first(selector: str, matrix: list[str]) -> None:
    assert rows(selector, "ABC") == matrix


def test_aggregate_takes_the_mean_the_default_and_the_very_value() -> None:
    sel = "select([2, 0, 0][indices], [0, 1, 2][indices], ==)"
    assert on(f"aggregate({sel}, [1, 2, 4][indices])", "abc") == [3, 0, 1]
    flip = "select([2, 1, 0][indices], [0, 1, 2][indices], ==)"
    assert on(f"aggregate({flip}, tokens)", "ABC") == ["C", "B", "A"]


@pytest.mark.parametrize(
    ("word", "counts"), [("§hello", [0, 1, 1, 2, 2, 1]), ("§abccc", [0, 1, 1, 3, 3, 3]), ("§aba", [0, 2, 1, 2])]
)
def test_the_histogram_of_the_slides(word: str, counts: list[int]) -> None:
    text = """
    same_token = select(tokens, tokens, ==) or select(indices, 0, ==);
    frac_with_0 = aggregate(same_token, indicator(indices == 0));
    answer = round(1 / frac_with_0) - 1;
    """
    assert on(text, word) == counts == on("hist_bos;", word)
    assert on(text + "last = frac_with_0;", "§hello") == [
        1, F(1, 2), F(1, 2), F(1, 3), F(1, 3), F(1, 2),
    ]  # fmt: skip


def test_what_is_undefined_says_where() -> None:
    made = program("a = indices + 1;\nb = 6 / (indices - 2);\nc = b + a;")
    with pytest.raises(Undefined) as raised:
        evaluate(made, "hello")
    assert (raised.value.node, raised.value.position) == (made.sops["b"], 2)
    assert evaluate(made, "ab").values[made.sop] == (-2, -4)
    found = attempt(made.sops.values(), "hello")
    assert found[made.sops["a"]] == (1, 2, 3, 4, 5)
    assert found[made.sops["c"]] is found[made.sops["b"]]
    assert isinstance(found[made.sops["c"]], Undefined)


def test_tokens_are_converted() -> None:
    assert on("tokens_int + 1", [1, "2", F(7, 2), True]) == [2, 3, 4, 2]
    assert on("tokens_float", ["1e1", "0.5", 2, True]) == [10, F(1, 2), 2, 1]
    assert on("tokens_bool", ["", "a", 0, F(1, 2)]) == [False, True, False, True]
    assert on("tokens_str", ["a", 1, F(1, 2), True]) == ["a", "1", "0.5", "True"]
    assert on("tokens_asis", [1, F(1, 2)]) == [1, F(1, 2)]


@pytest.mark.slow
def test_two_thousand_s_ops_are_evaluated_without_recursion() -> None:
    made = program("a = indices;\n" + "a = a + 1;\n" * 2000)
    assert evaluate(made, "ab").values[made.sop] == (2000, 2001)
