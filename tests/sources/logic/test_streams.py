"""Every number of the stream, and every place of a head, is what the specification says, in exact arithmetic."""

from __future__ import annotations

from itertools import product

import pytest

from tests.sources.logic.compiling import weights
from tests.sources.logic.random_formulas import EVERYTHING, PAST_LTL, Kinds, random_programs
from tests.strategies import tries
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.watching import observe_all
from tm2tfr.sources.logic.build import Build
from tm2tfr.sources.logic.compiler import LogicOptions
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.nodes import Always, Input, Node, Not, OneOf, Previous, Since, Until
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.specification import LogicSpecification


def streamed(program: LogicProgram, longest: int, options: LogicOptions | None = None) -> int:
    """Compare the streams of all words of up to so many tokens; return the number of numbers compared."""
    decoder, compared = weights(program, options or LogicOptions()), 0
    for length in range(1, longest + 1):
        for word in product(program.alphabet, repeat=length):
            specification = LogicSpecification.of(word, evaluate(program, word), decoder)
            assert specification.covers(decoder.layout), program
            for i, seen in enumerate(observe_all(decoder, specification.tokens, engine=Exact())):
                for layer, part, residual in seen.stages:
                    due = specification.stream(decoder.layout, i, layer, part)
                    assert list(residual) == due, (program, word, i, layer, part)
                    compared += len(due)
                for (layer, k), (_, attended) in seen.heads.items():
                    claim = decoder.layers[layer].heads[k].claim
                    assert claim is not None
                    assert tuple(specification.attended(claim.attends, i)) == tuple(attended), (program, word, i, claim)
    return compared


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_random_formulas_over_all_operators_on_all_words_to_length_5(part: int) -> None:
    assert sum(streamed(program, 5) for program in random_programs(tries(100), start=1_000 * part)) > 100_000


VARIANTS = {
    "small": (LogicOptions(), EVERYTHING, 5),
    "large": (LogicOptions(), Kinds(size=30), 2),
    "sign": (LogicOptions(compare="sign"), EVERYTHING, 4),
    "paper": (LogicOptions(variant="paper"), PAST_LTL, 8),
    "steep": (LogicOptions(steep=True), PAST_LTL, 8),
    "whole words": (LogicOptions(mask="none"), PAST_LTL, 8),
    "strange tokens": (LogicOptions(), Kinds(alphabet=("  ", 'a "b" | s1', "\\")), 8),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_formulas_of_every_variant_on_short_words(variant: str) -> None:
    options, kinds, number = VARIANTS[variant]
    longest = 2 if len(kinds.alphabet) > 2 or kinds.size > 6 else 3
    assert sum(streamed(program, longest, options) for program in random_programs(number, kinds, start=7_000)) > 1_000


def formula(root: Node) -> LogicProgram:
    return LogicProgram(name="f", text="", language="tl", definitions={"": root}, chosen="", alphabet=("a", "b"))


def test_what_is_never_true_needs_no_head() -> None:
    make = Build()
    never, a = make(Always, value=False), make(OneOf, of=make(Input), values=("a",))
    for root in (make(Since, left=never, right=a), make(Until, left=never, right=a), make(Previous, of=never)):
        program = formula(make(Not, of=root))
        assert weights(program).heads == 0
        assert streamed(program, 3) > 0
