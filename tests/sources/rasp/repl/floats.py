"""Where the authors' interpreter is wrong because it computes with floats, which RASP's numbers are not.

A third is not a float, nor is a tenth: a count's fraction times the length can miss the count by one unit in the last
place. Whoever rounds such a product at once never sees it; whoever compares it does. In a case, `text` is the program,
`input` one on which its s-op `sop` comes out wrong, `right` the values there in rationals, `why` the reason. The recorder
adds `repl`, what the interpreter says.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

_FRACTION = 'length * aggregate(full_s, indicator(tokens == "a"))'


def _case(sop: str, text: str, word: str | list[float], right: list[str], why: str) -> dict[str, Any]:
    return {"sop": sop, "text": text, "input": list(word), "right": right * (len(word) // len(right)), "why": why}


CASES = [
    _case("is_one", "is_one = length * (1 / length) == 1;", "a" * 49, ["T"], "49 * (1/49) is 0.9999999999999999"),
    _case("is_one", "is_one = length * (1 / length) == 1;", "a" * 98, ["T"], "likewise 98"),
    _case("is_one", "is_one = length * (1 / length) == 1;", "a" * 103, ["T"], "likewise 103"),
    _case("is_more", "is_more = 1 / (1 / length) > length;", "a" * 49, ["F"], "1/(1/49) is 49.00000000000001"),
    _case(
        "how_many", f"how_many = {_FRACTION};", "a" * 15 + "b" * 7, ["15"], "22 * (15/22) is 14.999999999999998: round it"
    ),
    _case("is_15", f"is_15 = {_FRACTION} == 15;", "a" * 15 + "b" * 7, ["T"], "the same, compared"),
    _case(
        "found",
        f"at_15 = select({_FRACTION}, 15, ==);\nfound = aggregate(at_15, 1, 0);",
        "a" * 15 + "b" * 7,
        ["1"],
        "the same in a selector, which then selects nothing",
    ),
    _case(
        "is_whole",
        "so_far = select(indices, indices, <=);\n"
        'is_whole = (indices + 1) * aggregate(so_far, indicator(tokens == "a")) % 1 == 0;',
        "a" * 15 + "b" * 7,
        ["T"],
        "the same at the last position: a remainder of 0.999…",
    ),
    _case(
        "is_middle",
        "mine = aggregate(select(tokens, tokens, ==), indices);\nis_middle = aggregate(full_s, mine) == (length - 1) / 2;",
        "aaba",
        ["T"],
        "a mean of means: 3 * (4/3) + 2 is 5.999…",
    ),
    _case(
        "is_a_third",
        "is_a_third = aggregate(full_s, indices / 3) * 3 == aggregate(full_s, indices);",
        "a" * 26,
        ["T"],
        "a sum of thirds, each rounded",
    ),
    _case(
        "is_tenth",
        "is_tenth = 0.1 * indices == indices / 10;",
        "abcd",
        ["T"],
        "0.1 is not a tenth: 3 * 0.1 is 0.30000000000000004",
    ),
    _case(
        "rest",
        "rest = indices * 1.1 - indices;",
        "abcd",
        ["0", "1/10", "1/5", "3/10"],
        "1.1 is not eleven tenths, and the error shows",
    ),
    _case(
        "rounded",
        "rounded = round(indices * 2.18);",
        "a" * 26,
        [str(round(Fraction(218, 100) * i)) for i in range(26)],
        "25 * 2.18 is 54.50000000000001, no half to be rounded to even",
    ),
    _case(
        "mean",
        "set example [1]\nmean = aggregate(full_s, tokens_asis);",
        [0.1, 0.2, 0.3],
        ["1/5"],
        "the mean of 0.1, 0.2 and 0.3",
    ),
]
