"""Certificates of softmax at a temperature per position: granted as far as floats hold, and refused for anything else."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

import tm2tfr
from tests.sources.logic.compiling import weights
from tm2tfr.contract.options import LogicOptions
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.engines.reading import right_answers
from tm2tfr.lab.softness.temperature import sampled_words
from tm2tfr.sources.logic.library import load
from tm2tfr.sources.logic.proof.certificate import LogicProof
from tm2tfr.sources.logic.truth import LogicLabels
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.soft import locally_softened
from tm2tfr.transformer.tempered import per_position
from tm2tfr.transformer.weights import Decoder, Head

TOKENS = {"odd-ones": (52, 1_244_292), "since-b": (997, 23_247_186), "after-a-until-b": (262, 6_126_170)}
"""Up to how many tokens in float32 and in float64."""


def soft(name: str) -> Decoder:
    return per_position(weights(load(name).program))


def wrong(name: str, decoder: Decoder, n: int, words: int, dtype: str = "float64") -> int:
    """Return how many answers are wrong on random words of n tokens: of every node at every position."""
    labels = LogicLabels(load(name).program, decoder)
    tried = sampled_words(labels.letters, n, words, seed=n)
    defined, wanted = labels(tried)
    run = DenseDecoder(decoder, dtype).blocks(labels.fed(tried[defined]))  # type: ignore[arg-type]
    return sum(int((~right_answers(decoder, block.logits, wanted[:, block.sequences])).sum()) for block in run)


def refused(decoder: Decoder, name: str = "odd-ones") -> str:
    return str(LogicProof(decoder, load(name).program).certificate())


def changed(decoder: Decoder, **parts: object) -> Decoder:
    """Return the weights with the head of the second layer changed."""
    layer = decoder.layers[1]
    head = replace(layer.heads[0], **parts)  # type: ignore[arg-type]
    return replace(decoder, layers=(decoder.layers[0], replace(layer, heads=(head,)), *decoder.layers[2:]))


@pytest.mark.parametrize("name", TOKENS)
def test_how_far_floats_hold(name: str) -> None:
    program = load(name).program
    proof = LogicProof(per_position(weights(program)), program)
    assert tuple(proof.certificate("dense", dtype).most_tokens for dtype in ("float32", "float64")) == TOKENS[name]
    assert "the exact engine runs hard attention only" in str(proof.certificate("exact"))


def test_no_answer_is_wrong_as_far_as_certified_in_float32() -> None:
    assert wrong("odd-ones", soft("odd-ones"), 52, 50, "float32") == 0
    assert wrong("after-a-until-b", soft("after-a-until-b"), 262, 3, "float32") == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("odd-ones", "since-b", "ends-in-110", "starts-110", "after-a-until-b", "odd-ones-without-predicates"),
        *("a-n-b-n", "dyck-1-by-counting", "two-to-three", "prime-count", "hop-2", "flip-flops"),
    ],
)
def test_no_answer_is_wrong_on_words_of_1000_tokens(name: str) -> None:
    for n, words in ((13, 200), (100, 20), (1_000, 4)):
        assert wrong(name, soft(name), n, words) == 0


def test_a_temperature_for_a_length_is_wrong_beyond_it() -> None:
    """What `--length 8` makes is right for 8 positions; the temperature per position is right beyond."""
    hard = weights(load("odd-ones").program)
    assert wrong("odd-ones", locally_softened(hard, 8), 7, 100) == 0
    assert wrong("odd-ones", locally_softened(hard, 8), 40, 100) > 0
    assert wrong("odd-ones", per_position(hard), 40, 100) == 0


def test_what_is_not_as_it_was_made_is_refused() -> None:
    decoder = soft("odd-ones")
    head: Head = decoder.layers[1].heads[0]
    said = "the temperature is not the one of a gap over the position: look up count(Q[1]): 1/τ = 1"
    assert said in refused(changed(decoder, inverse_temperature="1"))
    warmer = dataclasses.replace(head.query, values=head.query.values / 2)
    assert "a head claims a larger gap than is shown" in refused(changed(decoder, query=warmer))
    claim: Claim = dataclasses.replace(head.claim, margin=None)  # type: ignore[type-var]
    assert "no margin is claimed of a head with softmax" in refused(changed(decoder, claim=claim))
    assert "the proof knows softmax at a temperature per position alone" in refused(
        locally_softened(weights(load("odd-ones").program), 9)
    )


def test_features_of_the_length_are_refused_by_name() -> None:
    program = tm2tfr.formula("next Q[a]", alphabet="ab")
    decoder = weights(program, LogicOptions(variant="paper"))
    assert "the proof does not know the position feature i/n" in str(LogicProof(decoder, program).certificate())


def test_a_smaller_margin_is_found_to_be_wrong() -> None:
    """The margin is a claim: with one that is too small, some answer is wrong on a short word."""
    hard = weights(load("since-b").program)
    layers = [
        replace(layer, heads=tuple(replace(head, claim=replace(head.claim, margin=1.3)) for head in layer.heads))  # type: ignore[type-var]
        for layer in hard.layers
    ]
    warm = per_position(replace(hard, layers=tuple(layers)))
    assert "an answer with softmax is wrong: on the word" in refused(warm, "since-b")
    assert np.isfinite(warm.layers[1].heads[0].query.values).all()
