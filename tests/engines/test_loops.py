"""Weights with loops: passes until every position is done, the same in every engine, as the weights say."""

from __future__ import annotations

import dataclasses
import pickle
import random
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest

from tests.engines.looped import TOKENS, counting
from tm2tfr.base.errors import EngineError, ExportError, ShapeError
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import Engine, generate, observe_all, run_whole
from tm2tfr.engines.dense import Dense, DenseDecoder
from tm2tfr.engines.exact import Exact
from tm2tfr.transformer import layers
from tm2tfr.transformer.layers import LayerLoop
from tm2tfr.transformer.listing import listing, summary
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.parts import LOOPS, parts, refuse_export
from tm2tfr.transformer.storage import dumps, loads
from tm2tfr.transformer.weights import Decoder, digest, matrices, replaced

ENGINES: tuple[Engine, ...] = (Dense(), Dense("float32"), Exact())


def answers(decoder: Decoder, word: Iterable[str], engine: Engine) -> list[list[Fraction]]:
    tokens = [decoder.numbers[token] for token in word]
    return [
        [x if isinstance(x, Fraction) else Fraction(float(x)) for x in passed.logits]
        for passed in run_whole(decoder, tokens, engine=engine)
    ]


def expected(word: str, *, times: int | None) -> list[list[Fraction]]:
    left, passes, total = [int(token) for token in word], 0, Fraction(0)
    while passes != times:
        total += Fraction(sum(left), len(left))
        left, passes = [max(0, each - 1) for each in left], passes + 1
        if not any(left):
            break
    return [[Fraction(passes), total, Fraction(2 * passes)]] * len(word)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: f"{engine.name} {engine.dtype}")
@pytest.mark.parametrize("times", [None, 1, 3, 9])
def test_every_position_stops_with_the_last(engine: Engine, times: int | None) -> None:
    for word in ("1", "5", "1132", "2222", "51"):
        found, right = answers(counting(times=times), word, engine), expected(word, times=times)
        assert [[float(x) for x in row] for row in found] == pytest.approx(np.array(right, dtype=float), rel=1e-6)
        assert engine.dtype != "rational" or found == right


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: f"{engine.name} {engine.dtype}")
def test_a_loop_without_a_condition_is_run_as_often_as_it_says(engine: Engine) -> None:
    assert answers(counting(times=4, until=False), "12", engine) == [[4, 2, 8], [4, 2, 8]]


def test_sequences_of_a_batch_stop_after_passes_of_their_own() -> None:
    decoder, rng = counting(), random.Random(5)
    batch = [[rng.randrange(len(TOKENS)) for _ in range(4)] for _ in range(50)] + [[0] * 4]
    for dtype in ("float64", "float32"):
        found = DenseDecoder(decoder, dtype).run(batch).logits
        alone = [run_whole(decoder, row, engine=engine_named("dense", dtype)) for row in batch]
        assert (found.transpose(1, 2, 0) == np.array([[passed.logits for passed in row] for row in alone])).all()
    assert set(found[0, :, 0].tolist()) == {1, 2, 3, 5}


def test_a_refused_sequence_of_a_batch_is_named() -> None:
    decoder = counting(times=40)
    grown = Matrix.from_entries(decoder.layers[2].feed_forward.output.shape, {(1, 1): 1e30})  # type: ignore[union-attr]
    decoder = replaced(decoder, {"layers.3.feed_forward.output": grown})
    batch = [[0, 0], [1, 0], [0, 0], [3, 1]]
    (block,) = DenseDecoder(decoder).blocks(batch, keep_refused=True)
    assert block.refused.tolist() == [False, True, False, True]
    with pytest.raises(EngineError, match=r"layer 3 \(down\), position 0: .* too large for float64"):
        DenseDecoder(decoder).run(batch)


def test_passes_are_watched_one_by_one() -> None:
    for engine in ENGINES:
        seen = observe_all(counting(), ["2", "1"], engine=engine)[0]
        loop = [(1, "attention"), (1, "feed_forward"), (2, "attention"), (2, "feed_forward")]
        first, last = [(-1, "embedding"), (0, "attention"), (0, "feed_forward")], [(3, "attention"), (3, "feed_forward")]
        assert [(layer, part) for layer, part, _ in seen.stages] == [*first, *loop, *loop, *last]
        assert seen.passes == [0] * 7 + [1] * 4 + [0] * 2


@pytest.mark.parametrize("seed", range(8))
def test_sabotaged_weights_give_the_same_wrong_answers(seed: int) -> None:
    """An engine that looked at anything but the weights would not follow what was changed in them."""
    rng, decoder = random.Random(seed), counting(times=12)
    path = rng.choice([path for path, matrix in matrices(decoder).items() if matrix.nonzero])
    matrix = matrices(decoder)[path]
    entries = {(r, c): v for r, c, v in matrix.entries()}
    place = rng.choice(sorted(entries))
    entries[place] *= rng.choice([0.0, 0.5, -1.0, 2.0])
    wrong = replaced(decoder, {path: Matrix.from_entries(matrix.shape, entries)})
    loop = dataclasses.replace(wrong.loops[0], times=rng.randrange(1, 7), first=rng.choice([1, 2, 3]))
    wrong = dataclasses.replace(wrong, loops=(loop,))
    nameless = dataclasses.replace(wrong, provenance={})
    for word in ("1", "251", "3321"):
        exact = answers(wrong, word, Exact())
        dense = answers(nameless, word, Dense())
        assert all(abs(a - b) < 1e-9 for x, y in zip(exact, dense, strict=True) for a, b in zip(x, y, strict=True))


def test_what_runs_position_by_position_refuses_loops() -> None:
    for engine in (Dense(), Exact()):
        with pytest.raises(EngineError, match="run the whole sequence at once"):
            engine.start(counting())
    with pytest.raises(EngineError, match="loops over layers"):
        engine_named("fast").start(counting())
    assert [step.output for step in generate(counting(), ["2", "1"], engine=Dense())] == ["2", "2"]
    assert LOOPS in parts(counting())
    with pytest.raises(ExportError, match="loops over layers"):
        refuse_export(counting(), "GPT-2", known=[part for part in parts(counting()) if part != LOOPS])


def test_a_loop_that_does_not_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = replaced(counting(), {"loops.1.until": Matrix.from_entries((1, 5), {})})
    for module in ("dense", "exact"):
        monkeypatch.setattr(f"tm2tfr.engines.{module}.MOST_PASSES", 7)
    monkeypatch.setattr(layers, "MOST_PASSES", 7)
    for engine in ENGINES:
        with pytest.raises(EngineError, match="has not ended after 7 passes"):
            answers(decoder, "12", engine)


@pytest.mark.parametrize("decoder", [counting(), counting(times=7), counting(times=7, until=False)])
def test_loops_are_in_weight_files_digests_and_listings(decoder: Decoder) -> None:
    again = loads(dumps(decoder))
    assert again == decoder
    assert again.loops == decoder.loops
    assert digest(again) == digest(decoder)
    assert pickle.loads(pickle.dumps(decoder)) == decoder
    assert "1 loop" in repr(decoder)
    assert f"loop 1: {decoder.loops[0].said}" in listing(decoder)
    assert "run again: layers 2 to 3" in summary(decoder)


def test_the_digest_tells_loops_apart() -> None:
    plain = dataclasses.replace(counting(), loops=())
    changed = [counting(), counting(times=7), counting(times=8), counting(times=8, until=False), plain]
    changed.append(replaced(counting(), {"loops.1.until": Matrix.from_entries((1, 5), {(0, 0): 1.0})}))
    changed.append(dataclasses.replace(counting(), loops=(dataclasses.replace(counting().loops[0], first=1),)))
    assert len({digest(decoder) for decoder in changed}) == len(changed)


@pytest.mark.parametrize(
    ("loops", "problem"),
    [
        (lambda: (LayerLoop(first=1, last=5, times=2),), "ends behind layer 4"),
        (
            lambda: (LayerLoop(first=1, last=2, times=2), LayerLoop(first=2, last=3, times=2)),
            "begins before the last one ends",
        ),
        (lambda: (LayerLoop(first=3, last=2, times=2),), "from layer 3 to layer 2"),
        (lambda: (LayerLoop(first=1, last=2, times=0),), "whole numbers from 1 on"),
        (lambda: (LayerLoop(first=1, last=2),), "has no end"),
        (lambda: ("2 times",), "is not a loop"),
        (lambda: (LayerLoop(first=1, last=2, until=Matrix.from_entries((1, 4), {})),), r"loops.1.until has shape \(1, 4\)"),
    ],
)
def test_loops_that_do_not_fit_are_refused(loops, problem: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ShapeError, match=problem):
        dataclasses.replace(counting(), loops=loops())
