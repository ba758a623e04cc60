"""Shipped formulas and programs on long words: the evaluator of many words beside plain functions of a word."""

from __future__ import annotations

from random import Random

import pytest

from tests.sources.logic.plain import AT_THE_END, FORMULAS, PLAIN, PROGRAMS
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.library import load
from tm2tfr.sources.logic.program import LogicProgram

SHORT = {"prime-count": 16}
"""Where the plain function knows small numbers alone."""


def words(program: LogicProgram, number: int, n: int) -> list[tuple[str, ...]]:
    """Return random words: nearly balanced ones of brackets; otherwise in runs, so that counts differ and tokens repeat."""
    random, tokens = Random(program.name), program.alphabet
    brackets = tokens[0] == "("
    found = []
    for _ in range(number):
        word: list[str] = []
        stack: list[str] = []
        while len(word) < n:
            if brackets and random.random() < 0.98:
                opening = len(stack) < min(8, n - len(word)) and (not stack or random.random() < 0.5)
                token = random.choice(tokens[::2]) if opening else tokens[tokens.index(stack.pop()) + 1]
                stack += [token] * opening
                word.append(token)
            else:
                word += [random.choice(tokens)] * (1 if brackets else random.choice((1, 1, 2, 5)))
        found.append(tuple(word[:n]))
    return found


@pytest.mark.parametrize("name", [*FORMULAS, *PROGRAMS])
def test_long_words_are_as_a_plain_function_says(name: str) -> None:
    program = load(name).program
    given = words(program, 12, SHORT.get(name, 60))
    many = ManyWords(program.definitions.values(), program.alphabet)(given)
    said = [PLAIN[name](word) for word in given]
    assert [list(many.values(program.root, k)) for k in range(len(given))] == said
    found = evaluate(program.definitions.values(), given[0])
    assert {node: many.values(node, 0) for node in found} == found


@pytest.mark.parametrize("name", AT_THE_END)
def test_long_words_are_as_a_plain_function_says_of_their_end(name: str) -> None:
    program = load(name).program
    given = words(program, 12, 60)
    many = ManyWords([program.root], program.alphabet)(given)
    assert [many.values(program.root, k)[-1] for k in range(12)] == [PLAIN[name](word)[-1] for word in given]


def test_a_word_of_ten_thousand_brackets() -> None:
    program = load("dyck-2-by-depth").program
    half = program.alphabet[::2] * 3
    other = tuple(program.alphabet[program.alphabet.index(token) + 1] for token in reversed(half))
    word = (half + other) * (10_000 // (2 * len(half)))
    found = ManyWords([program.root], program.alphabet)([word]).values(program.root, 0)
    assert [n for n, bit in enumerate(found, 1) if bit] == list(range(2 * len(half), len(word) + 1, 2 * len(half)))
