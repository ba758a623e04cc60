"""A disguise is proved equal to the original, and anything else is not."""

from __future__ import annotations

import dataclasses
import itertools
import random
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.lab.hidden.cases import answers, hidden
from tests.strategies import tries
from tm2tfr.engines.exact import Exact
from tm2tfr.lab.hidden.claim import answer
from tm2tfr.lab.hidden.dead_code import prompts_of
from tm2tfr.lab.hidden.key import Key, LayerKey, TurnedBasis, UnitKey, hidden_digest
from tm2tfr.lab.hidden.verify import Proved, proof_of, verified
from tm2tfr.lab.hidden.wide import turned, widened
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, matrices, replaced


def refusal(decoder: Decoder, key: Key) -> str:
    proof = proof_of(decoder, key)
    assert not proof.proved
    return proof.refusals[0]


def test_what_is_made_is_proved() -> None:
    made = hidden("half-adder")
    found = verified(made.decoder, made.key)
    assert found == Proved((), found.checked)
    assert found.checked > 50


def test_weights_of_another_disguise_are_told_by_their_digest() -> None:
    made, other = hidden("half-adder"), hidden("half-adder", seed=1)
    found = verified(other.decoder, made.key)
    assert found.refusals == ("these are not the weights that this key was made with: their digests differ",)
    assert refusal(other.decoder, made.key)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "grade"), [("half-adder", 3), ("since-b", 3), ("reverse", 2), ("parity", 1)])
def test_no_weight_that_counts_can_be_changed(name: str, grade: int) -> None:
    """Some weights are free, such as the queries of decoys: whatever is accepted answers as before, exactly."""
    made, draw = hidden(name, grade), random.Random(0)
    every, caught = matrices(made.decoder), 0
    prompt = prompts_of(made.key.original, None, positions=5, runs=9)[-1]
    right = answers(made.decoder, prompt, Exact(), 6)
    for _ in range(many := tries(60)):
        path = draw.choice([path for path, matrix in every.items() if matrix.nonzero])
        matrix = every[path]
        values = matrix.values.copy()
        values[draw.randrange(matrix.nonzero)] += draw.choice((0.5, -1.0, 2.0**-20))
        changed = replaced(made.decoder, {path: Matrix(matrix.shape, matrix.rows, matrix.columns, values)})
        proved = proof_of(changed, made.key).proved
        assert not proved or answers(changed, prompt, Exact(), 6) == right
        caught += not proved
    assert caught == many if grade == 1 else caught > 0


@pytest.mark.slow
def test_what_may_be_changed_of_a_real_head_is_what_it_writes_where_nothing_reads() -> None:
    """A head is filled up to the size of others by components that write to what only decoys read: their values are free.

    So is value entry (7, 33) of the head for operand a, which once was thought to be a hole in the proof.
    """
    made = hidden("half-adder", seed=2)
    key, basis = made.key, made.key.basis
    back = turned(widened(made.decoder, basis.width), basis.inverse, basis.matrix)
    counts = [*range(key.original.layout.width), *key.constants, *key.copies]
    layer, k = next((n, said.heads.index((0, 0))) for n, said in enumerate(key.layers) if (0, 0) in said.heads)
    free = [not column.any() for column in back.layers[layer].heads[k].output[counts].T]
    assert free == [False] * 4 + [True] * 4
    path = f"layers.{layer + 1}.heads.{k}.value"
    for component in (0, 3, 4, 7):
        values = matrices(made.decoder)[path].dense()
        values[component, 33] += 0.5
        changed = replaced(made.decoder, {path: Matrix.from_dense(values)})
        assert proof_of(changed, key).proved == free[component], component


@pytest.mark.slow
def test_a_copy_is_emptied_only_before_it_is_used_again() -> None:
    """So that no unit is counted as one that does something, and does nothing (`tm2tfr.lab.hidden.claim`)."""
    made = hidden("palindromes", 2)
    key, used = made.key, [dict(layer.moved) for layer in made.key.layers if layer.moved]
    assert used
    again = {copy for before, after in itertools.pairwise(used) for copy in before.values() if copy in after.values()}
    pairs = [sum(unit.pair is not None for unit in layer.units or ()) // 2 for layer in key.layers if layer.of is None]
    assert sum(pairs) == sum(map(len, used)) + len(again)
    assert not answer(key).units
    rounding = next(n for n, layer in enumerate(key.layers) if layer.of is None)
    moved = key.layers[rounding - 1].moved
    layers = [
        *key.layers[: rounding + 1],
        dataclasses.replace(key.layers[rounding + 1], moved=moved),
        *key.layers[rounding + 2 :],
    ]
    other = dataclasses.replace(key, layers=tuple(layers))
    assert "moves to a copy that was not emptied" in " ".join(verified(made.decoder, other).refusals)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vocabulary": ("0", "2")}, r"vocabulary: it is \('0', '2'\), and should be \('0', '1'\)"),
        ({"layers": ()}, "number of layers: it is 0, and should be"),
    ],
)
def test_what_is_not_a_matrix_is_compared_too(change: dict[str, Any], words: str) -> None:
    made = hidden("half-adder")
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(refusal(dataclasses.replace(made.decoder, **change), made.key))


def changed_layers(key: Key, number: int, **fields: Any) -> Key:
    layers = list(key.layers)
    layers[number] = dataclasses.replace(layers[number], **fields)
    return dataclasses.replace(key, layers=tuple(layers))


def test_a_key_that_says_something_else_is_refused() -> None:
    made = hidden("half-adder", 1)
    key, (layer,) = made.key, made.key.layers
    units = layer.units or ()
    right = tm2tfr.compile("full-adder")
    cases = {
        "does not have each head": changed_layers(key, 0, heads=(layer.heads[0], *layer.heads[:-1])),
        "does not have each unit": changed_layers(key, 0, units=(units[0], *units[:-1])),
        "unit 0, reads": changed_layers(key, 0, units=(UnitKey(units[0].of, units[0].scale * 2), *units[1:])),
        "is not a power of two": changed_layers(key, 0, units=(UnitKey(units[0].of, 3.0), *units[1:])),
        "each layer of the original once": dataclasses.replace(key, layers=(LayerKey(None, layer.heads, units),)),
        "and should be": dataclasses.replace(key, original=right),
        "copies that there are not": changed_layers(key, 0, moved=((0, 5),)),
        "directions beside those of the original": dataclasses.replace(key, constants=(0,)),
        "width": dataclasses.replace(key, basis=TurnedBasis(key.basis.blocks[:0], (), ())),
    }
    for words, other in cases.items():
        assert words in " ".join(proof_of(made.decoder, other).refusals), words


def test_swapped_heads_are_found() -> None:
    made = hidden("half-adder", 2)
    (layer,) = made.decoder.layers
    swapped = dataclasses.replace(layer, heads=(layer.heads[1], layer.heads[0], *layer.heads[2:]))
    changed = dataclasses.replace(made.decoder, layers=(swapped,))
    assert "layers.1.heads.0" in refusal(changed, made.key)
    other = dataclasses.replace(made.key, digest=hidden_digest(changed))
    assert not verified(changed, other).proved


def test_another_mask_is_found() -> None:
    made = hidden("half-adder", 2)
    (layer,) = made.decoder.layers
    heads = (dataclasses.replace(layer.heads[0], mask="none"), *layer.heads[1:])
    changed = dataclasses.replace(made.decoder, layers=(dataclasses.replace(layer, heads=heads),))
    assert "its mask or its weighting is not the original's" in refusal(changed, made.key)


def test_a_basis_that_is_none_is_refused() -> None:
    turned = hidden("half-adder", 2).key.basis
    with pytest.raises(tm2tfr.Tm2tfrError, match="about the same coordinates, each once"):
        TurnedBasis(turned.blocks, turned.order[1:], turned.scales[1:])
    with pytest.raises(tm2tfr.Tm2tfrError, match="powers of two"):
        TurnedBasis(turned.blocks, turned.order, (3.0, *turned.scales[1:]))
    assert np.array_equal(turned.matrix @ turned.inverse, np.eye(turned.width))
