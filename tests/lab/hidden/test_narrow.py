"""Exact products of matrices, and hidden weights in fewer dimensions than their originals."""

from __future__ import annotations

import dataclasses
import json
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tests.lab.hidden.cases import answers, hidden, perfect
from tm2tfr.base.errors import DisguiseError, ShapeError
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.lab.hidden.claim import answer, read_claim
from tm2tfr.lab.hidden.dead_code import prompts_of
from tm2tfr.lab.hidden.disguise import compared
from tm2tfr.lab.hidden.dyadic import Dyadic, Turn, is_orthogonal, padded, product, rounds_for
from tm2tfr.lab.hidden.key import load_key
from tm2tfr.lab.hidden.narrow import matrix_of, narrowed, spanned
from tm2tfr.lab.hidden.score import score
from tm2tfr.lab.hidden.verify import proof_of, verified
from tm2tfr.lab.hidden.wide import widened
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import matrices, replaced


# ── exact products of matrices, and orthogonal matrices with dyadic entries
def by_fractions(left: Dyadic, right: Dyadic) -> list[list[Fraction]]:
    return [
        [sum((Fraction(a) * Fraction(b) for a, b in zip(row, column, strict=True)), Fraction(0)) for column in right.T]
        for row in left
    ]


def test_products_are_exact_whether_floats_can_or_not() -> None:
    draw = random.Random(0)
    for low in (0, 20, 40):  # the last needs integers: partial sums have more than 53 digits
        left, right = (
            np.array([[draw.choice((1, -3, 5)) * 2.0 ** draw.choice((0, -low)) for _ in range(5)] for _ in range(4)])
            for _ in range(2)
        )
        right = right.T.copy()
        right[1] = 0.0
        left[:, 2] = 0.0
        try:
            found = product(left, right)
        except ShapeError:
            assert low == 40
            continue
        assert [[Fraction(v) for v in row] for row in found] == by_fractions(left, right)
    assert product(np.zeros((2, 0)), np.zeros((0, 3))).tolist() == [[0.0] * 3] * 2


def test_a_product_with_too_many_digits_is_refused() -> None:
    third = np.array([[1 / 3, 2.0**-60]])
    with pytest.raises(ShapeError, match=r"the query has more digits than a float64, so the disguise would not be exact"):
        product(third, np.array([[3.0], [1.0]]), "the query")


def test_integers_carry_what_floats_would_round() -> None:
    large = np.array([[2.0**53, 1.0, -(2.0**53)]])
    assert product(large, np.ones((3, 1))).tolist() == [[1.0]]


@pytest.mark.parametrize("size", [4, 8, 64, 100])
def test_a_turn_is_orthogonal_and_full(size: int) -> None:
    turn = Turn.drawn(size, rounds_for(size), random.Random(size))
    assert is_orthogonal(turn.matrix)
    assert np.count_nonzero(turn.matrix) > size * size / 2
    changed = turn.matrix.copy()
    changed[0, 0] += 2.0**-10
    assert not is_orthogonal(changed)


def test_a_turn_that_is_none_is_refused() -> None:
    with pytest.raises(ShapeError, match="a multiple of 4 dimensions, not 6"):
        Turn(6, ())
    for rounds in (((0, 0, 1, 2), (1, 1, 1, 1)), ((0, 1, 2, 3), (1, 1, 1, 2)), ((0, 1, 2, 3), (1, 1, 1))):
        with pytest.raises(ShapeError, match="a permutation of 4 coordinates with a sign for each"):
            Turn(4, (rounds,))
    assert [padded(n) for n in (0, 1, 4, 5)] == [0, 4, 4, 8]


# ── hidden weights in fewer dimensions than their originals: proved, refused below what is needed, and told by the key
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "grade", "least", "width"),
    [("half-adder", 1, 10, 19), ("never-halts", 2, 43, 50), ("reverse", 3, 11, 29), ("since-b", 1, 9, 10)],
)
def test_compressed_weights_answer_the_same(name: str, grade: int, least: int, width: int) -> None:
    made = hidden(name, grade, dimensions="least")
    original, equal = made.key.original, made.key.equal
    assert (len(made.key.kept), original.layout.width) == (least, width)
    assert grade == 3 or made.decoder.layout.width < width
    assert (equal["different"], equal["largest"] < 1e-9) == (0, True)
    assert equal["runs"] > 0
    prompt = prompts_of(original, None, positions=5, runs=6)[-1]
    assert answers(made.decoder, prompt, Exact(), 5) == answers(original, prompt, Exact(), 5)
    assert answers(made.decoder, prompt, Dense(), 5) == answers(original, prompt, Dense(), 5)


def test_each_entry_that_is_changed_is_seen() -> None:
    made = hidden("half-adder", 1, dimensions="least")
    assert verified(made.decoder, made.key).proved
    for path, matrix in matrices(made.decoder).items():
        if matrix.nonzero:
            values = matrix.values.copy()
            values[-1] += 0.5
            changed = replaced(made.decoder, {path: Matrix(matrix.shape, matrix.rows, matrix.columns, values)})
            assert not proof_of(changed, made.key).proved, path


def test_a_key_that_keeps_too_little_or_something_else_is_refused() -> None:
    made = hidden("half-adder", 1, dimensions="least")
    for kept in (made.key.kept[1:], (((0, 2.0),), *made.key.kept[1:]), (((99, 1.0),), *made.key.kept[1:])):
        assert not verified(made.decoder, dataclasses.replace(made.key, kept=kept)).proved, kept
    with pytest.raises(ShapeError, match=r"has the coefficient 1e\+300: use at most 2\^256"):
        narrowed(made.key.original, (((0, 1e300),), *made.key.kept))
    with pytest.raises(ShapeError, match="do not determine everything that is read"):
        narrowed(made.key.original, made.key.kept[1:])


def test_the_error_that_is_said_is_that_of_the_logits() -> None:
    made = hidden("half-adder", 1, dimensions="least")
    bias = made.decoder.unembedding_bias.dense().copy()
    bias[-1] += 2.0**-30
    changed = replaced(made.decoder, {"unembedding_bias": Matrix.from_dense(bias)})
    assert compared(made.key.original, changed, tm2tfr.load("half-adder")).largest == 2.0**-30


def test_what_is_read_is_the_same_on_all_that_can_be_written() -> None:
    """The unembedding, by hand: times whatever is written it is the original's, though its columns are fewer."""
    key = hidden("half-adder", 1, dimensions="least").key
    span = spanned(widened(key.original, 19), key.original.features)
    kept = matrix_of(key.kept, 19)
    right = product(key.original.unembedding.dense(), span)
    assert np.array_equal(product(key.narrow.unembedding.dense(), product(kept, span)), right)
    assert np.linalg.matrix_rank(kept @ span) == 10


def test_dimensions_between_are_taken_and_others_refused() -> None:
    made = hidden("half-adder", 1, dimensions=14)
    assert (made.decoder.layout.width, made.key.equal["different"]) == (14, 0)
    for dimensions, words in (
        (9, "9 is too few dimensions: 10 are the fewest found in which equal scores stay equal, and .*: use 10 to 18"),
        (19, "the original has 19 dimensions, and 19 are not fewer: use 10 to 18"),
        (0, "dimensions are a whole number or 'least', not 0"),
        ("most", "dimensions are a whole number or 'least', not 'most'"),
    ):
        with pytest.raises(DisguiseError, match=words):
            tm2tfr.disguise("half-adder", grade=1, dimensions=dimensions)  # type: ignore[arg-type]
    with pytest.raises(DisguiseError, match="layer norms.*omit dimensions"):
        hidden("half-adder", 1, variant="paper", dimensions="least")


def test_the_key_says_where_variables_are_now(tmp_path: Path) -> None:
    """Each vector of the truth tells of its variable alone: on all that can be written it is a form of its directions."""
    made = hidden("half-adder", 1, dimensions="least")
    made.key.save(tmp_path / "key.json")
    assert load_key(tmp_path / "key.json") == made.key
    assert len(json.loads(made.key.text())["kept"]) == 10
    truth, original = answer(made.key), made.key.original
    found = score(read_claim(perfect(truth).text(), truth), truth)
    assert found.kinds["subspaces"].measure == pytest.approx(1.0)
    span = spanned(widened(original, 19), original.features)
    stream = made.key.basis.matrix @ matrix_of(made.key.kept, 19) @ span
    total = 0
    for subspace in original.layout.subspaces:
        vectors = truth.subspaces.get(subspace.holds or subspace.name, np.zeros((0, 10)))
        own = span[original.layout[subspace.name]]
        rest = vectors @ stream - vectors @ stream @ np.linalg.pinv(own) @ own
        assert np.abs(rest).max(initial=0.0) < 1e-9, subspace.name
        total += len(vectors)
    assert total >= 10
