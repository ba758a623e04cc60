"""The witnesses of the misprints, put to compiled weights: right where the printed form is wrong, under softmax as well."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from tests.sources.logic.printed.model import words
from tm2tfr.engines import engine, generate
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.sources.logic.compiler import lowered
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.nodes import (
    And,
    Build,
    Comparison,
    CountLeft,
    CountRight,
    Input,
    Node,
    OneOf,
    Predicate,
    Previous,
    Since,
    Sum,
)
from tm2tfr.sources.sequence.compiler.framed import FramedOptions, compile_framed
from tm2tfr.transformer.soft import softened
from tm2tfr.transformer.weights import Decoder

make = Build()


def letter(token: str) -> Node:
    return make(OneOf, of=make(Input), values=(token,))


def at_least(number: Node, c: int) -> Node:
    return make(Comparison, left=number, relation=">=", right=make(Sum, constant=c))


ONES = make(CountLeft, of=letter("1"))
ONES_AFTER = make(CountRight, of=letter("1"))
WITNESSES: dict[str, tuple[Node, str, Sequence[str]]] = {
    "1: Q[a] & prev Q[b]": (make(And, parts=(letter("a"), make(Previous, of=letter("b")))), "ab", ["ba", "bb"]),
    "2: count(Q[1]) >= 1": (at_least(ONES, 1), "01", ["1", "10", "0", "01"]),
    "3: odd(count(Q[1]))": (make(Predicate, predicate="mod", of=ONES, modulus=2, remainder=1), "01", ["0", "00", "0000"]),
    "4: count_right(Q[1]) >= 2": (at_least(ONES_AFTER, 2), "01", ["1111"]),
    "5: count(Q[1]) + count_right(Q[1]) >= 3": (
        at_least(make(Sum, terms=((1, ONES), (1, ONES_AFTER))), 3),
        "01",
        ["11", "10"],
    ),
    "12: Q[a] since Q[b]": (make(Since, left=letter("a"), right=letter("b")), "ab", ["ba", "ab"]),
}
AHEAD = ("4", "5")
"""Misprints about counts to the right, which take an encoder."""


def compiled(which: str) -> Decoder:
    node, alphabet, _ = WITNESSES[which]
    graph, _ = lowered([(which, node)], name=which, file="formula", alphabet=alphabet)
    return compile_framed(graph, FramedOptions(ahead=which[0] in AHEAD))[0]


def local(decoder: Decoder, positions: int) -> float:
    """Return the temperature of docs/logic-scheme.md, a little colder."""
    claims = [head.claim for layer in decoder.layers for head in layer.heads if head.claim and head.claim.gap is not None]
    needed = [math.log(each.margin or math.nan) / (each.smallest_gap(positions) or math.nan) for each in claims]
    return 1 / (1.001 * max(needed))


@pytest.mark.parametrize("which", WITNESSES)
@pytest.mark.parametrize("soft", [False, True])
def test_the_witness_is_right(which: str, soft: bool) -> None:
    node, _, tried = WITNESSES[which]
    hard = compiled(which)
    for word in tried:
        frame = ("BOS", *word, "EOS") if which[0] in AHEAD else ("BOS", *word)
        decoder = softened(hard, local(hard, len(frame))) if soft else hard
        answers = [step.output for step in generate(decoder, frame, engine=engine("dense"))]
        assert answers[1 : len(word) + 1] == ["FT"[value] for value in evaluate(node, word)[node]], word


@pytest.mark.parametrize("which", WITNESSES)
def test_no_word_is_wrong(which: str) -> None:
    """Where the printed forms are wrong at 255, 502 and 2,334 of 3,586 positions."""
    node, alphabet, _ = WITNESSES[which]
    decoder = compiled(which)
    run = DenseDecoder(decoder)
    cells = 0
    for n in range(1, 9):
        tried = [word for word in words(alphabet, n) if len(word) == n]
        frames = [("BOS", *word, "EOS") if which[0] in AHEAD else ("BOS", *word) for word in tried]
        numbers = np.array([[decoder.numbers[token] for token in frame] for frame in frames])
        false, true = run.run(numbers).logits
        found = (true > false)[:, 1 : n + 1]
        assert (found == [evaluate(node, word)[node] for word in tried]).all()
        cells += found.size
    assert cells == 3586
