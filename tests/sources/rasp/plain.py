"""What each shipped program computes, as a plain Python function: written from its title, with loops, slices and `sorted`.

A function takes an input and returns the value at each position; None where the program is undefined there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import multimode
from typing import Any

from tests.recordings import Recordings

Function = Callable[[Sequence[Any]], Sequence[Any] | None]
PLAIN: Recordings[Function] = Recordings(
    of="what a program computes, as a plain function", make="add its function to tests/sources/rasp/plain.py"
)
"""By the name of the shipped program."""
MEANT: dict[str, Callable[[Sequence[Any]], bool]] = {
    "long-addition": lambda w: w.count("+") <= 1,
    "looped-addition": lambda w: w.count("+") <= 1,
    "binary-addition": lambda w: w.count("+") <= 1,
    "double-histogram": lambda w: w[0] == "§" and w.count("§") == 1,
}
"""What inputs are, where a function says nothing about the others."""


def _plain(name: str) -> Callable[[Function], Function]:
    def keep(function: Function) -> Function:
        PLAIN[name] = function
        return function

    return keep


def _everywhere(name: str) -> Callable[[Callable[[Sequence[Any]], Any]], None]:
    """Keep a function whose value stands at every position."""

    def keep(function: Callable[[Sequence[Any]], Any]) -> None:
        PLAIN[name] = lambda w: [function(w)] * len(w)

    return keep


def _each(name: str) -> Callable[[Callable[[Sequence[Any], int], Any]], None]:
    """Keep a function of the input and a position."""

    def keep(function: Callable[[Sequence[Any], int], Any]) -> None:
        PLAIN[name] = lambda w: [function(w, i) for i in range(len(w))]

    return keep


def _prefix(name: str) -> Callable[[Callable[[Sequence[Any]], Any]], None]:
    """Keep a function of the input up to a position, itself included."""

    def keep(function: Callable[[Sequence[Any]], Any]) -> None:
        PLAIN[name] = lambda w: [function(w[: i + 1]) for i in range(len(w))]

    return keep


_each("elementwise")(lambda w, i: w[i] in "eo")
_everywhere("length")(len)
PLAIN["reverse"] = lambda w: w[::-1]
_each("histogram")(lambda w, i: w[1:].count(w[i]))
_each("histogram-without-bos")(lambda w, i: w.count(w[i]))
_each("selector-width")(lambda w, i: sum(token != w[i] for token in w))
PLAIN["sort"] = sorted
PLAIN["sort-unique"] = lambda w: sorted(w) if len(set(w)) == len(w) else None
PLAIN["sort-by-key"] = lambda w: sorted(w, key="a1b".index)
PLAIN["sort-by-value"] = lambda w: sorted(w, reverse=True)
PLAIN["unshuffle"] = lambda w: [*w[::2], *w[1::2]]
PLAIN["sort-by-frequency"] = lambda w: sorted(w, key=lambda token: -w.count(token))
_everywhere("mode")(lambda w: multimode(w)[0])
_prefix("pair-balance")(lambda w: Fraction(w.count("(") - w.count(")"), len(w)))
_prefix("fraction-of-previous")(lambda w: Fraction(w.count("a"), len(w)))
_everywhere("parity")(lambda w: w.count("1") % 2 == 0)
_prefix("running-parity")(lambda w: w.count("1") % 2)
_prefix("looped-parity")(lambda w: w.count("1") % 2)
PLAIN["shift"] = lambda w: ["-", *w[:-1]]
PLAIN["rotate"] = lambda w: [*w[1:], w[0]]
_each("pointer")(lambda w, i: w[w[i]] if w[i] < len(w) else -1)
_each("mark-last")(lambda w, i: w[i] == "a" and "a" not in w[i + 1 :])
_each("mark-first")(lambda w, i: w[i] not in w[:i])
PLAIN["deduplicate"] = lambda w: [*dict.fromkeys(w), *"_" * len(w)][: len(w)]
_everywhere("distinct")(lambda w: len(set(w)))
_everywhere("contains")(lambda w: "a" in w)
_everywhere("count")(lambda w: w.count("a"))
_everywhere("count-rare")(lambda w: sum(n for n in Counter(w).values() if n == 1))
_everywhere("majority")(lambda w: w.count("1") > w.count("0"))
_everywhere("same-ends")(lambda w: w[0] == w[-1])
_everywhere("palindrome")(lambda w: list(w) == list(w)[::-1])
_everywhere("doubled-word")(lambda w: list(w[: len(w) // 2]) * 2 == list(w))
_everywhere("equal-blocks")(lambda w: list(w) == [*"a" * (len(w) // 2), *"b" * (len(w) // 2)])
_everywhere("divisible-by-3")(lambda w: int("".join(w), 2) % 3 == 0)
_each("detect-pattern")(lambda w, i: "".join(w[: i + 1]).endswith("abc"))
_prefix("running-maximum")(lambda w: int(max(w)))
_prefix("mean")(lambda w: Fraction(sum(map(int, w)), len(w)))
PLAIN["reverse-complement"] = lambda w: "".join(w)[::-1].translate(str.maketrans("ACGT", "TGCA"))


@_plain("select-and-aggregate")
def _select_and_aggregate(w: Sequence[str]) -> Sequence[Any]:
    found = [[[1, 2, 4][min(k, 2)] for k, token in enumerate(w) if int(token) == q] for q in range(len(w))]
    return [Fraction(sum(values), len(values)) if values else 0 for values in found]


@_plain("double-histogram")
def _double_histogram(w: Sequence[str]) -> Sequence[Any]:
    how_often = Counter(w[1:])
    of_count = Counter(how_often.values())
    return [0, *(of_count[how_often[token]] for token in w[1:])]


@_plain("double-histogram-without-bos")
def _double_histogram_of_positions(w: Sequence[str]) -> Sequence[Any]:
    how_often = [w.count(token) for token in w]
    return [how_often.count(n) for n in how_often]


@_plain("sort-with-bos")
def _sort_with_bos(w: Sequence[str]) -> Sequence[Any]:
    return [w[0], *sorted(w[1:])]


@_plain("most-frequent")
def _most_frequent(w: Sequence[str]) -> Sequence[Any]:
    seen = Counter(token for token in w[1:])
    once = [token for i, token in enumerate(w) if i and token not in w[:i]]
    best = sorted(once, key=lambda token: -seen[token])
    return [w[0], *best, *"§" * (len(w) - 1 - len(best))]


def _verdicts(w: Sequence[str], pairs: Sequence[str]) -> Sequence[str]:
    """A stack, as everybody would do it."""
    closes, stack, answers, lost = {pair[1]: pair[0] for pair in pairs}, [], [], False
    for token in w:
        if token not in closes:
            stack.append(token)
        elif not stack or stack.pop() != closes[token]:
            lost = True
        answers.append("F" if lost else "P" if stack else "T")
    return answers


PLAIN["dyck-1"] = lambda w: _verdicts(w, ["()"])
PLAIN["dyck-2"] = lambda w: _verdicts(w, ["()", "{}"])
PLAIN["dyck-3"] = lambda w: _verdicts(w, ["()", "{}", "[]"])
_everywhere("shuffle-dyck-1")(lambda w: _verdicts(w, ["()"])[-1] == "T")
_everywhere("shuffle-dyck-2")(
    lambda w: all((_verdicts([t for t in w if t in pair], [pair]) or "T")[-1] == "T" for pair in ("()", "{}"))
)


def _added(w: Sequence[str], base: int) -> Sequence[int]:
    """Schoolbook addition; a number without digits is 0."""
    first, _, second = "".join(w).rpartition("+")
    total, digits = int(first or "0", base) + int(second or "0", base), []
    for _ in w:
        total, digit = divmod(total, base)
        digits.append(digit)
    return digits[::-1]


PLAIN["long-addition"] = lambda w: _added(w, 10)
PLAIN["looped-addition"] = lambda w: _added(w, 10)
PLAIN["binary-addition"] = lambda w: _added(w, 2)


@_plain("induction-head")
def _induction_head(w: Sequence[str]) -> Sequence[str]:
    answers = []
    for i, token in enumerate(w):
        before = [k for k in range(i) if w[k] == token]
        answers.append(w[before[-1] + 1] if before else "-")
    return answers


@_plain("swap-neighbours")
def _swap_neighbours(w: Sequence[str]) -> Sequence[str]:
    swapped = list(w) + ["-"] * (len(w) % 2)
    swapped[::2], swapped[1::2] = swapped[1::2], swapped[::2]
    return swapped[: len(w)]


@_plain("flip-flop")
def _flip_flop(w: Sequence[str]) -> Sequence[str]:
    answers, bit = [], "."
    for token in w:
        bit = bit if token == "." else token
        answers.append(bit)
    return answers


@_plain("run-length")
def _run_length(w: Sequence[str]) -> Sequence[int]:
    lengths: list[int] = []
    for i, token in enumerate(w):
        lengths.append(lengths[-1] + 1 if i and w[i - 1] == token else 1)
    return lengths


@_plain("smooth")
def _smooth(w: Sequence[str]) -> Sequence[int]:
    padded = ["0", *w, "0"]
    return [int(sorted(padded[i : i + 3])[1]) for i in range(len(w))]
