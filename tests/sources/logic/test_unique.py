"""Formulas and B-RASP with leftmost and rightmost heads (`--variant unique`), and what softmax makes of them."""

from __future__ import annotations

import pytest

from tests.sources.logic.random_formulas import PAST_LTL, Kinds, random_programs, words_of
from tests.sources.logic.test_compiled import all_to, compared
from tm2tfr import check, compile, soften
from tm2tfr.base.errors import CompileError
from tm2tfr.contract.options import LogicOptions
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.sources.logic.compiler import compile_program
from tm2tfr.sources.logic.library import load
from tm2tfr.transformer.weights import Decoder

UNIQUE = LogicOptions(variant="unique")


def kinds(decoder: Decoder) -> set[tuple[str, str]]:
    return {(head.weighting, head.mask) for layer in decoder.layers for head in layer.heads}


def test_since_is_rightmost_and_until_leftmost() -> None:
    assert kinds(compile("since-b", variant="unique")) == {("rightmost", "future")}
    assert kinds(compile("every-a-answered", variant="unique")) == {("leftmost", "past")}
    for name in ("since-b", "every-a-answered", "ends-in-110", "starts-110", "induction-bit", "flip-flops"):
        decoder = compile(name, variant="unique")
        assert {weighting for weighting, _ in kinds(decoder)} <= {"leftmost", "rightmost"}
        assert set(decoder.features) <= {"1", "(-1)^i"}  # nothing that grows: streams are finitely many


def test_shipped_formulas_are_right() -> None:
    for name in ("since-b", "starts-110", "flip-flops"):
        program = load(name).program
        assert compared(program, all_to(program, 4), UNIQUE, dtype="float64").failure is None


@pytest.mark.parametrize("word", ["0110", "1", "110101"])
def test_under_softmax(word: str) -> None:
    for temperature in ("auto", "per-position"):
        made = soften(compile("starts-110", variant="unique"), temperature=temperature)  # type: ignore[arg-type]
        assert check(made, word).agrees


@pytest.mark.slow
@pytest.mark.parametrize("past", [False, True])
def test_random_formulas_under_softmax(past: bool) -> None:
    chosen = PAST_LTL if past else Kinds(with_counts=False, with_retrieve=False, with_labels=False)
    for program in random_programs(40, chosen, start=50_000):
        hard = compile_program(program, UNIQUE)
        assert {weighting for weighting, _ in kinds(hard)} <= {"leftmost", "rightmost"}
        if not hard.unique:
            continue
        soft = soften(hard, temperature="per-position")
        for n in (1, 4, 6):
            tokens = words_of(2, n) + 1
            ends = [[0], [len(hard.vocabulary) - 1]] if "EOS" in hard.vocabulary else [[0], []]
            words = [[*ends[0], *word, *ends[1]] for word in tokens.tolist()]
            one, two = (DenseDecoder(each).run(words).logits for each in (hard, soft))
            assert abs(one - two).max() < 1e-6


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("odd-ones", {}, "counts, which leftmost and rightmost attention do not: omit .*unique"),
        ("since-b", {"steep": True}, "is for softmax, which .*unique does not have: omit one of them"),
    ],
)
def test_what_is_refused(name: str, options: dict[str, object], told: str) -> None:
    with pytest.raises(CompileError, match=told):
        compile(name, variant="unique", **options)  # type: ignore[arg-type]
