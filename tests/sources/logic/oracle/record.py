"""Random past formulas with what MONA says of them, by way of ltlf2dfa.

`python -m tests.sources.logic.oracle.record` writes `past.txt`; it needs ltlf2dfa (pip) and MONA (apt), here 2.0.0 and
1.4-18. Each line is a formula: the alphabet of its words, its truth at the end of each word, and its text. The words
are all of up to 6 letters (2 letters in the alphabet) or 4 (3 letters), shorter ones first, in the order of the
alphabet; true is 1, the first word the highest bit of the number, which is hexadecimal. A past formula at position i of
a word is the formula at the end of its first i letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count, product
from pathlib import Path
from random import Random
from typing import Any

FILE = Path(__file__).with_name("past.txt")
LONGEST = {"ab": 6, "abc": 4}
NUMBER = 500
Tree = tuple[Any, ...]
"""An operator and what it is applied to, or ("Q", letter)."""

OURS = {
    "!": "!{0}",
    "&": "({0} & {1})",
    "|": "({0} | {1})",
    "->": "({0} -> {1})",
    "<->": "({0} <-> {1})",
    "prev": "prev {0}",
    "once": "once {0}",
    "historically": "historically {0}",
    "since": "({0} since {1})",
    "S": "({0} S {1})",
}
THEIRS = {
    **OURS,
    "!": "!({0})",
    "prev": "Y({0})",
    "once": "O({0})",
    "historically": "H({0})",
    # ours has the left operand hold at the moment of the right one as well (Definition 14), the usual one has not
    "since": "(({0}) S (({0}) & ({1})))",
    "S": "(({0}) S ({1}))",
}
BINARY = ("&", "|", "->", "<->", "since", "S")


def words(alphabet: str) -> Iterator[str]:
    """Yield all words whose truth is recorded, in that order."""
    for n in range(1, LONGEST[alphabet] + 1):
        yield from map("".join, product(alphabet, repeat=n))


def tree(random: Random, alphabet: str, depth: int) -> Tree:
    """Return a random formula, with at most `depth` operators above each letter."""
    if depth == 0 or random.random() < 0.15:
        return "Q", random.choice(alphabet)
    operator = random.choice(("!", "&", "|", "->", "<->", "prev", "prev", "once", "historically", "since", "S", "S", "S"))
    return operator, *(tree(random, alphabet, depth - 1) for _ in range(1 + (operator in BINARY)))


def written_as(node: Tree, templates: dict[str, str], letter: str) -> str:
    """Return a formula as text."""
    operator, *parts = node
    if operator == "Q":
        return letter.format(parts[0])
    return templates[operator].format(*(written_as(part, templates, letter) for part in parts))


def automaton(text: str) -> str:
    """Return what MONA prints of a formula, in the syntax of ltlf2dfa."""
    from ltlf2dfa.parser.ppltl import PPLTLParser  # type: ignore[import-not-found]

    return str(PPLTLParser()(text).to_dfa(mona_dfa_out=True))


def accepted(printed: str, alphabet: str) -> str:
    """Return the truth of each word by the automaton that MONA printed, as a hexadecimal number."""
    free = re.search(r"free variables:(.*)", printed)
    accepting = re.search(r"Accepting states:(.*)", printed)
    if free is None or accepting is None:
        raise ValueError(f"MONA did not say what the automaton is: {printed!r}")
    letters = free[1].lower().split()
    rules: dict[str, list[tuple[str, str]]] = {}
    for state, guard, to in re.findall(r"State (\d+): ?([01X]*) -> state (\d+)", printed):
        rules.setdefault(state, []).append((guard, to))

    def step(state: str, bits: str) -> str:
        (to,) = [to for guard, to in rules[state] if all(g in ("X", b) for g, b in zip(guard, bits, strict=True))]
        return to

    truth = ""
    for word in words(alphabet):
        state = step("0", "0" * len(letters))  # the first step reads no letter
        for letter in word:
            state = step(state, "".join(str(int(letter == each)) for each in letters))
        truth += str(int(state in accepting[1].split()))
    return f"{int(truth, 2):0{-(-len(truth) // 4)}x}"


def lines(number: int) -> Iterator[str]:
    """Yield the lines of the first formulas, no two of which are true of the same words."""
    known: set[tuple[str, str]] = set()
    for seed in count():
        random = Random(seed)
        alphabet = random.choice(("ab", "ab", "abc"))
        found = tree(random, alphabet, random.choice((3, 4, 5, 6)))
        text = written_as(found, OURS, "Q[{}]")
        if len(text) > 300:
            continue
        truth = accepted(automaton(written_as(found, THEIRS, "{}")), alphabet)
        if (alphabet, truth) not in known:
            known.add((alphabet, truth))
            yield f"{alphabet} {truth} {text}"
        if len(known) == number:
            return


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in lines(NUMBER)), encoding="utf-8")
