"""Weights that are not right: each check of the certificate fires, and no wrong decoder of hundreds is certified."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import tm2tfr
from tests.golden import Golden
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.prove import limit, prove
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Head, matrices, replaced

CHAPTER, BEAVER = load("chapter"), load("busy-beaver-4")
ONE_WAY, TWO_WAY = compile_machine(CHAPTER), compile_machine(BEAVER)
Place = str | int


def mutated(decoder: Decoder, path: str, row: Place, column: Place, value: float) -> Decoder:
    """The decoder with one entry changed; row and column by the name of a direction, token or unit, or by number."""
    matrix, layers = matrices(decoder)[path], decoder.layers
    number = re.match(r"layers\.(\d+)\.feed_forward", path)
    ffn = layers[int(number[1]) - 1].feed_forward if number else None
    names = [decoder.layout.directions, decoder.vocabulary, decoder.features, ffn.units if ffn else ()]

    def place(name: Place, size: int) -> int:
        return name if isinstance(name, int) else next(n.index(name) for n in names if len(n) == size and name in n)

    entry = place(row, matrix.shape[0]), place(column, matrix.shape[1])
    return replaced(decoder, {path: matrix.with_entry(*entry, value)})


def refusals(decoder: Decoder, machine: Machine) -> list[str]:
    proof = prove(decoder, machine)
    if proof.refusals:
        assert proof.certificate("exact").granted is False
        assert limit(decoder, machine, "exact") == limit(decoder, machine) == 0
    return [str(refusal) for refusal in proof.refusals]


def refused(decoder: Decoder, path: str, row: Place, column: Place, value: float) -> list[str]:
    """Return the refusals of a decoder with one wrong entry."""
    return refusals(mutated(decoder, path, row, column, value), CHAPTER if decoder is ONE_WAY else BEAVER)


GOLDEN = Golden(Path(__file__).with_name("refusals.txt"))
test_a_wrong_entry_or_structure_is_refused_with_its_layer_and_a_witness = pytest.mark.slow(GOLDEN.test())


def test_right_weights_are_not_refused() -> None:
    assert refusals(ONE_WAY, CHAPTER) == refusals(TWO_WAY, BEAVER) == []


def changed(decoder: Decoder, changes: dict[tuple[str, Place, Place], float]) -> Decoder:
    for (path, row, column), value in changes.items():
        decoder = mutated(decoder, path, row, column, value)
    return decoder


@pytest.mark.slow
def test_a_head_may_be_scaled_by_powers_of_two_and_by_nothing_else() -> None:
    def scaled(query: float, key: float) -> Decoder:
        changes = {}
        for path, factor in (("layers.4.heads.0.query", query), ("layers.4.heads.0.key", key)):
            old = matrices(TWO_WAY)[path]
            changes[path] = Matrix(old.shape, old.rows, old.columns, factor * old.values)
        return replaced(TWO_WAY, changes)

    assert refusals(scaled(4.0, 0.5), BEAVER) == []
    assert prove(scaled(4.0, 0.5), BEAVER).largest("dense", "float32") == 161
    assert "is not the latest write" in refusals(scaled(3.0, 1.0), BEAVER)[0]
    assert "which does not have the form that this proof covers" in refusals(scaled(3.0, 1.0), BEAVER)[0]


def test_a_smaller_tie_break_shortens_the_certificate_and_a_larger_one_ends_it_in_floats() -> None:
    halved = mutated(TWO_WAY, "layers.4.heads.0.query", 2, "1/(i+1)", 0.25)
    assert prove(halved, BEAVER).largest("dense", "float32") == 128
    assert prove(halved, BEAVER).largest("fast", max_head=12_289) == 2**31 - 1
    whole = mutated(TWO_WAY, "layers.4.heads.0.query", 2, "1/(i+1)", 1.0)
    assert [prove(whole, BEAVER).largest(e) for e in ("dense", "fast", "exact")] == [0, 0, None]


def test_reading_the_position_rounded_is_refused_though_exact_in_rationals() -> None:
    # h = 1·v + bits: the gate of m/(i+1) as ReLU(v + open - 1), which loses the last digits of v
    others = [d for d in TWO_WAY.layout.directions if d.startswith("e_x[")]
    unit = "m/(i+1), m = +1"
    changes: dict[tuple[str, Place, Place], float] = {("layers.1.feed_forward.input_bias", unit, 0): -1.0}
    for direction in others:
        on = 1.0 if direction.endswith(",+1)]") else 0.0
        changes["layers.1.feed_forward.input", unit, direction] = on


def with_unit(decoder: Decoder, reads: dict[str, float], bias: float, writes: dict[str, float], layer: int = 2) -> Decoder:
    """The decoder with one more unit, 'extra', in a layer."""
    ffn, index = decoder.layers[layer - 1].feed_forward, decoder.layout.index
    assert ffn is not None
    n = len(ffn.units)

    def grown(matrix: Matrix, shape: tuple[int, int], new: dict[tuple[int, int], float]) -> Matrix:
        return Matrix.from_entries(shape, {**{(r, c): v for r, c, v in matrix.entries()}, **new})

    width = decoder.layout.width
    more = replace(
        ffn,
        input=grown(ffn.input, (n + 1, width), {(n, index(d)): w for d, w in reads.items()}),
        input_bias=grown(ffn.input_bias, (n + 1, 1), {(n, 0): bias} if bias else {}),
        output=grown(ffn.output, (width, n + 1), {(index(d), n): w for d, w in writes.items()}),
        units=(*ffn.units, "extra"),
    )
    return with_layer(decoder, layer, feed_forward=more)


def test_layer_2_has_to_scale_with_the_position_and_to_round_once() -> None:
    far = mutated(TWO_WAY, "layers.2.feed_forward.input", "h+/(i+1)", "h/(i+1)", 2.0**20)
    far = mutated(far, "layers.2.feed_forward.output", "h+/(i+1)", 0, 2.0**-20)
    assert "must scale with 1/(i+1) and have powers of two as weights: bias 0" in refusals(far, BEAVER)[0]


def with_layer(decoder: Decoder, number: int, **fields: object) -> Decoder:
    layers = list(decoder.layers)
    layers[number - 1] = replace(layers[number - 1], **fields)  # type: ignore[arg-type]
    return replace(decoder, layers=tuple(layers))


def with_head(decoder: Decoder, number: int, head: Head) -> Decoder:
    return with_layer(decoder, number, heads=(*decoder.layers[number - 1].heads, head))


LOOK = ONE_WAY.layers[2].heads[0]


def renamed(decoder: Decoder, old: str, new: Subspace) -> Decoder:
    subspaces = tuple(new if s.name == old else s for s in decoder.layout.subspaces)
    return replace(decoder, layout=Residual(subspaces))


def test_a_foreign_layout_or_vocabulary_is_refused() -> None:
    found = refusals(renamed(ONE_WAY, "h^2", Subspace("h^2", holds="g")), CHAPTER)
    assert "layout: a subspace is not part of the construction: found [h=0]" in refusals(
        renamed(TWO_WAY, "h-", Subspace("h-", holds="[h=0]")), BEAVER
    )
    labels = ONE_WAY.layout.subspace("e_a").labels or ()
    found = refusals(renamed(ONE_WAY, "e_a", Subspace("e_a", ("z", *labels[1:]), holds="e_a")), CHAPTER)
    said = "layout: every subspace must be claimed to hold something of its own: "
    found = refusals(renamed(ONE_WAY, "h^2", Subspace("h^2")), CHAPTER)
    assert found == [said + "nothing says what the subspace 'h^2' holds: compile the machine again"]
    found = refusals(renamed(ONE_WAY, "h^2", Subspace("h^2", holds="h")), CHAPTER)
    other = ("ACC?", *ONE_WAY.vocabulary[1:])
    assert "layout: the vocabulary lacks a token that can occur: 1" in refusals(replace(ONE_WAY, vocabulary=other), CHAPTER)


def test_weights_of_another_machine_and_the_chapters_boundary_are_refused() -> None:
    assert refusals(TWO_WAY, CHAPTER)
    assert refusals(compile_machine(load("palindromes")), load("same-ends"))
    edge = load("left-edge")
    assert refusals(compile_machine(edge, left_boundary="chapter"), edge)


def test_refusals_come_in_the_order_of_the_layers() -> None:
    places: dict[tuple[str, Place, Place], float] = {
        ("unembedding", "ACC", "h"): 1.0,
        ("layers.5.feed_forward.input_bias", 0, 0): 0.0,
        ("layers.1.feed_forward.input", 0, "i"): 1.0,
        ("token_embedding", "i", "1"): 1.0,
    }
    found = [refusal.layer for refusal in prove(changed(ONE_WAY, places), CHAPTER).refusals]
    assert len(found) >= 4
    assert all(a <= b for a, b in pairwise(found))


@pytest.mark.parametrize("what", ["1", "h", "m/(i+1)", "[h=0]"])
def test_a_number_that_has_labels_is_refused(what: str) -> None:
    decoder = tm2tfr.compile("chapter")
    changed = [replace(s, labels=("z",)) if s.holds == what else s for s in decoder.layout.subspaces]
    proof = tm2tfr.certify(replace(decoder, layout=Residual(tuple(changed))))
    assert f"{what} must be a single number" in str(proof.refusals[0])
