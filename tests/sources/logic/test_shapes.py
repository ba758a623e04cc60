"""How many layers, heads and units shipped formulas and programs have."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.sources.logic.compiling import weights
from tm2tfr.base.choices import LogicCompare
from tm2tfr.contract.options import LogicOptions
from tm2tfr.runs.streams import checked_streams
from tm2tfr.sources.logic.library import load
from tm2tfr.sources.logic.read import formula
from tm2tfr.transformer.weights import Decoder


def shipped(name: str) -> Decoder:
    return weights(load(name).program, LogicOptions())


@pytest.mark.parametrize("k", [1, 2, 3])
def test_dyck_k_has_nine_layers_and_eight_heads(k: int) -> None:
    decoder = shipped(f"dyck-{k}-by-depth")
    assert (len(decoder.layers), decoder.heads) == (9, 8)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_hops_have_a_head_each_and_one_for_what_stands_before(k: int) -> None:
    assert shipped(f"hop-{k}").heads == k + 1


SHAPES = {
    "Q[a] & prev Q[b]": (1, 1, 3),
    "(Q[a] | Q[b]) since Q[b]": (1, 1, 3),
    "count(Q[a]) <= count(Q[b])": (2, 3, 2),
    "odd(count(Q[a]))": (2, 2, 2),
    "next Q[a]": (1, 1, 2),
    "Q[a] until Q[b]": (2, 2, 3),
    "!!(Q[a] & !Q[b])": (0, 0, 1),
}


@pytest.mark.parametrize("text", SHAPES)
def test_attention_layers_heads_and_units(text: str) -> None:
    decoder = weights(formula(text, "ab"), LogicOptions())
    attending = [layer for layer in decoder.layers if layer.heads]
    assert (len(attending), decoder.heads, decoder.hidden) == SHAPES[text], text


def test_equal_nodes_are_computed_once() -> None:
    twice = weights(formula("(prev Q[a] & prev Q[b]) | !(prev Q[a] & prev Q[b])", "ab"), LogicOptions())
    assert Counter(head.name for layer in twice.layers for head in layer.heads) == {"j = i-1": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "compare", "claimed"),
    [
        ("prev Q[a]", "lookup", {(1, "constant", 7)}),
        ("Q[a] S Q[b]", "lookup", {(0.5, "position", 4)}),
        ("Q[a] U Q[b]", "lookup", {(0.5, "length", 4)}),
        ("odd(count(Q[a]))", "lookup", {(1, "position", 7)}),
        ("odd(count_right(Q[a]))", "lookup", {(1, "length", 7)}),
        ("count(Q[a]) <= 2*count(Q[b])", "lookup", {(1, "position", 18)}),
        ("count(Q[a]) <= 2*count_right(Q[b])", "lookup", {(1, "position", 18), (1, "length", 18)}),
        ("count(Q[a]) <= 2*count(Q[b])", "sign", {(0.5, "position", 3.01)}),
    ],
)
def test_gaps_and_margins_are_those_of_the_table(text: str, compare: LogicCompare, claimed: set[object]) -> None:
    program = formula(text, alphabet=("a", "b"))
    decoder = weights(program, LogicOptions(compare=compare))
    claims = [head.claim for layer in decoder.layers for head in layer.heads if head.claim is not None]
    assert {(each.gap, each.over, each.margin) for each in claims if each.gap is not None} == claimed
    gaps = checked_streams(decoder, program, longest=5).gaps
    assert len(gaps) > 0
    assert all(gap.holds and gap.measured < 3 * gap.claimed for gap in gaps)
