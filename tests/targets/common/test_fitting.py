"""How many positions an export is for, by conditions that can be worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.targets.common.scripted import CHAPTER, DECODER
from tm2tfr.base.errors import ExportError
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.sources.turing.proof.rounding import Condition
from tm2tfr.targets.common.fitting import Recipe, Requested, fitting, proved
from tm2tfr.transformer.weights import matrices, replaced

LENGTH = Condition(2, "attention", "sum", "", "N ≤ 5,000", lambda n, _: Fraction(n, 5000))
HEAD = Condition(4, "attention", "cell h", "", "H ≤ 1,200", lambda _, h: Fraction(h, 1200))
NEVER = Condition(1, "feed_forward", "units", "", "2 < 1", lambda _n, _h: Fraction(2))


@pytest.mark.parametrize(
    ("positions", "max_head", "found"),
    [
        (None, None, (1024, 1023)),
        (None, 10, (1024, 10)),
        (5, 9, (5, 4)),
        (5, 4, (5, 4)),
        (1201, None, (1201, 1200)),
        (5000, 1200, (5000, 1200)),
        (1, None, (1, 0)),
    ],
)
def test_what_fits(positions: int | None, max_head: int | None, found: tuple[int, int]) -> None:
    assert fitting([LENGTH, HEAD], "m", Requested(positions=positions, max_head=max_head, dtype="float64")) == found


def test_fewer_than_the_usual_number() -> None:
    short = Condition(2, "attention", "sum", "", "N ≤ 7", lambda n, _: Fraction(n, 7))
    assert fitting([short], "m", Requested(positions=None, max_head=None, dtype="float64")) == (7, 6)


@pytest.mark.parametrize(
    ("positions", "max_head", "words"),
    [
        (
            1202,
            None,
            "m: 1,202 positions with |h| ≤ 1,201 do not fit into float32 (layer 4, cell h: H ≤ 1,200): "
            "use positions=1201, or max_head=1200, or dtype='float64'",
        ),
        (
            5001,
            10,
            "m: 5,001 positions with |h| ≤ 10 do not fit into float32 (layer 2, sum: N ≤ 5,000): "
            "use positions=5000, or dtype='float64'",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(positions: int, max_head: int | None, words: str) -> None:
    with pytest.raises(ExportError) as caught:
        fitting([LENGTH, HEAD], "m", Requested(positions=positions, max_head=max_head, dtype="float32"))
    assert str(caught.value) == words


def test_where_nothing_fits() -> None:
    for positions in (None, 1):
        with pytest.raises(ExportError) as caught:
            fitting([LENGTH, NEVER], "m", Requested(positions=positions, max_head=None, dtype="float64"))
        assert str(caught.value) == (
            "m: 1 position with |h| ≤ 0 does not fit into float64 (layer 1, units: 2 < 1): use another machine"
        )
    with pytest.raises(ExportError, match=r": use omit stock$"):
        fitting([NEVER], "m", Requested(positions=None, max_head=None, dtype="float64"), ways=["omit --stock"])


def test_one_wrong_weight_is_refused_where_all_attention_is_right() -> None:
    path = "layers.6.feed_forward.output"
    matrix = matrices(DECODER)[path]
    row, column, value = next(matrix.entries())
    proof = prove(replaced(DECODER, {path: matrix.with_entry(row, column, -value)}), CHAPTER)
    assert proof.lookups is not None
    assert proof.retrieval is not None
    with pytest.raises(ExportError, match="chapter: these weights could not be proved right, see tm2tfr certify: "):
        proved(proof)


def test_what_is_stated() -> None:
    run, rest = "for every input and every run with at most", "greedy generation in float32 gives exactly the machine's run"
    assert Recipe(positions=1, max_head=0, dtype="float32").statement == f"{run} 1 position, {rest}"
    assert Recipe(positions=1024, max_head=1023, dtype="float32").statement == f"{run} 1,024 positions, {rest}"
    assert (
        Recipe(positions=1024, max_head=1022, dtype="float32").statement == f"{run} 1,024 positions and |h| ≤ 1,022, {rest}"
    )
