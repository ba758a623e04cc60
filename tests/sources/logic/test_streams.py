"""Every number of the stream, and every place of a head, is what the specification says, in exact arithmetic."""

from __future__ import annotations

from itertools import product

import pytest

from tests.sources.logic.compiling import weights
from tests.sources.logic.random_formulas import EVERYTHING, PAST_LTL, Kinds, random_programs
from tests.strategies import tries
from tm2tfr.contract.options import LogicOptions
from tm2tfr.contract.specification import written
from tm2tfr.engines.decode import observe_all
from tm2tfr.engines.exact import Exact
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.library import load, shipped
from tm2tfr.sources.logic.model.specification import LogicSpecification
from tm2tfr.sources.logic.nodes import Always, Build, Input, Node, Not, OneOf, Previous, Since, Until
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.read import read
from tm2tfr.transformer.weights import Decoder


def written_by(decoder: Decoder) -> dict[tuple[int, str], list[bool]]:
    """Whether there is anything in each coordinate of the stream, (width,), after each part of each layer."""
    parts = [(-1, "embedding")]
    parts += [(layer, part) for layer in range(len(decoder.layers)) for part in ("attention", "feed_forward")]
    spaces = [subspace for subspace in decoder.layout.subspaces for _ in range(subspace.width)]
    return {(layer, part): [written(subspace, layer, part) for subspace in spaces] for layer, part in parts}


def streamed(program: LogicProgram, longest: int, options: LogicOptions | None = None) -> int:
    """Compare the streams of all words of up to so many tokens; return the number of numbers compared."""
    decoder, compared = weights(program, options or LogicOptions()), 0
    there = written_by(decoder)
    for length in range(1, longest + 1):
        for word in product(program.alphabet, repeat=length):
            specification = LogicSpecification.of(word, evaluate(program, word), decoder)
            assert specification.covers(decoder.layout), program
            for i, seen in enumerate(observe_all(decoder, specification.tokens, engine=Exact())):
                whole = specification.stream(decoder.layout, i, len(decoder.layers), "feed_forward")
                for layer, part, residual in seen.stages:
                    due = [x if there else 0 for x, there in zip(whole, there[layer, part], strict=True)]
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
    "small": (LogicOptions(), EVERYTHING, 8),
    "large": (LogicOptions(), Kinds(size=30), 3),
    "sign": (LogicOptions(compare="sign"), EVERYTHING, 8),
    "paper": (LogicOptions(variant="paper"), PAST_LTL, 8),
    "steep": (LogicOptions(steep=True), PAST_LTL, 8),
    "whole words": (LogicOptions(mask="none"), PAST_LTL, 8),
    "strange tokens": (LogicOptions(), Kinds(alphabet=("  ", 'a "b" | s1', "\\")), 8),
}


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_shipped_formulas_and_programs_on_all_short_words(name: str) -> None:
    program = load(name).program
    assert streamed(program, {2: 5, 3: 3, 4: 3}.get(len(program.alphabet), 2)) > 5_000


@pytest.mark.parametrize(("choice", "sight"), [("latest", "<="), ("earliest", ">=")])
@pytest.mark.parametrize("score", ["Q_b(j)", "!(Q_b(j) & p(j))"])
def test_what_is_retrieved_like_since_and_until(choice: str, sight: str, score: str) -> None:
    text = (
        f"# alphabet: ab\np(i) = latest_j [j < i] Q_a(j) : false\nx(i) = {choice}_j [j {sight} i, {score}] p(j) : false\n"
    )
    program = read(text, file="x.srasp").program
    assert {head.claim.attends.split()[0] for layer in weights(program).layers for head in layer.heads if head.claim} >= {
        "since" if choice == "latest" else "until"
    }
    assert streamed(program, 4) > 500
