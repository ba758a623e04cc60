"""Misprint 6: Appendix E sums in(i) where it means in(j), and rejects everything."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sources.logic.printed.model import words

PAIRS = {"()": 1, "()[]": 2}
"""Alphabet -> k."""


def member(word: str) -> bool:
    """Whether a word is in Dyck-k, with a stack."""
    stack: list[str] = []
    for token in word:
        if token in "([":
            stack.append(token)
        elif not stack or stack.pop() + token not in ("()", "[]"):
            return False
    return not stack


def appendix_e(word: str, summed: Callable[[int, int], int]) -> list[bool]:
    """Return out(1), …, out(n), line by line; `summed` is which of i and j the prefix sums read."""
    n = len(word)

    def psum(bracket: str, i: int) -> int:
        return sum(word[summed(i, j)] in bracket for j in range(i + 1))

    sleft, sright = ([psum(bracket, i) for i in range(n)] for bracket in ("([", ")]"))
    er1 = [sright[i] > sleft[i] for i in range(n)]
    diff = [sleft[i] - sright[i] for i in range(n)]
    d = [diff[i] + (word[i] in ")]") for i in range(n)]
    check = [next((word[j] for j in reversed(range(i)) if d[j] == d[i]), "?") for i in range(n)]
    er2 = [word[i] in ")]" and check[i] + word[i] not in ("()", "[]") for i in range(n)]
    okprefix = [not any(er1[j] or er2[j] for j in range(i + 1)) for i in range(n)]
    return [okprefix[i] and diff[i] == 0 for i in range(n)]


def printed(i: int, j: int) -> int:
    return i


def repaired(i: int, j: int) -> int:
    return j


@pytest.mark.parametrize(("alphabet", "longest", "members"), [("()", 8, 22), ("()[]", 6, 50)])
def test_as_printed_every_member_is_rejected(alphabet: str, longest: int, members: int) -> None:
    found = [word for word in words(alphabet, longest) if member(word)]
    rejected = [word for word in found if not appendix_e(word, printed)[-1]]
    assert rejected == found
    assert (rejected[0], len(rejected)) == ("()", members)


@pytest.mark.parametrize(("alphabet", "longest", "number"), [("()", 8, 510), ("()[]", 6, 5460)])
def test_repaired_no_word_is_wrong(alphabet: str, longest: int, number: int) -> None:
    tried = list(words(alphabet, longest))
    assert len(tried) == number
    assert [word for word in tried if appendix_e(word, repaired)[-1] != member(word)] == []


def test_repaired_every_prefix_is_judged() -> None:
    word = "([]())[]"
    assert appendix_e(word, repaired) == [member(word[: i + 1]) for i in range(len(word))]
