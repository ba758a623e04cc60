"""Position features by name, and that whoever reads weights computes the same from them."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.handmade import shifted, turned
from tests.targets.matrices.programs import BOTH
from tm2tfr.api.targets import export_to
from tm2tfr.base.errors import EngineError, ShapeError
from tm2tfr.engines import engine
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.engines.overflow import reach
from tm2tfr.engines.recognise import recognise
from tm2tfr.runs.choose import engines
from tm2tfr.runs.plan import RunOptions
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.gadgets import head, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import POSITION_FEATURES, feature
from tm2tfr.transformer.residual import Linear, Residual, Subspace
from tm2tfr.transformer.soft import largest_entry
from tm2tfr.transformer.storage import dumps, loads
from tm2tfr.transformer.weights import Decoder, Layer

PREDICATES = ("i mod 2 = 1", "i mod 7 = 0", "i mod 12 = 11", "i mod 1 = 0", "prime(i)", "square(i)", "power of 2(i)")
NAMES = (*POSITION_FEATURES, *PREDICATES, "(-1)^i")


def telling(names: tuple[str, ...] = NAMES) -> Decoder:
    """Tells every feature of every position, as numbers."""
    layout = Residual(tuple(map(Subspace, names)))
    forms: list[Linear] = [{name: 1.0} for name in names]
    return Decoder(
        layout=layout,
        vocabulary=("a",),
        bos=None,
        stop=(),
        features=names,
        token_embedding=Matrix.from_entries((len(names), 1), {}),
        position_embedding=turned(stacked(layout, forms)),
        layers=(Layer(name="", meaning="", source=""),),
        unembedding=stacked(layout, forms),
        unembedding_bias=Matrix.from_entries((len(names), 1), {}),
        outputs=tuple(Output(name, None) for name in names),
    )


def told(i: int) -> list[Fraction]:
    """Every feature of i, by its definition."""
    prime = i > 1 and not [d for d in range(2, i) if i % d == 0]
    square, power = any(d * d == i for d in range(i + 1)), any(2**d == i for d in range(i + 1))
    modulo = [i % 2 == 1, i % 7 == 0, i % 12 == 11, True]
    own = [Fraction(1, i + 1), 1, i, i * i]
    return [Fraction(each) for each in (*own, *modulo, prime, square, power, (-1) ** i)]


# ── by name ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_every_feature_is_what_it_is_called() -> None:
    for i in range(200):
        assert [Fraction(*feature(name)(i)) for name in NAMES] == told(i)
    assert [feature(name)(2**31 - 1) for name in PREDICATES] == [(n, 1) for n in (1, 0, 0, 1, 1, 0, 0)]  # a prime


OTHERS = (
    *("", "I", "i^x", "prime", "prime(i) ", "odd(i)", "i mod 3", "i mod 3 = 3", "i mod 0 = 0", "i mod 3 = -1"),
    *("i mod 03 = 1", "i mod 3 = 01", "i  mod 3 = 1", "i mod 3 = 1 ", "i mod ٣ = 1", f"i mod {'9' * 5000} = 1"),
)


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_is_known(name: str) -> None:
    with pytest.raises(ShapeError) as error:
        feature(name)
    use = "1/(i+1), 1, i, i^2, prime(i), square(i), power of 2(i), (-1)^i, i mod M = R with whole numbers 0 ≤ R < M"
    assert str(error.value) == f"unknown position feature {name!r}: use {use}, or an expression in i and n"


def test_what_is_known_of_their_values() -> None:
    for name in NAMES:
        known, values = feature(name), [Fraction(*feature(name)(i)) for i in range(100)]
        assert known.largest(100) == max(map(abs, values))
        signs = {(value > 0) - (value < 0) for value in values}
        assert {"positive": {1}, "0 or more": {0, 1}, "any sign": {-1, 1}}[known.values] in (signs, signs | {0})
    assert reach(telling()).everything


def test_the_largest_entry_is_not_always_at_an_end() -> None:
    place = Matrix.from_entries((len(NAMES), len(NAMES)), {(0, NAMES.index("square(i)")): -5.0})
    decoder = dataclasses.replace(telling(), position_embedding=place)
    assert largest_entry(decoder, 4) == 5.0  # 0, 1 and 4 are squares, and 3 is not
    assert largest_entry(telling(("(-1)^i",)), 2) == 1.0


# ── whoever reads weights ───────────────────────────────────────────────────────────────────────────────────
def test_engines_agree_on_every_feature() -> None:
    decoder, n = telling(), 60
    wanted = [told(i) for i in range(n)]
    assert [seen.logits for seen in run_whole(decoder, [0] * n, engine=engine("exact"))] == wanted
    floats = np.array(wanted, dtype=np.float64)
    assert (np.array([seen.logits for seen in run_whole(decoder, [0] * n, engine=engine("dense"))]) == floats).all()
    assert (floats == DenseDecoder(decoder).run(np.zeros((1, n), dtype=np.int64)).logits[:, 0].T).all()


@pytest.mark.slow
@pytest.mark.parametrize("to", BOTH)
def test_exports_compute_every_feature(to: str, tmp_path: Path) -> None:
    report = export_to(to, telling(), tmp_path / "x")
    assert len(report.runs) > 0


def test_a_weight_file_has_them() -> None:
    assert loads(dumps(telling())) == telling()


def test_the_fast_engine_refuses_them_by_name_and_auto_does_not_choose_it() -> None:
    odd = dataclasses.replace(shifted(), features=("1", "i", "i mod 2 = 1"))
    with pytest.raises(
        EngineError, match=r"^the fast engine does not know the position feature 'i mod 2 = 1': use the dense engine$"
    ):
        engine("fast").start(odd)
    assert [found.name for found, _ in engines(odd, 3, RunOptions(max_steps=10_000))] == ["dense"]
    assert [found.name for found, _ in engines(shifted(), 3, RunOptions(max_steps=10_000))][-1] == "fast"


@pytest.mark.parametrize(("tie", "kind"), [("1", "latest"), ("(-1)^i", "scan"), ("i mod 2 = 1", "scan")])
def test_a_tie_break_that_may_be_0_or_negative_has_no_sign(tie: str, kind: str) -> None:
    names = ("i", "1", "k", "k^2", tie)
    layout = Residual(tuple(map(Subspace, dict.fromkeys(names))))
    query: list[Linear] = [{"k": 2.0}, {"1": -1.0}, {tie: 1.0}]
    key: list[Linear] = [{"k": 1.0}, {"k^2": 1.0}, {"i": 1.0}]
    looking = head(layout, "h", "", query=query, key=key, carries=[({"k": 1.0}, {"k": 1.0})])
    features = tuple(dict.fromkeys(("i", "1", tie)))
    width = layout.width
    decoder = dataclasses.replace(
        telling(("1",)),
        layout=layout,
        features=features,
        token_embedding=Matrix.from_entries((width, 1), {(layout.index("k"), 0): 1.0, (layout.index("k^2"), 0): 1.0}),
        position_embedding=turned(stacked(layout, [{name: 1.0} for name in features])),
        layers=(Layer(name="", meaning="", source="", heads=(looking,)),),
        unembedding=Matrix.from_entries((1, width), {}),
    )
    ((found,),) = recognise(decoder)
    assert found.kind == kind
