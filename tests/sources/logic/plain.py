"""What the shipped formulas and programs are meant to be, as plain functions of a word: a value for each position."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import isqrt

from tests.recordings import Recordings

Word = Sequence[str]
Plain = Callable[[Word], list[object]]


def prefixes(of: Callable[[str], object]) -> Plain:
    """Return the function that asks about each prefix."""
    return lambda word: [of("".join(word[: n + 1])) for n in range(len(word))]


def matching(pattern: str) -> Plain:
    """Return whether each prefix is in a regular language."""
    return prefixes(lambda prefix: re.fullmatch(pattern, prefix) is not None)


def suffixes(of: Callable[[str], object]) -> Plain:
    return lambda word: [of("".join(word[n:])) for n in range(len(word))]


def flip_flops(word: Word) -> list[object]:
    bit, right, found = "", True, []
    for token in word:
        bit = token[1] if token[0] == "w" else bit
        right = right and token[1] == bit
        found.append(right)
    return found


def balanced(brackets: str) -> Plain:
    """Return whether each prefix is a word of balanced brackets, by a stack."""

    def of(prefix: str) -> bool:
        stack: list[str] = []
        for token in prefix:
            if brackets.index(token) % 2 == 0:
                stack.append(token)
            elif not stack or brackets.index(stack.pop()) != brackets.index(token) - 1:
                return False
        return not stack

    return prefixes(of)


def shuffled(prefix: str) -> bool:
    """Return whether the brackets of each kind are balanced, without regard to the other."""
    for opening, closing in ("()", "[]"):
        depths = [prefix[:n].count(opening) - prefix[:n].count(closing) for n in range(len(prefix) + 1)]
        if min(depths) < 0 or depths[-1]:
            return False
    return True


def hops(word: Word, start: int, k: int) -> str:
    """Return the token at which `k` hops from a position end: each to behind the previous occurrence of the token there."""
    at = start
    for _ in range(k):
        seen = [j for j in range(1, at + 1) if word[j - 1] == word[at]]
        if not seen:
            return "?"
        at = seen[-1]
    return word[at]


def hopping(k: int) -> Plain:
    return lambda word: [hops(word, i, k) for i in range(len(word))]


def recall(word: Word) -> list[object]:
    found: list[object] = []
    for i, token in enumerate(word):
        behind = [word[j] for j in range(1, i) if word[j - 1] == token and word[j] in "01"]
        found.append("-" if token in "01" else (behind or ["?"])[-1])
    return found


def last_write(word: Word) -> list[object]:
    bit, found = "?", []
    for token in word:
        bit = bit if token == "." else token
        found.append(bit)
    return found


def successor(word: Word) -> list[object]:
    return [*format((int("".join(word), 2) + 1) % 2 ** len(word), f"0{len(word)}b")]


def seen_bigram(prefix: str) -> bool:
    return len(prefix) > 1 and prefix[-2:] in [prefix[j : j + 2] for j in range(len(prefix) - 2)]


def token_at_count(prefix: str) -> str:
    number = prefix.count("a")
    return prefix[number - 1] if number else "?"


def by_cases(prefix: str) -> bool:
    a, b, c = map(prefix.count, "abc")
    return a + c == b if a < b else a == b


def nearest_mark(word: Word) -> list[object]:
    text = "".join(word)
    left = [(text[: i + 1].replace(".", "") or "<")[-1] for i in range(len(text))]
    right = [(text[i:].replace(".", "") or ">")[0] for i in range(len(text))]
    return [one == other for one, other in zip(left, right, strict=True)]


def after_a(word: Word) -> list[object]:
    """Whether a b comes, and each position from here to it is behind an a."""
    text = "".join(word)
    return [
        any(text[j] == "b" and all(k > 0 and text[k - 1] == "a" for k in range(i, j + 1)) for j in range(i, len(text)))
        for i in range(len(text))
    ]


FORMULAS: dict[str, Plain] = {
    "a-n-b-n": prefixes(lambda w: w == "a" * (len(w) // 2) + "b" * (len(w) // 2)),
    "a-n-b-n-c-n": prefixes(lambda w: w == "".join(token * (len(w) // 3) for token in "abc")),
    "a-star-b-star": matching("a*b*"),
    "ab-star": matching("(ab)*"),
    "after-a-until-b": after_a,
    "contains-abb": matching(".*abb.*"),
    "dyck-1-by-counting": balanced("()"),
    "ends-as-it-begins": prefixes(lambda w: w[0] == w[-1]),
    "ends-in-110": matching(".*110"),
    "every-a-answered": suffixes(lambda w: not w.rstrip("b").endswith("a") or w.endswith("b")),
    "first-is-a": matching("a.*"),
    "flip-flops": flip_flops,
    "induction-bit": lambda word: [hops(word, i, 1) == "a" for i in range(len(word))],
    "more-as-than-bs": prefixes(lambda w: 2 * w.count("a") > len(w)),
    "never-behind": prefixes(lambda w: all(2 * w[:n].count("a") >= n for n in range(len(w) + 1))),
    "no-aa": prefixes(lambda w: "aa" not in w),
    "odd-ones": prefixes(lambda w: w.count("1") % 2 == 1),
    "ones-divisible-by-3": prefixes(lambda w: w.count("1") % 3 == 0),
    "prime-count": prefixes(lambda w: w.count("a") in (2, 3, 5, 7, 11, 13)),
    "shuffled-brackets": prefixes(shuffled),
    "since-b": matching(".*b[ab]*"),
    "square-or-power": prefixes(lambda w: isqrt(len(w)) ** 2 == len(w) or bin(len(w)).count("1") == 1),
    "starts-110": suffixes(lambda w: w.startswith("110")),
    "two-to-three": prefixes(lambda w: 5 * w.count("a") == 3 * len(w)),
}
PROGRAMS: dict[str, Plain] = {
    "associative-recall": recall,
    "balance-by-cases": prefixes(by_cases),
    "dyck-1-by-depth": balanced("()"),
    "dyck-2-by-depth": balanced("()[]"),
    "dyck-3-by-depth": balanced("()[]{}"),
    "hop-1": hopping(1),
    "hop-2": hopping(2),
    "hop-3": hopping(3),
    "last-write": last_write,
    "nearest-mark": nearest_mark,
    "seen-bigram": prefixes(seen_bigram),
    "successor": successor,
    "token-at-count": prefixes(token_at_count),
}
AT_THE_END: dict[str, Plain] = {"odd-ones-without-predicates": prefixes(lambda w: w.count("1") % 2 == 1)}
"""What says something at the last position alone."""
PLAIN: Recordings[Plain] = Recordings(
    {**FORMULAS, **PROGRAMS, **AT_THE_END},
    of="what a formula or program computes, as a plain function",
    make="add its function to tests/sources/logic/plain.py",
)
