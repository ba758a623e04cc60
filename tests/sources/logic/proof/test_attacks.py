"""Weights made by hand that are right in exact arithmetic and wrong in floats: there is no certificate, and it says why."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sources.logic.compiling import weights
from tests.sources.logic.proof.mutants import Draw, doubled, pairs_of, times, units_of, widened
from tests.sources.logic.proof.test_fuzz import right, words_of
from tm2tfr.contract.options import LogicOptions
from tm2tfr.engines.decode import observe_all, run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.reading import answered
from tm2tfr.sources.logic.library import load
from tm2tfr.sources.logic.proof.certificate import LogicProof
from tm2tfr.sources.logic.truth import LogicTruth
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Layer, matrices, replaced

DIVIDED = "attention, layer 1: what is divided is not one mean, written alone: at all future: is s1"
SHAPE = "attention, layer 2: the scores of a head have no shape that the proof knows: look up count(Q[a])"
SHORT = "rounding: no word is shown to be right in float32: use a wider dtype"
RANGE = "attention, layer 2: a weight of a score is not between 2^-40 and 2^40: look up count(Q[a])"


def a_second_writer_of_a_share(draw: Draw) -> Decoder:
    """A mean, between W and -W, which two heads carry there that look at the position before."""
    first, size = draw.decoder.layers[0], 2.0**21
    mean, (one, i, square) = first.heads[0], map(draw.decoder.layout.index, ("1", "i", "i^2"))
    looking = draw.compared(mean, [({i: 2, one: -2}, {i: 1}), ({one: -1}, {square: 1})])
    claim = Claim(attends="back", gap=1.0, over="constant")
    output = Matrix.from_entries((draw.width, 1), {(int(mean.output.rows[0]), 0): 1})
    before, behind = (
        replace(looking, claim=claim, value=Matrix.from_entries((1, draw.width), {(0, one): sign * size}), output=output)
        for sign in (1, -1)
    )
    return draw.with_layer(0, heads=(before, *first.heads, behind))


def a_score_with_terms_that_cancel(draw: Draw) -> Decoder:
    """i²·j² times 2, first, and times -2, last."""
    square = draw.decoder.layout.index("i^2")
    looked_up = draw.decoder.layers[1].heads
    pairs = [[({square: 2.0}, {square: 1.0}), *pairs_of(head), ({square: 2.0}, {square: -1.0})] for head in looked_up]
    return draw.with_layer(1, heads=tuple(map(draw.compared, looked_up, pairs)))


def units_that_read_nothing(draw: Draw) -> Decoder:
    """Two units with nothing but a bias, of which one adds W and the other takes it away."""
    own = units_of(draw.decoder.layers[1].feed_forward)  # type: ignore[arg-type]
    target, size = next(iter(own[0][2])), 2.0**26
    return draw.with_layer(1, feed_forward=draw.part([({}, size, {target: 1}), *own, ({}, size, {target: -1})]))


def a_feature_that_is_there_twice(draw: Draw) -> Decoder:
    """W·i, then i, then -W·i, all of it in the embedding."""
    decoder, target, size = draw.decoder, draw.decoder.layout.index("i"), 2.0**26
    columns = [{target: size}, *decoder.position_embedding.transposed.by_row(), {target: -size}]
    embedded = Matrix.from_columns(columns, draw.width)
    return replace(decoder, features=("i", *decoder.features, "i"), position_embedding=embedded)


def scores_that_underflow(draw: Draw) -> Decoder:
    """All scores times 2^-160."""
    return _scaled(draw, 2.0**-80)


def scores_that_overflow(draw: Draw) -> Decoder:
    """All scores times 2^140."""
    return _scaled(draw, 2.0**70)


def _scaled(draw: Draw, factor: float) -> Decoder:
    heads = [
        replace(
            head,
            query=times(head.query, factor),
            key=times(head.key, factor),
            claim=replace(head.claim, gap=head.claim.gap * factor**2),  # type: ignore[type-var, union-attr, operator]
        )
        for head in draw.decoder.layers[1].heads
    ]
    return draw.with_layer(1, heads=tuple(heads))


def shares_made_of_shares(draw: Draw) -> Decoder:
    """1/(i+1) in two ways, in 22 layers that double the difference, which is 0 but for rounding; a query reads it."""
    decoder, depth = draw.decoder, 22
    spaces = [Subspace("mean", holds="at all future: 1", since=(0, "attention"))]
    spaces += [Subspace(name, holds="1", since=(-1, "embedding")) for name in ("1'", "1''")]
    spaces += [Subspace(f"{s}{k}", holds="over i+1: 1", since=(k, "feed_forward")) for k in range(depth) for s in "+-"]
    later = [
        replace(s, since=(s.since[0] + depth, s.since[1])) if s.since and s.since[0] >= 0 else s
        for s in decoder.layout.subspaces
    ]
    layout = Residual((*later, *spaces))
    wide = replace(draw, decoder=widened(decoder, layout))
    at, one = layout.index, layout.index("1")
    place = wide.decoder.position_embedding
    column = decoder.features.index("1")
    place = place.with_entry(at("1'"), column, 1).with_entry(at("1''"), column, 1)
    mean = replace(
        wide.decoder.layers[0].heads[0],
        value=Matrix.from_entries((1, wide.width), {(0, one): 1}),
        output=Matrix.from_entries((wide.width, 1), {(at("mean"), 0): 1}),
    )
    inverse = at("1/(i+1)")
    roughly = ({inverse: 1, one: 1, at("1'"): 1, at("1''"): -1}, -1.0, {at("+0"): 1})
    units = [[roughly, ({inverse: 1, one: 1}, -1.0, {at("-0"): 1})]]
    for k in range(1, depth):
        a, b = at(f"+{k - 1}"), at(f"-{k - 1}")
        units.append(
            [({inverse: 1, at("mean"): 1, a: s, b: -s}, -1.0, {at(f"{n}{k}"): 1}) for s, n in ((1, "+"), (-1, "-"))]
        )
    first = [
        Layer(name=f"doubled {k}", meaning="", source="", heads=() if k else (mean,), feed_forward=wide.part(own))
        for k, own in enumerate(units)
    ]
    before, last = wide.decoder.layers
    heads = []
    for head in last.heads:
        (query, key), *others = pairs_of(head)
        heads.append(wide.compared(head, [({**query, at(f"+{depth - 1}"): 2, at(f"-{depth - 1}"): -2}, key), *others]))
    return replace(wide.decoder, position_embedding=place, layers=(*first, before, replace(last, heads=tuple(heads))))


ATTACKS: dict[Callable[[Draw], Decoder], str] = {
    a_second_writer_of_a_share: DIVIDED,
    a_score_with_terms_that_cancel: SHAPE,
    units_that_read_nothing: SHORT,
    a_feature_that_is_there_twice: SHORT,
    scores_that_underflow: RANGE,
    scores_that_overflow: RANGE,
    shares_made_of_shares: "feed-forward, layer 2: a unit reads a number that is rounded: 0",
}


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_weights_that_only_exact_arithmetic_gets_right_are_refused(attack: Callable[[Draw], Decoder]) -> None:
    program = load("more-as-than-bs").program
    decoder = attack(Draw(weights(program), random.Random(0)))
    truth = LogicTruth(program, "abbab", decoder)
    passed = run_whole(decoder, [decoder.numbers[token] for token in truth.prompt], engine=Exact())
    found = zip(*(answered(decoder, each.logits) for each in passed), strict=True)
    assert dict(zip(truth.values, found, strict=True)) == truth.values
    assert not right(program, decoder, "float32", words_of(program, 64, 0))
    (refusal,) = LogicProof(decoder, program).certificate("dense", "float32").refusals
    assert str(refusal).startswith(ATTACKS[attack])


def test_the_lead_of_a_sign_head_over_positions_behind_is_not_that_of_its_shares() -> None:
    """The shares times 2^20; and -2^24 - 1 + 2^24 for -1, by which positions behind are behind."""
    program = load("more-as-than-bs").program
    draw = Draw(weights(program, LogicOptions(compare="sign")), random.Random(0))
    at = next(n for n, layer in enumerate(draw.decoder.layers) for head in layer.heads if head.name.startswith("sign"))
    (head,) = draw.decoder.layers[at].heads
    (shares, bos), (far, late) = pairs_of(head)
    large = {direction: weight * 2**20 for direction, weight in shares.items()}
    behind = [(dict.fromkeys(far, weight), late) for weight in (-(2.0**24), -1.0, 2.0**24)]
    decoder = draw.with_head(at, 0, draw.compared(head, [(large, bos), *behind]))
    tied = observe_all(decoder, ("BOS", *"bbbb"), engine=Dense("float32"))[4].heads[at, 0]
    assert tuple(tied[1]) == (1, 2, 3, 4)
    (refusal,) = LogicProof(decoder, program).certificate("dense", "float32").refusals
    assert str(refusal) == SHORT


def test_two_subspaces_with_one_claim_are_not_taken_for_one() -> None:
    """The key reads (2^23 + 1)·i less 2^23 times another i, for i, which tells the latest position."""
    program = load("since-b").program
    own = weights(program)
    wide = doubled(own, own.layout.subspace("i"))
    path, i = "layers.2.heads.0.key", own.layout.index("i")
    key = matrices(wide)[path]
    assert key.by_row()[1] == {i: 1}
    decoder = replaced(wide, {path: key.with_entry(1, i, 2.0**23 + 1).with_entry(1, own.layout.width, -(2.0**23))})
    assert not right(program, decoder, "float32", words_of(program, 64, 0))
    (refusal,) = LogicProof(decoder, program).certificate("dense", "float32").refusals
    assert refusal.what == "the scores of a head have no shape that the proof knows"
