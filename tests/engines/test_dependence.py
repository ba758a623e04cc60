"""What a direction can depend on, by the matrices alone: by hand, and against runs of random decoders."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tm2tfr.engines.dense import Dense
from tm2tfr.engines.dependence import CONSTANT, MORE, POSITION, TOKEN, ZERO, Sources, rows_of, sources
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.transformer.gadgets import Unit, feed_forward, head, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import POSITION_FEATURES
from tm2tfr.transformer.residual import Linear, Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Head, Layer

FEATURES = tuple(POSITION_FEATURES)
FREE = tuple(f"f{n}" for n in range(6))
LAYOUT = Residual(tuple(map(Subspace, (*FEATURES, "a", "b", "k", "k^2", *FREE))))
VOCABULARY = 5
POSITIONS = 128
"""Those of a random position table."""


# ── random decoders ─────────────────────────────────────────────────────────────────────────────────────────
def random_decoder(seed: int, layers: int = 3) -> Decoder:
    """Return a decoder with heads of all kinds, some of which fail a condition in the run, and small weights."""
    chance = random.Random(seed)
    keys = [chance.randint(-4, 6) for _ in range(VOCABULARY)]
    tokens = {}
    for n, key in enumerate(keys):
        square = key * key if chance.random() < 0.97 else key * key + 1
        for name, value in (("a", chance.randint(-2, 3)), ("b", chance.randint(0, 2)), ("k", key), ("k^2", square)):
            tokens[LAYOUT.index(name), n] = float(value)
    place = {(n, n): 1.0 for n in range(len(FEATURES))}
    if chance.random() < 0.3:
        place[LAYOUT.index(chance.choice(FREE)), chance.randrange(len(FEATURES))] = 0.5
    return Decoder(
        layout=LAYOUT,
        vocabulary=tuple(f"t{n}" for n in range(VOCABULARY)),
        bos="t0",
        stop=(),
        features=FEATURES,
        token_embedding=Matrix.from_entries((LAYOUT.width, VOCABULARY), tokens),
        position_embedding=Matrix.from_entries((LAYOUT.width, len(FEATURES)), place),
        layers=tuple(_layer(chance) for _ in range(layers)),
        unembedding=stacked(LAYOUT, [_form(chance, (*FREE, "a", "b"), 3) for _ in range(VOCABULARY)]),
        unembedding_bias=Matrix.from_entries((VOCABULARY, 1), {(1, 0): 0.5}),
    )


def random_tabled(seed: int) -> Decoder:
    """Return a random decoder, with a random position table if `seed` is even."""
    made, chance = random_decoder(seed), random.Random(f"table {seed}")
    return made if seed % 2 else dataclasses.replace(made, position_table=_table(chance))


def _table(chance: random.Random) -> Matrix:
    """Return a position table of a few directions, at most one of them with a feature of its own; few zeros or many."""
    written = [
        *chance.sample((*FREE, "a", "b"), chance.randint(0, 3)),
        *chance.sample(("k", *FEATURES), chance.randint(0, 1)),
    ]
    often = chance.choice((0.1, 0.9))
    entries = {
        (LAYOUT.index(name), i): chance.choice((-1.0, 0.5, 1.0, 2.0, float(i)))
        for name in written
        for i in range(POSITIONS)
        if chance.random() < often
    }
    return Matrix.from_entries((LAYOUT.width, POSITIONS), entries)


def _form(chance: random.Random, names: tuple[str, ...], most: int) -> Linear:
    chosen = chance.sample(names, chance.randint(0, most))
    return {name: chance.choice((-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)) for name in chosen}


def _head(chance: random.Random) -> Head:
    small: tuple[str, ...] = ("a", "b", "k", "1", *FREE)
    carries: list[tuple[Linear, Linear]] = []
    for _ in range(chance.randint(1, 3)):
        carries.append((_form(chance, (*small, "1/(i+1)", "i"), 2), _form(chance, FREE, 2)))
    query: list[Linear]
    key: list[Linear]
    match chance.choice(("mean", "position", "position", "latest", "latest", "earliest", "any")):
        case "mean":
            query, key = [], []
        case "position":
            query = [_form(chance, (*small, "1/(i+1)"), 2), {chance.choice(("1", "1/(i+1)")): -1.0}]
            key = [{"i": 1.0}, {"i^2": chance.choice((0.5, 1.0))}]
        case "latest":
            query = [_form(chance, small, 2), {"1": -1.0}, {chance.choice(("1", "1/(i+1)")): 0.5}]
            key = [{"k": 1.0}, {"k^2": 1.0}, {"i": 1.0}]
        case "earliest":
            query = [{"a": 2.0}, {"1": -1.0}, {"1/(i+1)": -0.5}]
            key = [{"k": 1.0}, {"k^2": 1.0}, {"i": 1.0}]
        case _:
            query, key = [[_form(chance, small, 2) for _ in range(2)] for _ in range(2)]
    return head(LAYOUT, "", "", query=query, key=key, carries=carries)


def _layer(chance: random.Random) -> Layer:
    units = []
    for n in range(chance.randint(0, 5)):
        names = ("a", "b", "k", *FREE[:3]) if chance.random() < 0.5 else ("a", "b", "1", *FREE, "1/(i+1)")
        bias = chance.choice((-1.0, 0.0, 0.0, 0.5))
        reads = {name: weight * chance.choice((1, 1, 0.1)) for name, weight in _form(chance, names, 5).items()}
        units.append(Unit(f"{n}", reads, _form(chance, (*FREE, "a", "b"), 2), bias))
    heads = tuple(_head(chance) for _ in range(chance.choice((0, 1, 1, 2, 3))))
    part = feed_forward(LAYOUT, units) if units else None
    return Layer(name="", meaning="", source="", heads=heads, feed_forward=part)


# ── what is claimed, against runs ───────────────────────────────────────────────────────────────────────────
class Stream:
    """Keeps the residual streams of a run: stage -> one row a position."""

    def __init__(self) -> None:
        self.stages: dict[tuple[int, str], list[Any]] = {}

    def stage(self, layer: int, part: str, residual: Any) -> None:
        self.stages.setdefault((layer, part), []).append(residual)

    def head(self, layer: int, head: int, scores: Any, attended: Any) -> None:
        pass


def streams(decoder: Decoder, tokens: list[int]) -> dict[tuple[int, str], Any]:
    session, stream = Dense().start(decoder), Stream()
    for token in tokens:
        session.feed(token, stream)
    return {stage: np.array(rows) for stage, rows in stream.stages.items()}


def holds(classes: Any, known: Sources, one: Any, other: Any, tokens: tuple[list[int], list[int]]) -> None:
    """Check the claims on two runs; one, other: (positions, width)."""
    for c, claimed in enumerate(classes.tolist()):
        column, second = one[:, c], other[:, c]
        if claimed == ZERO:
            assert not column.any()
        elif claimed == CONSTANT:
            assert len(set(column.tolist())) == 1
        elif claimed == TOKEN:
            assert len(
                {*zip(tokens[0], column.tolist(), strict=True), *zip(tokens[1], second.tolist(), strict=True)}
            ) <= len({*tokens[0], *tokens[1]})
        elif claimed == POSITION:
            assert column.tolist() == second.tolist()
        if claimed in (CONSTANT, POSITION) and known.features[c] >= 0:
            feature = POSITION_FEATURES[FEATURES[known.features[c]]]
            values = [known.weights[c] * (above / below) for above, below in map(feature, range(len(column)))]
            assert column.tolist() == values


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_what_is_claimed_of_a_direction_holds_in_every_run(seed: int, chance: random.Random) -> None:
    decoder = random_tabled(seed)
    known = sources(decoder)
    tokens = tuple([chance.randrange(VOCABULARY) for _ in range(12)] for _ in range(2))
    one, other = (streams(decoder, t) for t in tokens)
    for n, (layer, around) in enumerate(zip(decoder.layers, known.layers, strict=True)):
        before = (n - 1, "feed_forward") if n else (-1, "embedding")
        holds(around.before, known, one[before], other[before], tokens)
        between = (n, "attention")
        holds(around.between, known, one[between], other[between], tokens)
        if (part := layer.feed_forward) is None:
            assert not len(around.by_token)
            continue
        assert len(around.by_token) == len(part.units)
        reads = part.input.dense()[around.by_token].T
        pairs = {(t, *row) for t, row in zip(tokens[0], (one[between] @ reads).tolist(), strict=True)}
        assert len(pairs) == len(set(tokens[0]))
    last = (len(decoder.layers) - 1, "feed_forward")
    holds(known.after, known, one[last], other[last], tokens)


def test_random_decoders_have_directions_of_all_five_kinds_at_the_end() -> None:
    found = np.zeros(5, dtype=int)
    for seed in range(60):
        found += np.bincount(sources(random_decoder(seed)).after, minlength=5)
    assert (found >= 30).all()


# ── by hand ─────────────────────────────────────────────────────────────────────────────────────────────────
def by_hand(*layers: Layer, place: dict[str, str], tokens: tuple[str, ...] = ("a",)) -> Decoder:
    """Return a decoder of two tokens; place: direction -> a position feature, `tokens`: directions of the embedding."""
    embedded = {(LAYOUT.index(name), n): n + 1.0 for name in tokens for n in range(2)}
    features = {(LAYOUT.index(name), FEATURES.index(feature)): 3.0 for name, feature in place.items()}
    return Decoder(
        layout=LAYOUT,
        vocabulary=("0", "1"),
        bos="0",
        stop=(),
        features=FEATURES,
        token_embedding=Matrix.from_entries((LAYOUT.width, 2), embedded),
        position_embedding=Matrix.from_entries((LAYOUT.width, len(FEATURES)), features),
        layers=layers,
        unembedding=stacked(LAYOUT, [{}, {}]),
        unembedding_bias=Matrix.from_entries((2, 1), {}),
    )


def ffn(*units: tuple[Linear, Linear], offset: Linear | None = None) -> Layer:
    part = feed_forward(LAYOUT, [Unit("", reads, writes) for reads, writes in units])
    bias = {(LAYOUT.index(name), 0): value for name, value in (offset or {}).items()}
    part = type(part)(
        input=part.input,
        input_bias=part.input_bias,
        output=part.output,
        output_bias=Matrix.from_entries((LAYOUT.width, 1), bias),
        units=part.units,
    )
    return Layer(name="", meaning="", source="", feed_forward=part)


def after(decoder: Decoder, *names: str) -> list[int]:
    classes = sources(decoder).after
    return [int(classes[LAYOUT.index(name)]) for name in names]


def test_the_embedding() -> None:
    decoder = by_hand(place={"1": "1", "i": "i", "k": "1", "b": "i^2", "f0": "1/(i+1)"}, tokens=("a", "k", "b"))
    assert after(decoder, "1", "i", "f0", "a", "k", "b", "f1") == [CONSTANT, POSITION, POSITION, TOKEN, TOKEN, MORE, ZERO]
    known = sources(decoder)
    at = LAYOUT.index("f0")
    assert (FEATURES[known.features[at]], known.weights[at]) == ("1/(i+1)", 3.0)


def test_a_direction_of_two_features_is_a_multiple_of_neither() -> None:
    decoder = by_hand(place={"f0": "i"})
    both = decoder.position_embedding.with_entry(LAYOUT.index("f0"), FEATURES.index("1"), 1.0)
    known = sources(Decoder(**{**vars(decoder), "position_embedding": both}))
    assert known.features[LAYOUT.index("f0")] == -1
    assert known.after[LAYOUT.index("f0")] == POSITION


@pytest.mark.parametrize(
    ("reads", "written", "found"),
    [
        ({"a": 1}, "f0", TOKEN),
        ({}, "f0", TOKEN),  # what a unit gives is no feature of the embedding any more, though it may be constant
        ({"1": 1}, "f0", TOKEN),
        ({"a": 1, "1": 1}, "1", TOKEN),
        ({"a": 1}, "a", TOKEN),
        ({"a": 1}, "i", MORE),
        ({"i": 1}, "f0", MORE),
        ({"i": 1}, "a", MORE),
        ({"a": 1, "i": 1}, "f0", MORE),
        ({"b": 1}, "f0", TOKEN),  # b is 0
    ],
)
def test_what_a_unit_writes(reads: Linear, written: str, found: int) -> None:
    assert after(by_hand(ffn((reads, {written: 1})), place={"1": "1", "i": "i"}), written) == [found]


@pytest.mark.parametrize(("written", "found"), [("f0", TOKEN), ("1", TOKEN), ("a", TOKEN), ("i", MORE)])
def test_what_an_output_bias_writes(written: str, found: int) -> None:
    assert after(by_hand(ffn(offset={written: 1}), place={"1": "1", "i": "i"}), written) == [found]


def test_terms_that_cancel_count_all_the_same() -> None:
    both = ffn(({"i": 1}, {"f0": 1}), ({"i": 1}, {"f0": -1}))
    assert after(by_hand(both, place={"i": "i"}), "f0") == [MORE]


def test_what_a_head_writes_depends_on_more_from_then_on() -> None:
    looking = head(LAYOUT, "", "", query=[], key=[], carries=[({}, {"f0": 1})])
    layers = (Layer(name="", meaning="", source="", heads=(looking,)), ffn(({"f0": 1}, {"f1": 1})))
    known = sources(by_hand(*layers, place={"1": "1"}))
    at = [LAYOUT.index(name) for name in ("f0", "f1")]
    assert [s.before[at].tolist() for s in known.layers] == [[ZERO, ZERO], [MORE, ZERO]]
    assert [s.between[at].tolist() for s in known.layers] == [[MORE, ZERO], [MORE, ZERO]]
    assert known.after[at].tolist() == [MORE, MORE]
    assert [s.by_token.tolist() for s in known.layers] == [[], [False]]


def test_a_row_of_the_position_table_is_of_the_position_and_no_feature() -> None:
    decoder = by_hand(ffn(({"f1": 1}, {"f2": 1})), place={"1": "1", "i": "i"})
    names = ("1", "i", "a", "f0", "f1")
    table = Matrix.from_entries((LAYOUT.width, 9), {(LAYOUT.index(name), 4): 1.0 for name in names})
    tabled = dataclasses.replace(decoder, position_table=table)
    assert after(decoder, *names, "f2") == [CONSTANT, POSITION, TOKEN, ZERO, ZERO, TOKEN]
    assert after(tabled, *names, "f2") == [POSITION, POSITION, MORE, POSITION, POSITION, MORE]
    assert [int(sources(tabled).features[LAYOUT.index(name)]) for name in names] == [-1] * 5
    assert [int(sources(decoder).features[LAYOUT.index(name)]) for name in ("1", "i")] != [-1] * 2


def test_of_a_compiled_machine_the_token_determines_what_it_was_unpacked_to() -> None:
    decoder = compile_machine(load("chapter"))
    before = sources(decoder).layers[1].before
    kinds = {s.name: set(before[decoder.layout[s.name]].tolist()) for s in decoder.layout.subspaces}
    assert [kinds[name] for name in ("e_x", "e_b", "m")] == [{TOKEN}] * 3
    assert kinds["e_q"] == {TOKEN, ZERO}  # no token says that the machine is in its accepting state
    assert [kinds[name] for name in ("m/(i+1)", "h/(i+1)", "1", "i")] == [{MORE}, {ZERO}, {CONSTANT}, {POSITION}]


def test_rows_of_a_matrix_are_in_order_of_columns() -> None:
    matrix = Matrix.from_entries((3, 4), {(2, 3): 1.0, (2, 0): 2.0, (0, 1): -1.0})
    assert rows_of(matrix) == [[(1, -1.0)], [], [(0, 2.0), (3, 1.0)]]
