"""What the specification says is what the exact engine computes, for every shipped program; claims that say nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, product

import pytest

import tm2tfr
from tm2tfr.base.text.words import written
from tm2tfr.contract.specification import vector
from tm2tfr.engines.decode import observe_all
from tm2tfr.engines.exact import Exact
from tm2tfr.runs.passes import Stage, stages
from tm2tfr.sources.rasp.evaluate import Undefined
from tm2tfr.sources.rasp.library import shipped
from tm2tfr.sources.rasp.truth import RaspTruth
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

LENGTH, INPUTS = 3, 4


def compiled(name: str, **options: object) -> tm2tfr.Subject:
    return tm2tfr.Subject.of(f"{name}.rasp", options={"max_length": LENGTH, **options})


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_every_number_of_the_stream_and_every_place_of_a_head_is_exactly_right(name: str) -> None:
    subject = compiled(name)
    decoder, program, compared = subject.decoder, subject.right, 0
    for word in islice(product(reversed(program.alphabet), repeat=LENGTH), INPUTS):
        try:
            truth = RaspTruth(program, written(word), decoder)
        except Undefined:
            continue
        specification = truth.specification(LENGTH - 1)
        assert specification.covers(decoder.layout)
        for i, seen in enumerate(observe_all(decoder, truth.prompt, engine=Exact())):
            for stage in stages(decoder, specification, seen):
                assert isinstance(stage, Stage), stage
                residual, here = seen.stages[stage.number][2], (stage.layer, stage.part)
                assert list(residual) == stage.specification.stream(decoder.layout, i, *here), (word, i, stage.made, here)
                compared += len(residual)
            for (layer, k), (_, attended) in seen.heads.items():
                claim = decoder.layers[layer].heads[k].claim
                assert claim is not None
                assert tuple(specification.attended(claim.attends, i)) == tuple(attended)
    assert compared > 0 or name == "sort-unique"


def relabelled(decoder: Decoder, subspace: Subspace) -> Decoder:
    """The decoder with one claim replaced: that of the subspace of this name."""
    spaces = tuple(subspace if each.name == subspace.name else each for each in decoder.layout.subspaces)
    return replace(decoder, layout=Residual(spaces))


@pytest.mark.parametrize(
    "claim",
    [
        *("", "value s1,s2", "value s99999", "value x", "mean s1 1 0", "steps s1", "picked s1", "found c1"),
        *("share c1 c1", "i j"),
    ],
)
def test_a_claim_that_cannot_be_interpreted_is_not_covered(claim: str) -> None:
    subject = compiled("histogram")
    decoder = subject.decoder
    wrong = relabelled(decoder, replace(decoder.layout.subspaces[-1], holds=claim, groups=()))
    specification = RaspTruth(subject.right, "§ab", wrong).specification(2)
    assert not specification.covers(wrong.layout)


def test_a_head_with_another_claim_is_not_covered() -> None:
    subject = compiled("histogram")
    decoder = subject.decoder
    layer = next(n for n, layer in enumerate(decoder.layers) if layer.heads)
    head = decoder.layers[layer].heads[0]
    assert head.claim is not None
    wrong = replace(head, claim=replace(head.claim, attends="everywhere"))
    layers = [replace(each, heads=(wrong,)) if n == layer else each for n, each in enumerate(decoder.layers)]
    changed = replace(decoder, layers=tuple(layers))
    specification = RaspTruth(subject.right, "§ab", changed).specification(2)
    assert not specification.covers(changed.layout)
    assert specification.attended("everywhere", 0) == ()


def test_numbers_by_label_are_a_vector() -> None:
    assert vector(Subspace("steps", ("0..1", "1..2")), {"1..2": 1}) == [0, 1]
