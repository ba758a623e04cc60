"""Misprint 11: iterating the basic induction head is not the k-hop induction head."""

from __future__ import annotations

from tests.sources.logic.printed.model import words


def hop(word: str, carried: str) -> str:
    """Return, at each i, what `carried` is one after the latest j < i with the token of i; ``?`` where there is none."""
    found = (next((carried[j + 1] for j in reversed(range(i)) if word[j] == word[i]), "?") for i in range(len(word)))
    return "".join(found)


def two_hops(word: str, i: int) -> str:
    """Return the answer of the 2-hop induction head, by positions: Sanford et al.'s definition."""
    at = i
    for _ in range(2):
        found = next((j + 1 for j in reversed(range(at)) if word[j] == word[at]), None)
        if found is None:
            return "?"
        at = found
    return word[at]


def test_misprint_11_two_hops_are_not_one_hop_of_the_answers_of_one_hop() -> None:
    tried = list(words("abc", 6))
    wanted = ["".join(two_hops(word, i) for i in range(len(word))) for word in tried]
    carried = [hop(word, hop(word, word)) for word in tried]
    iterated = [hop(hop(word, word), hop(word, word)) for word in tried]
    assert carried == wanted, "the answer of the first hop is carried by the same attention"
    assert sum(x != y for x, y in zip(iterated, wanted, strict=True)) > 0
    witness = tried.index("ababb")
    assert (iterated[witness][4], wanted[witness][4]) == ("a", "b")
