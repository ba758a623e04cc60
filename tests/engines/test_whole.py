"""A whole sequence at once: three computations that agree to the last bit, also on weights about which nothing is right."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.engines.labellers import LETTERS, causal, expected, labeller, scrambled, soft, with_heads
from tests.handmade import normed, tabled
from tm2tfr.base.choices import WEIGHTINGS, Float
from tm2tfr.base.errors import EngineError
from tm2tfr.engines import Engine, dense_heads, engine
from tm2tfr.engines.decode import Observation, run_whole
from tm2tfr.engines.dense import Dense, DenseDecoder
from tm2tfr.engines.dense_parts import LinearMap
from tm2tfr.engines.exact import Exact
from tm2tfr.transformer.attention import in_sight, softmax
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, Head, Norm, matrices, replaced

WORDS = ("a", "c", "ab", "aab", "cabba", "abcabcabc")


def numbers(decoder: Decoder, word: Sequence[str]) -> list[int]:
    return [decoder.numbers[token] for token in word]


def random_tokens(decoder: Decoder, n: int, seed: int = 0, batch: int = 1) -> list[list[int]]:
    made = random.Random(seed)
    return [[made.randrange(len(decoder.vocabulary)) for _ in range(n)] for _ in range(batch)]


# ── what it computes ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("word", WORDS)
def test_heads_see_what_their_masks_let_them_see(word: str) -> None:
    made = labeller()
    for there, (token, (a, n), same) in zip(
        run_whole(made, numbers(made, word), engine=Exact()), expected(word), strict=True
    ):
        want = [*(int(letter == token) for letter in LETTERS), Fraction(a, n), int(same == "yes"), int(same == "no")]
        assert there.logits == want
    for dtype in ("float64", "float32"):
        found = run_whole(made, numbers(made, word), engine=Dense(dtype))
        for there, (token, (a, n), same) in zip(found, expected(word), strict=True):
            share = np.dtype(dtype).type(a) / np.dtype(dtype).type(n)
            want = [*(float(letter == token) for letter in LETTERS), share, float(same == "yes"), float(same == "no")]
            assert there.logits.tolist() == want
            assert there.logits.dtype == dtype


def test_what_is_visible() -> None:
    assert [list(in_sight("future", i, 3)) for i in range(3)] == [[0], [0, 1], [0, 1, 2]]
    assert [list(in_sight("past", i, 3)) for i in range(3)] == [[0, 1, 2], [1, 2], [2]]
    assert [list(in_sight("none", i, 3)) for i in range(3)] == [[0, 1, 2]] * 3


@pytest.mark.parametrize("name", ["dense", "exact"])
def test_an_empty_sequence_has_no_positions(name: str) -> None:
    assert run_whole(labeller(), [], engine=engine(name)) == []


# ── the whole at once, and position by position ─────────────────────────────────────────────────────────────
def one_by_one(decoder: Decoder, tokens: Sequence[int], engine: Engine) -> list[tuple[list[Any], list[Any]]]:
    session, found = engine.start(decoder), []
    for token in tokens:
        session.feed(token)
        found.append((list(session.residual), list(session.logits)))
    return found


@pytest.mark.parametrize("chosen", [Dense(), Dense("float32"), Exact()], ids=["float64", "float32", "exact"])
def test_weights_that_look_back_are_the_same_both_ways(chosen: Engine) -> None:
    ways = [weighting for weighting in WEIGHTINGS if weighting != "softmax"]
    decoders = [scrambled(seed, weighting=ways[seed % len(ways)]) for seed in range(12)]
    decoders = [with_heads(each, lambda h: dataclasses.replace(h, mask="future")) for each in decoders]
    decoders += [causal(), tabled()] if chosen.dtype == "rational" else [causal(), tabled(), normed(0.5), soft(causal())]
    for decoder in decoders:
        (tokens,) = random_tokens(decoder, 3)
        whole = run_whole(decoder, tokens, engine=chosen)
        assert [(list(there.residual), list(there.logits)) for there in whole] == one_by_one(decoder, tokens, chosen)


# ── the definition, number by number ────────────────────────────────────────────────────────────────────────────
def by_hand(decoder: Decoder, tokens: Sequence[int], dtype: Float) -> tuple[list[list[float]], list[list[float]]]:
    """The streams and logits of a sequence without norms: one number after the other, each rounded to `dtype`."""
    kind, n = np.dtype(dtype).type, len(tokens)

    def times(matrix: Matrix, x: Sequence[Any]) -> list[Any]:
        total = [kind(0)] * matrix.shape[0]
        for row, column, value in matrix.entries():
            total[row] = total[row] + kind(value) * x[column]
        return total

    def plus(one: Sequence[Any], two: Sequence[Any]) -> list[Any]:
        return [a + b for a, b in zip(one, two, strict=True)]

    def carried(head: Head, queries: list[list[Any]], keys: list[list[Any]], values: list[list[Any]], i: int) -> list[Any]:
        seen = in_sight(head.mask, i, n)
        scores = []
        for j in seen:
            terms = [queries[i][c] * keys[j][c] for c in head.components]
            scores.append(functools.reduce(lambda total, term: total + term, terms, kind(0)))
        weights = softmax(np.array(scores, dtype=dtype)) if head.weighting == "softmax" and len(head.components) else None
        total = [kind(0)] * head.value.shape[0]
        hits = [j for j, score in zip(seen, scores, strict=True) if score == max(scores)]
        hits = {"leftmost": [min(hits)], "rightmost": [max(hits)]}.get(head.weighting, hits)  # Definition 2
        if weights is None:
            for j in hits:
                total = plus(total, values[j])
            return [number / kind(len(hits)) for number in total]
        for j, weight in zip(seen, weights, strict=True):
            total = plus(total, [value * weight for value in values[j]])
        return total

    streams = []
    for i, token in enumerate(tokens):
        features = [kind(above / below) for above, below in (feature(name)(i) for name in decoder.features)]
        x = plus([kind(v) for v in decoder.token_embedding.dense()[:, token]], times(decoder.position_embedding, features))
        table = decoder.position_table
        streams.append(x if table is None else plus(x, [kind(v) for v in table.dense()[:, i]]))
    for layer in decoder.layers:
        before = list(streams)
        for head in layer.heads:
            maps = [[times(matrix, x) for x in before] for matrix in (head.query, head.key, head.value)]
            for i in range(n):
                streams[i] = plus(streams[i], times(head.output, carried(head, *maps, i)))
        if (part := layer.feed_forward) is not None:
            for i, x in enumerate(streams):
                hidden = plus(times(part.input_bias, [kind(1)]), times(part.input, x))
                added = times(part.output, [max(number, kind(0)) for number in hidden])
                streams[i] = plus(plus(x, added), times(part.output_bias, [kind(1)]))
    logits = [plus(times(decoder.unembedding_bias, [kind(1)]), times(decoder.unembedding, x)) for x in streams]
    return [list(map(float, x)) for x in streams], [list(map(float, x)) for x in logits]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("seed", range(4))
def test_every_number_is_that_of_the_definition(seed: int, weighting: Any, dtype: Float) -> None:
    decoder = scrambled(seed, integers=seed == 3, positions=5 if seed % 2 else None, weighting=weighting)
    (tokens,) = random_tokens(decoder, 5, seed)
    streams, logits = by_hand(decoder, tokens, dtype)
    found = run_whole(decoder, tokens, engine=Dense(dtype))
    assert [there.residual.tolist() for there in found] == streams
    assert [there.logits.tolist() for there in found] == logits


@pytest.mark.parametrize("many", [1, 2, 40])
def test_linear_maps_add_in_the_same_order_at_any_number_of_places(many: int) -> None:
    """Of few entries and of many: `LinearMap` takes other ways."""
    chance = np.random.default_rng(many)
    for shape in ((3, 5), (9, 40)):
        matrix = Matrix.from_dense(np.where(chance.random(shape) < 0.7, chance.normal(size=shape), 0.0))
        made, x = LinearMap(matrix, np.dtype("float64")), chance.normal(size=(shape[1], many, 3))
        one_by_one = np.array([[made(x[:, b, i]) for i in range(3)] for b in range(many)]).transpose(2, 0, 1)
        start = chance.normal(size=(shape[0], many, 3))
        added, constants = start.copy(), start[:, 0, 0].copy()
        made.add_to(added, x)
        assert made(x).tolist() == one_by_one.tolist()
        assert added[made.rows].tolist() == (start[made.rows] + one_by_one).tolist()
        assert made.plus(constants, x)[made.rows].tolist() == (constants[made.rows, None, None] + one_by_one).tolist()


def test_scores_of_long_sequences_are_computed_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [run_whole(scrambled(seed), random_tokens(scrambled(seed), 7)[0], engine=Dense()) for seed in range(4)]
    monkeypatch.setattr(dense_heads, "SCORES", 20)
    parts = [run_whole(scrambled(seed), random_tokens(scrambled(seed), 7)[0], engine=Dense()) for seed in range(4)]
    assert [[x.residual.tolist() for x in run] for run in whole] == [[x.residual.tolist() for x in run] for run in parts]


# ── many at once ────────────────────────────────────────────────────────────────────────────────────────────
def same_as_one_at_a_time(decoder: Decoder, tokens: list[list[int]], dtype: Float) -> None:
    block = DenseDecoder(decoder, dtype).run(tokens)
    assert (block.residual.dtype, block.logits.dtype) == (dtype, dtype)
    assert block.residual.shape == (decoder.layout.width, len(tokens), len(tokens[0]))
    assert block.logits.shape == (decoder.answers, len(tokens), len(tokens[0]))
    for b, sequence in enumerate(tokens):
        for i, there in enumerate(run_whole(decoder, sequence, engine=Dense(dtype))):
            assert block.residual[:, b, i].tolist() == there.residual.tolist()
            assert block.logits[:, b, i].tolist() == there.logits.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("seed", range(12))
def test_many_at_once_are_bit_by_bit_what_each_is(seed: int, weighting: Any, dtype: Float) -> None:
    decoder = scrambled(seed, integers=seed % 3 == 0, positions=5 if seed % 2 else None, weighting=weighting)
    for n in (1, 5):
        same_as_one_at_a_time(decoder, random_tokens(decoder, n, seed, batch=3), dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_many_at_once_through_norms(dtype: Float) -> None:
    same_as_one_at_a_time(normed(0.5), random_tokens(normed(), 6, batch=4), dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_many_at_once_of_the_small_one(dtype: Float) -> None:
    for made in (labeller(), causal(), soft(labeller())):
        same_as_one_at_a_time(made, [numbers(made, word) for word in ("abcab", "aaaaa", "cbcba")], dtype)


def test_blocks_are_small_where_memory_is() -> None:
    made = labeller()
    tokens = random_tokens(made, 7, batch=50)
    whole, parts = DenseDecoder(made).run(tokens), list(DenseDecoder(made, memory=20_000).blocks(tokens))
    assert len(parts) > 5
    assert [part.sequences.start for part in parts] == [0, *(part.sequences.stop for part in parts[:-1])]
    assert parts[-1].sequences.stop == 50
    for name in ("residual", "logits"):
        joined = np.concatenate([getattr(part, name) for part in parts], axis=1)
        assert joined.tolist() == getattr(whole, name).tolist()
    assert len(list(DenseDecoder(made, memory=1).blocks(tokens))) == 50


def test_no_sequences_and_no_positions() -> None:
    made = labeller()
    assert DenseDecoder(made).run(np.zeros((0, 4), dtype=np.int64)).logits.shape == (6, 0, 4)
    assert DenseDecoder(made).run(np.zeros((2, 0), dtype=np.int64)).residual.shape == (made.layout.width, 2, 0)


# ── blind: weights that are wrong give the same wrong numbers everywhere ────────────────────────────────────
def sabotaged(decoder: Decoder, seed: int) -> Decoder:
    """A decoder with one entry of one of its matrices changed, chosen at random."""
    made = random.Random(seed)
    path, matrix = made.choice([(p, m) for p, m in matrices(decoder).items() if 0 not in m.shape])
    place = (made.randrange(matrix.shape[0]), made.randrange(matrix.shape[1]))
    return replaced(decoder, {path: matrix.with_entry(*place, made.choice([-2.0, 0.5, 3.0]))})


@pytest.mark.parametrize("seed", range(25))
def test_engines_run_the_weights_and_nothing_else(seed: int) -> None:
    """Sums of dyadic numbers: nothing is rounded but the share, which words of four letters do not."""
    made, word = sabotaged(labeller(), seed), "abca"
    exact = run_whole(made, numbers(made, word), engine=Exact())
    dense = run_whole(made, numbers(made, word), engine=Dense())
    batch = DenseDecoder(made).run([numbers(made, word)])
    for i, (one, two) in enumerate(zip(exact, dense, strict=True)):
        if all(number.denominator & (number.denominator - 1) == 0 for number in map(Fraction, one.residual)):
            assert [float(number) for number in one.residual] == two.residual.tolist()
            assert [float(number) for number in one.logits] == two.logits.tolist()
        else:
            assert two.residual.tolist() == pytest.approx([float(number) for number in one.residual])
        assert batch.residual[:, 0, i].tolist() == two.residual.tolist()
        assert batch.logits[:, 0, i].tolist() == two.logits.tolist()


def test_sabotage_shows() -> None:
    right = DenseDecoder(labeller()).run([numbers(labeller(), "abca")])
    changed = [DenseDecoder(sabotaged(labeller(), seed)).run([numbers(labeller(), "abca")]) for seed in range(25)]
    assert sum(found.residual.tolist() != right.residual.tolist() for found in changed) > 10


def test_names_change_nothing() -> None:
    made = labeller()
    spaces = tuple(
        dataclasses.replace(s, name=f"s{n}", holds="", labels=s.labels and tuple(f"l{k}" for k in range(len(s.labels))))
        for n, s in enumerate(made.layout.subspaces)
    )
    bare = dataclasses.replace(
        made,
        layout=type(made.layout)(spaces),
        vocabulary=("x", "y", "z"),
        outputs=tuple(Output(f"o{n}", None) for n in range(6)),
        provenance={},
    )
    for name in ("dense", "exact"):
        one, two = (run_whole(decoder, [0, 1, 2, 0], engine=engine(name)) for decoder in (made, bare))
        assert [list(there.logits) for there in one] == [list(there.logits) for there in two]


# ── watched from the inside ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", ["dense", "exact"])
def test_every_position_can_be_watched(name: str) -> None:
    made, word = labeller(), "abca"
    watches = {i: Observation() for i in range(4)}
    found = run_whole(made, numbers(made, word), engine=engine(name), watches=watches)
    for i, seen in watches.items():
        assert [(layer, part) for layer, part, _ in seen.stages] == [
            (-1, "embedding"),
            (0, "attention"),
            (0, "feed_forward"),
            (1, "attention"),
            (1, "feed_forward"),
        ]
        assert list(seen.stages[-1][2]) == list(found[i].residual)
        assert [list(map(int, attended)) for _, attended in seen.heads.values()] == [
            [min(i + 1, 3)],
            [0, 1, 2, 3],
            [max(i - 1, 0)],
        ]
        assert [len(scores) for scores, _ in seen.heads.values()] == [4 - i, 4, i + 1]
        following = [2 * (i + 1) * j - j * j for j in range(i, 4)]
        assert list(seen.heads[0, 0][0]) == following
    plain = run_whole(made, numbers(made, word), engine=engine(name))
    assert [list(there.residual) for there in plain] == [list(there.residual) for there in found]


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_fast_engine_does_not_run_a_sequence_at_once() -> None:
    pytest.importorskip("numba")
    words = (
        "^the fast engine runs position by position, not a whole sequence at once: use the dense engine or the exact one$"
    )
    with pytest.raises(EngineError, match=words):
        run_whole(labeller(), [0], engine=engine("fast"))
    words = (
        "^these weights have no BOS, heads that look ahead and outputs by name, which the fast engine cannot run: use the"
    )
    with pytest.raises(EngineError, match=words.replace("no BOS, ", "")):
        engine("fast").start(labeller())
    with pytest.raises(EngineError, match="^these weights have outputs by name, which the fast engine cannot run: use"):
        engine("fast").start(causal())


HUGE = {
    "token_embedding": ("token", "embedding, position 1: direction 'token[b]' of the stream is too large for float64"),
    "layers.1.heads.0.query": ("i", "layer 1 (look), head 'next', position 0: a score is too large for float64"),
    "layers.1.heads.1.output": ("", "layer 1 (look), position 0: direction 'share' of the stream is too large for float64"),
    "layers.2.feed_forward.input": (
        "1",
        "layer 2 (compare), position 0: the sum of hidden unit 'a' is too large for float64",
    ),
    "unembedding": ("1", "unembedding, position 0: the logit of 'next[a]' is too large for float64"),
}


def enlarged(path: str) -> Decoder:
    """`labeller` with numbers that get too large at one place."""
    made, top = labeller(), 1.7e308
    layout = made.layout
    one, i = layout.index("1"), layout.index("i")
    entries = {
        "token_embedding": {(layout.index("token[b]"), 1): top},
        "layers.1.heads.0.query": {(0, i): top, (0, one): top},
        "layers.1.heads.1.output": {(layout.index("share"), 0): top},
        "layers.2.feed_forward.input": {(0, one): top},
        "unembedding": {(0, one): top},
    }[path]
    matrix = matrices(made)[path]
    changed = {path: Matrix.from_entries(matrix.shape, {(r, c): v for r, c, v in matrix.entries()} | entries)}
    if path == "token_embedding":
        table = {(layout.index("token[b]"), 1): top}
        return dataclasses.replace(replaced(made, changed), position_table=Matrix.from_entries((layout.width, 4), table))
    if path == "layers.1.heads.1.output":
        carried = matrices(made)["layers.1.heads.1.value"].with_entry(0, layout.index("token[a]"), 2.0)
        changed["layers.1.heads.1.value"] = carried
    if path in ("layers.2.feed_forward.input", "unembedding"):
        features = matrices(made)["position_embedding"].with_entry(one, 0, 2.0)
        changed["position_embedding"] = features
    return replaced(made, changed)


@pytest.mark.parametrize("path", HUGE)
def test_numbers_that_are_too_large_are_refused_in_the_same_words(path: str) -> None:
    made = enlarged(path)
    tokens = [0, 1, 0] if path != "layers.1.heads.1.output" else [0, 0, 0]
    found = []
    for run in (
        lambda: run_whole(made, tokens, engine=Dense()),
        lambda: DenseDecoder(made).run([tokens]),
        lambda: DenseDecoder(made).run([tokens, tokens]),
    ):
        with pytest.raises(EngineError) as refused:
            run()
        found.append(str(refused.value))
    assert set(found) == {f"{HUGE[path][1]}: use engine='exact', or smaller weights"}
    assert len(run_whole(made, tokens, engine=Exact())) == 3


def test_a_sequence_that_is_not_too_large_is_run_beside_none_that_is() -> None:
    made = dataclasses.replace(enlarged("token_embedding"), layers=())
    assert DenseDecoder(made).run([[0, 0, 1]]).logits.shape == (6, 1, 3)
    with pytest.raises(EngineError, match=r"^embedding, position 1: direction 'token\[b\]'"):
        DenseDecoder(made).run([[0, 0, 1], [0, 1, 0]])


def test_a_norm_that_divides_by_0_is_refused() -> None:
    made = labeller()
    gain = Matrix.from_entries((made.layout.width, 1), {(0, 0): 1.0})
    norm = Norm(gain=gain, bias=Matrix.from_entries(gain.shape, {}))
    empty = Matrix.from_entries((made.layout.width, 3), {})
    bare = dataclasses.replace(made, norm=norm, layers=())
    flat = replaced(bare, {"token_embedding": empty, "position_embedding": empty})
    words = "^norm before the unembedding, position 0: its variance and its epsilon are 0, so that it divides by 0: use an"
    for run in (lambda: run_whole(flat, [0], engine=Dense()), lambda: DenseDecoder(flat).run([[0]])):
        with pytest.raises(EngineError, match=words):
            run()
