"""500 past formulas beside MONA: what it said of them once, and what it says now where it is installed."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from importlib.util import find_spec
from itertools import islice

import pytest

from tests.sources.logic.oracle.record import FILE, LONGEST, NUMBER, OURS, lines, words
from tests.sources.logic.random_formulas import words_of
from tests.strategies import tries
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.read import formula

RECORDED = [line.split(" ", 2) for line in FILE.read_text(encoding="utf-8").splitlines()]


def number(truth: list[bool]) -> str:
    """Return the truth of all words as it is recorded."""
    return f"{int(''.join('FT'[bit] for bit in truth).translate({70: '0', 84: '1'}), 2):0{-(-len(truth) // 4)}x}"


@pytest.mark.slow
def test_500_past_formulas_are_true_where_mona_says() -> None:
    different = []
    for alphabet, truth, text in RECORDED:
        program = formula(text, alphabet=alphabet)
        many, found = ManyWords([program.root], alphabet), []
        for n in range(1, LONGEST[alphabet] + 1):
            found += many.run(words_of(len(alphabet), n)).rows[program.root][:, -1].tolist()
        if number(found) != truth:
            different.append(text)
    assert (len(RECORDED), different) == (500, [])


@pytest.mark.slow
def test_the_printed_definitions_say_the_same_of_all_beginnings() -> None:
    """On the longest words, at every position: there, a past formula is what it is at the end of the word so far."""
    for alphabet, truth, text in RECORDED[: tries(300)]:
        program = formula(text, alphabet=alphabet)
        everything = list(words(alphabet))
        bits = dict(zip(everything, f"{int(truth, 16):0{len(everything)}b}", strict=True))
        for word in everything:
            if len(word) == LONGEST[alphabet]:
                said = [bits[word[:n]] == "1" for n in range(1, len(word) + 1)]
                assert list(evaluate(program, word)[program.root]) == said, (text, word)


def test_what_is_recorded_says_something() -> None:
    used = Counter(each for *_, text in RECORDED for each in re.findall(r"<->|->|[!&|]|\b(?!Q\b)[A-Za-z]{2,}|\bS\b", text))
    assert len({(alphabet, truth) for alphabet, truth, _ in RECORDED}) == NUMBER
    assert set(used) == set(OURS)
    assert min(used.values()) > 100


@pytest.mark.skipif(
    find_spec("ltlf2dfa") is None or shutil.which("mona") is None,
    reason="MONA is not here: install mona (apt) and ltlf2dfa==2.0.0 (pip), and run the tests one by one",
)
def test_mona_says_it_today() -> None:
    assert list(islice(lines(NUMBER), 50)) == FILE.read_text(encoding="utf-8").splitlines()[:50]
