"""Weights that are not right: each check of the certificate fires, and no wrong decoder of hundreds is certified."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

import tm2tfr
from tm2tfr.certificates.kit import Refusal
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


ENTRIES = [
    # the ends
    (
        ONE_WAY,
        "token_embedding",
        "e_x[BOS]",
        "BOS",
        2,
        "embedding: token BOS is not embedded as e_x[BOS]: it is 2·e_x[BOS]",
    ),
    (ONE_WAY, "token_embedding", "i", "1", 1, "embedding: token 1 is not embedded as e_x[1]: it is 1·e_x[1] + 1·i"),
    (ONE_WAY, "position_embedding", "i", "i", 0, "embedding: feature i is not embedded as itself: it is 0"),
    (
        ONE_WAY,
        "unembedding",
        "ACC",
        "h",
        1,
        "unembedding: the logit of ACC depends on more than e_y: it reads h with weight 1",
    ),
    (
        ONE_WAY,
        "unembedding_bias",
        "REJ",
        0,
        1,
        "unembedding: 1 is not the only token with the largest logit: for e_y[1] its logit is 1, that of REJ is 1",
    ),
    (
        ONE_WAY,
        "unembedding",
        "ACC",
        "e_y[REJ]",
        1.5,
        "unembedding: REJ is not the only token with the largest logit: for e_y[REJ] its logit is 1, that of ACC is 1.5",
    ),
    # layer 1
    (
        ONE_WAY,
        "layers.1.feed_forward.input",
        "m = +1",
        "e_x[(q0,_,0)]",
        1,
        "layer 1 (unpack), feed-forward: m is not what it should be: "
        "for token (q0,_,0), 1/(i+1) = 0 the layer adds 1 but should add 0",
    ),
    (
        ONE_WAY,
        "layers.1.feed_forward.input",
        "m = +1",
        "i",
        1,
        "unit 'm = +1' depends on a direction that this layer must not read: it reads i with weight 1",
    ),
    (ONE_WAY, "layers.1.feed_forward.output_bias", "h", 0, 1, "h is not what it should be: for token 1, 1/(i+1) = 0"),
    # layer 2
    (
        TWO_WAY,
        "layers.2.feed_forward.input",
        "h_{i-1}+/(i+1)",
        "m/(i+1)",
        1,
        "h_{i-1}+/(i+1) is not what it should be: for m = -1, h = 0 the layer adds 0 but should add 1",
    ),
    (
        TWO_WAY,
        "layers.2.feed_forward.input",
        "h+/(i+1)",
        "e_b[1]",
        1,
        "unit 'h+/(i+1)' depends on a direction that this layer must not read: it reads e_b[1] with weight 1",
    ),
    (
        ONE_WAY,
        "layers.2.heads.0.value",
        0,
        "m",
        2,
        "head 'sum of moves' does not carry what it should: it adds 2 times m to",
    ),
    (
        ONE_WAY,
        "layers.2.heads.0.value",
        0,
        "i",
        1,
        "head 'sum of moves': a row of its value matrix is not a single power of two",
    ),
    (
        ONE_WAY,
        "layers.2.heads.0.output",
        "h/(i+1)",
        0,
        3,
        "its output matrix is not a single power of two: h/(i+1) has the weights 3",
    ),
    (
        ONE_WAY,
        "layers.2.heads.0.output",
        "h/(i+1)",
        0,
        0,
        "exactly one head must sum the moves: 0 heads write something",
    ),
    # layer 3
    (
        ONE_WAY,
        "layers.3.heads.0.query",
        0,
        "h/(i+1)",
        1,
        "layer 3 (read input), attention: head 'cell h' is not a lookup of h, v·(2tj - j²) up to a factor: "
        "repeated moves +1, tokens 1, 1, i = 1, h = 1: position 0 scores 0, the right position 1 scores 0",
    ),
    (
        TWO_WAY,
        "layers.3.heads.3.query",
        1,
        "1/(i+1)",
        1,
        "head 'cell h_{i-1}-' is not a lookup of h_{i-1}-, v·(2tj - j²) up to a factor: repeated moves",
    ),
    (
        TWO_WAY,
        "layers.3.heads.0.query",
        0,
        "h",
        1,
        "its score is (2·h+/(i+1) + 1·h)·(1·i) + (-1·1/(i+1))·(1·i^2), which does not have the form that this proof covers",
    ),
    (ONE_WAY, "layers.3.heads.0.value", 0, "i", 2, "head 'cell h' does not carry what it should: it adds 2 times i to h"),
    (ONE_WAY, "layers.3.heads.1.output", "h_{i-1}", 0, -1, "head 'cell h_{i-1}' does not carry what it should: it adds -1"),
    (
        ONE_WAY,
        "layers.3.feed_forward.input",
        "[h=0]",
        "h",
        -0.5,
        "layer 3 (read input), feed-forward: [h=0] is not what it should be: "
        "for right of cell 0, h = 1 the layer adds 0.5 but should add 0",
    ),
    (
        TWO_WAY,
        "layers.3.feed_forward.input",
        "e_x(h)[1] unless h < 0",
        "h-",
        1,
        "e_x(h)[1] is not what it should be: for e_x(h+) = ⊥, h- = 1 the layer adds 1 but should add 0",
    ),
    # layer 4
    (
        TWO_WAY,
        "layers.4.heads.0.query",
        2,
        "1/(i+1)",
        -0.5,
        "layer 4 (read tape), attention: head 'latest write' is not the latest write, B·(2hk - k²) + T·v·j with 0 < T ≤ B: "
        "repeated moves +1, tokens 1, 1, i = 1, h = 1: position 0 scores 0, the right position 1 scores -0.25",
    ),
    (TWO_WAY, "layers.4.heads.0.query", 2, "1/(i+1)", 2, "head 'latest write' is not the latest write"),
    (TWO_WAY, "layers.4.heads.0.key", 0, "h_{i-1}", 0.5, "head 'latest write' is not the latest write"),
    (
        TWO_WAY,
        "layers.4.heads.0.value",
        1,
        "e_b[0]",
        0,
        "head 'latest write' does not carry what it should: it adds 0 times e_b",
    ),
    (TWO_WAY, "layers.4.heads.0.output", "e_b(j*-1)[0]", 2, 1, "a row of its output matrix is not a single power of two"),
    (
        TWO_WAY,
        "layers.4.feed_forward.input",
        "h_{j*-1} = h: d",
        "h",
        0,
        "[h_{j*-1}=h] is not what it should be: for h = 1, h_{j*-1} = 1 the layer adds -1 but should add 1",
    ),
    # layers 5 and 6
    (
        TWO_WAY,
        "layers.5.feed_forward.input_bias",
        "written 1",
        0,
        0,
        "layer 5 (symbol), feed-forward: e_a[1] is not what it should be: "
        "for [h_{j*-1}=h] = 0, written 1, input ⊥ the layer adds 1 but should add 0",
    ),
    (
        ONE_WAY,
        "layers.6.feed_forward.output",
        "e_y[ACC]",
        "δ(q0, _)",
        1,
        "layer 6 (transition), feed-forward: e_y[ACC] is not what it should be: "
        "for token (q0,1,0) on symbol _, at cell 0 the layer adds 1 but should add 0",
    ),
    (
        TWO_WAY,
        "layers.6.feed_forward.input",
        "δ(A, 0)",
        "i",
        -1,
        "unit 'δ(A, 0)' depends on a direction that this layer must not read: it reads i with weight -1",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("decoder", "path", "row", "column", "value", "said"), ENTRIES)
def test_a_wrong_entry_is_refused_with_its_layer_and_a_witness(
    decoder: Decoder, path: str, row: Place, column: Place, value: float, said: str
) -> None:
    machine = CHAPTER if decoder is ONE_WAY else BEAVER
    assert refusals(decoder, machine) == []
    found = refusals(mutated(decoder, path, row, column, value), machine)
    assert any(said in text for text in found), found


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
    found = refusals(changed(TWO_WAY, changes), BEAVER)
    assert found == [
        "layer 1 (unpack), feed-forward: unit 'm/(i+1), m = +1' would round 1/(i+1): "
        "for token (B,1,+1) it computes 0 +1/(i+1)"
    ]


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
    halves = with_unit(TWO_WAY, {"h/(i+1)": 1.0}, 0.0, {"h+/(i+1)": 0.5})  # right in rationals, two roundings in floats
    halves = mutated(halves, "layers.2.feed_forward.output", "h+/(i+1)", 0, 0.5)
    assert refusals(halves, BEAVER) == [
        "layer 2 (head position), feed-forward: h+/(i+1) must be written by one unit, with a power of two: "
        "2 units write it: h+/(i+1), extra"
    ]
    assert refusals(with_unit(TWO_WAY, {}, 1.0, {}), BEAVER) == [
        "layer 2 (head position), feed-forward: unit 'extra' must scale with 1/(i+1) and have powers of two as weights: "
        "bias 1, weights []"
    ]
    offset = with_unit(TWO_WAY, {"1/(i+1)": 1.0}, 0.0, {"e_a[0]": -1.0})  # right at i = 0, and there alone
    offset = mutated(offset, "layers.2.feed_forward.output_bias", "e_a[0]", 0, 1.0)
    assert refusals(offset, BEAVER) == [
        "layer 2 (head position), feed-forward: e_a[0] must scale with 1/(i+1): it has the output bias 1"
    ]
    far = mutated(TWO_WAY, "layers.2.feed_forward.input", "h+/(i+1)", "h/(i+1)", 2.0**20)
    far = mutated(far, "layers.2.feed_forward.output", "h+/(i+1)", 0, 2.0**-20)
    assert "must scale with 1/(i+1) and have powers of two as weights: bias 0" in refusals(far, BEAVER)[0]


def test_layer_4_has_to_be_a_function_of_a_difference() -> None:
    far = with_unit(TWO_WAY, {"h": 1.0}, -3.0, {"[h_{j*-1}=h]": 1.0}, layer=4)  # right for all h up to 3
    assert refusals(far, BEAVER) == [
        "layer 4 (read tape), feed-forward: unit 'extra' is not a function of the difference h_{j*-1} - h: "
        "it reads 0·h_{j*-1} +1·h"
    ]


def with_layer(decoder: Decoder, number: int, **fields: object) -> Decoder:
    layers = list(decoder.layers)
    layers[number - 1] = replace(layers[number - 1], **fields)  # type: ignore[arg-type]
    return replace(decoder, layers=tuple(layers))


def with_head(decoder: Decoder, number: int, head: Head) -> Decoder:
    return with_layer(decoder, number, heads=(*decoder.layers[number - 1].heads, head))


LOOK = ONE_WAY.layers[2].heads[0]
STRUCTURES = [
    (with_layer(ONE_WAY, 2, heads=()), "exactly one head must sum the moves: 0"),
    (with_head(ONE_WAY, 2, ONE_WAY.layers[1].heads[0]), "exactly one head must sum the moves: 2"),
    (
        with_layer(ONE_WAY, 2, heads=(replace(ONE_WAY.layers[1].heads[0], query=LOOK.query, key=LOOK.key),)),
        "head 'sum of moves' does not attend to all positions alike: its score has the term (2·h/(i+1))·(1·i)",
    ),
    (with_layer(ONE_WAY, 3, heads=(LOOK,)), "no head looks up h_{i-1}: h_{i-1} stays 0"),
    (with_head(ONE_WAY, 3, LOOK), "h is looked up twice: by 'cell h' and 'cell h'"),
    (with_layer(ONE_WAY, 4, heads=()), "exactly one head must find the latest write: 0 heads write something"),
    (
        with_head(ONE_WAY, 5, LOOK),
        "layer 5 (symbol), attention: head 'cell h' is not part of the construction: it writes h",
    ),
    (
        with_layer(ONE_WAY, 3, heads=(replace(LOOK, mask="none"), ONE_WAY.layers[2].heads[1])),
        "head 'cell h' is not future-masked average-hard attention: mask 'none', weighting 'average-hard'",
    ),
    (with_layer(ONE_WAY, 6, feed_forward=None), "for token 1 on symbol 1, at cell 0 the layer adds 0 but should add 1"),
    (replace(ONE_WAY, layers=ONE_WAY.layers[:5]), "layout: the construction has six layers: this decoder has 5"),
    (replace(ONE_WAY, bos="ACC"), "layout: the prompt must end with BOS: bos is 'ACC'"),
    (replace(ONE_WAY, stop=("REJ",)), "layout: exactly the verdicts must stop a run: ACC, stop tokens ('REJ',)"),
    (
        replace(ONE_WAY, features=("i", "1", "1/(i+1)", "i")),
        "embedding: the position features must be 1/(i+1), 1, i, i^2, each once: they are i, 1, 1/(i+1), i",
    ),
]


@pytest.mark.parametrize(("decoder", "said"), STRUCTURES)
def test_a_wrong_structure_is_refused(decoder: Decoder, said: str) -> None:
    assert any(said in text for text in refusals(decoder, CHAPTER)), refusals(decoder, CHAPTER)


def renamed(decoder: Decoder, old: str, new: Subspace) -> Decoder:
    subspaces = tuple(new if s.name == old else s for s in decoder.layout.subspaces)
    return replace(decoder, layout=Residual(subspaces))


def test_a_foreign_layout_or_vocabulary_is_refused() -> None:
    found = refusals(renamed(ONE_WAY, "h^2", Subspace("h^2", holds="g")), CHAPTER)
    assert found == [
        "layout: a subspace is missing: there is no h^2",
        "layout: a subspace is not part of the construction: found g",
    ]
    assert "layout: a subspace is not part of the construction: found [h=0]" in refusals(
        renamed(TWO_WAY, "h-", Subspace("h-", holds="[h=0]")), BEAVER
    )
    labels = ONE_WAY.layout.subspace("e_a").labels or ()
    found = refusals(renamed(ONE_WAY, "e_a", Subspace("e_a", ("z", *labels[1:]), holds="e_a")), CHAPTER)
    assert found == [f"layout: e_a must have a direction for each label: there is no e_a[{labels[0]}]"]
    said = "layout: every subspace must be claimed to hold something of its own: "
    found = refusals(renamed(ONE_WAY, "h^2", Subspace("h^2")), CHAPTER)
    assert found == [said + "nothing says what the subspace 'h^2' holds: compile the machine again"]
    found = refusals(renamed(ONE_WAY, "h^2", Subspace("h^2", holds="h")), CHAPTER)
    what = "by what its subspaces are claimed to hold, the residual stream has two directions or subspaces called 'h'"
    assert found == [f"{said}{what}: compile the machine again"]
    other = ("ACC?", *ONE_WAY.vocabulary[1:])
    assert "layout: the vocabulary lacks a token that can occur: 1" in refusals(replace(ONE_WAY, vocabulary=other), CHAPTER)


def test_weights_of_another_machine_and_the_chapters_boundary_are_refused() -> None:
    assert refusals(TWO_WAY, CHAPTER)
    assert refusals(compile_machine(load("palindromes")), load("same-ends"))
    edge = load("left-edge")
    assert refusals(compile_machine(edge, left_boundary="chapter"), edge)
    rules = {("A", "1"): ("A", "1", -1), ("A", "_"): ("A", "1", 0)}
    mixed = Machine(transitions=rules, start="A", blank="_", input_alphabet=("1",), tape="one-way")
    found = refusals(compile_machine(mixed, left_boundary="chapter"), mixed)
    assert found == [
        "layer 6 (transition), feed-forward: e_y[(A,1,-1)] is not what it should be: "
        "for token (A,1,0) on symbol 1, at cell 0 the layer adds 1 but should add 0"
    ]


def test_a_refusal_checks_itself() -> None:
    good = {"layer": 1, "layer_name": "unpack", "part": "feed_forward", "what": "m", "witness": "i = 3"}
    assert str(Refusal(**good)) == "layer 1 (unpack), feed-forward: m: i = 3"
    for wrong, said in (
        ({"layer": -1}, "layer -1 is negative: layers count from 1"),
        ({"witness": ""}, "m: a refusal needs a witness: add the values"),
    ):
        with pytest.raises(ValueError, match=said):
            Refusal(**{**good, **wrong})


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
