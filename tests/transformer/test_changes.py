"""Single weights that are changed: every entry of every matrix by number and by name, as text, and nothing else."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

import tm2tfr
from tests.handmade import normed, tabled
from tm2tfr.base.errors import ShapeError, UsageError
from tm2tfr.transformer.changes import axes, with_changes, with_weight
from tm2tfr.transformer.listing import listing
from tm2tfr.transformer.weights import Decoder, matrices

DECODERS = {
    "machine": lambda: tm2tfr.compile("palindromes"),
    "universal": lambda: tm2tfr.compile(tm2tfr.Universal(states=2, symbols=2)),
    "circuit": lambda: tm2tfr.compile("full-adder"),
    "circuit with norms": lambda: tm2tfr.compile("full-adder", variant="paper"),
    "program with a loop": lambda: tm2tfr.compile("program:looped-parity"),
    "formula": lambda: tm2tfr.compile(tm2tfr.formula("once Q[a]", alphabet="ab")),
    "norms": normed,
    "table": tabled,
}


@pytest.fixture(params=DECODERS)
def decoder(request: pytest.FixtureRequest) -> Decoder:
    return DECODERS[request.param]()


def test_every_matrix_can_be_changed_by_number_by_name_and_as_text(decoder: Decoder) -> None:
    chance = random.Random(1)
    for path, matrix in matrices(decoder).items():
        if 0 in matrix.shape:
            continue
        row, column = (chance.randrange(size) for size in matrix.shape)
        named = [axis.names[n] if axis.names else n for axis, n in zip(axes(decoder, path), (row, column), strict=True)]
        by_number = with_weight(decoder, path, row, column, 2.5)
        assert with_weight(decoder, path, named[0], named[1], 2.5) == by_number
        assert with_changes(decoder, [f" {path}[{named[0]}, {named[1]}] = 5/2"]) == by_number
        changed = matrices(by_number)
        assert changed.pop(path).dense()[row, column] == 2.5
        assert changed == {other: kept for other, kept in matrices(decoder).items() if other != path}


def test_places_may_come_in_either_order_where_names_tell() -> None:
    decoder = tm2tfr.compile("palindromes")
    path = "layers.4.heads.0.query"
    change = with_weight(decoder, path, 1, "h", -1)
    assert with_changes(decoder, [f"{path}[h,1]=-1"]) == with_changes(decoder, [f"{path}[1,h]=−1"]) == change
    assert "query[1] = -h - 1" in listing(change, "4").replace("-1 - h", "-h - 1")
    both = with_changes(decoder, [f"{path}[h,1]=-1", f"{path}[h,0]=0"])
    assert both == with_weight(change, path, 0, "h", 0)


def test_a_name_with_commas_and_brackets() -> None:
    decoder = tm2tfr.compile("palindromes")
    token = next(name for name in decoder.vocabulary if "," in name)
    direction = next(name for name in decoder.layout.directions if token in name)
    changed = with_changes(decoder, [f"unembedding[{token},{direction}]=7", f"unembedding_bias[{token}]=1"])
    by_name = with_weight(decoder, "unembedding", token, direction, 7)
    assert changed == with_weight(by_name, "unembedding_bias", decoder.numbers[token], 0, Fraction(1))


def test_a_name_comes_before_a_number_in_a_text_but_not_in_python() -> None:
    decoder = tm2tfr.compile("palindromes")
    path, one = "layers.4.heads.0.query", decoder.layout.index("1")
    assert with_changes(decoder, [f"{path}[0, 1]=5"]) == with_weight(decoder, path, 0, one, 5)
    assert with_weight(decoder, path, 0, 1, 5) != with_weight(decoder, path, 0, "1", 5)


def test_the_check_finds_the_change_and_the_digest_tells_it() -> None:
    decoder = tm2tfr.compile("palindromes")
    broken = tm2tfr.with_weight("palindromes", "layers.4.heads.0.query", 1, "h", -1)
    trace = tm2tfr.check(broken, "abba")
    assert trace.divergence is not None
    assert trace.divergence.cause is not None
    assert (trace.divergence.position, trace.divergence.cause.layer, trace.divergence.cause.attention is not None) == (
        16,
        4,
        True,
    )
    assert broken.provenance == decoder.provenance
    assert broken != decoder
    assert tm2tfr.with_weight(broken, "layers.4.heads.0.query", 1, "h", 0) == decoder


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, True])
def test_a_value_that_is_not_a_finite_number_is_refused(value: float) -> None:
    with pytest.raises(ShapeError, match="a weight is a finite number"):
        tm2tfr.with_weight("chapter", "unembedding", 0, 0, value)


def test_numbers_of_numpy_are_numbers() -> None:
    decoder = tm2tfr.compile("palindromes")
    path = "layers.4.heads.0.query"
    assert with_weight(decoder, path, np.int64(1), "h", np.float32(0.5)) == with_weight(decoder, path, 1, "h", 0.5)  # type: ignore[arg-type]


def test_numbers_without_end_are_refused_at_once() -> None:
    decoder = tm2tfr.compile("palindromes")
    path = "layers.4.heads.0.query"
    with pytest.raises(ShapeError, match="too large for a float64"):
        with_weight(decoder, path, 1, "h", 10**5000)
    for value in ("1e999999999", "1e400", f"{'9' * 5000}/7", "1/0", "1_0", "0x10", "١"):
        with pytest.raises(UsageError, match="is not a finite number"):
            with_changes(decoder, [f"{path}[1, h] = {value}"])
    with pytest.raises(ShapeError, match="there is no component 1{5000}: use a number from 0 to 2"):
        with_changes(decoder, [f"{path}[{'1' * 5000}, h] = 1"])
    assert with_changes(decoder, [f"{path}[001, h] = 1e-999999999"]) == with_weight(decoder, path, 1, "h", 0)


@pytest.mark.parametrize("path", [None, 4, ["query"]])
def test_a_path_that_is_no_text_is_refused(path: str) -> None:
    with pytest.raises(ShapeError, match="no weight matrix is called"):
        tm2tfr.with_weight("chapter", path, 0, 0, 1)


def test_what_is_not_a_change_says_how_one_is_written() -> None:
    decoder = tm2tfr.compile("palindromes")
    for text in ("", "layers.4", "layers.4.heads.0.query=1", "layers.4.heads.0.query[0,0]", "q@5=q3", "h from 11@6"):
        with pytest.raises(UsageError, match=r"write for example 'layers\.") as error:
            with_changes(decoder, [text])
        example = str(error.value).split("write for example ")[1].strip("'")
        assert with_changes(decoder, [example]) != decoder
