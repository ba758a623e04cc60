"""The evaluator of many words beside the one by the printed definitions, cell by cell."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.sources.logic.random_formulas import EVERYTHING, PAST_LTL, Kinds, constant, random_programs, words_of
from tests.strategies import tries
from tm2tfr.base.text.words import all_words
from tm2tfr.sources.logic import nodes as logic
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.nodes import Build, Node


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "number", "longest"),
    [(EVERYTHING, 400, 5), (PAST_LTL, 200, 5), (Kinds(alphabet=("x", "yz", "["), size=10), 200, 3)],
    ids=["everything", "past LTL", "three tokens"],
)
def test_both_evaluators_agree_on_all_short_words(kinds: Kinds, number: int, longest: int) -> None:
    for program in random_programs(tries(number), kinds):
        many = ManyWords([program.root], kinds.alphabet)
        for n in range(1, longest + 1):
            words = list(all_words(kinds.alphabet, n))
            rows = many(words)
            assert np.array_equal(rows.rows[program.root], many.run(words_of(len(kinds.alphabet), n)).rows[program.root])
            for k, word in enumerate(words):
                assert {node: rows.values(node, k) for node in program.nodes} == evaluate(program, word), (program, word)


def test_a_long_word_is_looked_at_in_parts() -> None:
    build = Build()
    bit = build(logic.OneOf, of=build(logic.Input), values=("a",))
    count = build(logic.CountLeft, of=bit)
    same = build(
        logic.Retrieve,
        choice="latest",
        sight="<",
        score=logic.Equal(count, count),
        values=bit,
        default=build(logic.Always, value=True),
    )
    given = np.random.default_rng(5).integers(0, 2, (1, 3_000))
    found = ManyWords([same], "ab").run(given)
    # the same count before: then this is a b, and the position before is of the same count
    after = given[0, 1:] == 1
    assert found.rows[same][0].tolist() == [True, *np.where(after, given[0, :-1] == 0, True).tolist()]


def test_random_formulas_say_something() -> None:
    """Nearly all roots, and most nodes, are not the same everywhere; every operator comes up."""
    programs = list(random_programs(200))
    operators: Counter[type[Node]] = Counter(type(node) for program in programs for node in program.nodes)
    assert sum(constant(program.root, "ab") for program in programs) <= 4
    assert len({type(program.root) for program in programs}) >= 10
    assert min(operators[kind] for kind in Node.__subclasses__()) >= 8
    left = [node for program in random_programs(100, Kinds(past_only=True)) for node in program.nodes]
    assert not any(map(logic.looks_right, left))
