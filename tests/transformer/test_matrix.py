"""The sparse matrix: every check with its words, every round trip, and that nothing can be changed."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tm2tfr.base.errors import ShapeError
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace, at, total

TABLE = [[0.0, 2.0, 0.0], [-1.0, 0.0, 0.5]]
SPARSE = Matrix((2, 3), np.array([1, 0, 1]), np.array([2, 1, 0]), np.array([0.5, 2.0, -1.0]))

dense_arrays = arrays.arrays(
    np.float64,
    arrays.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5),
    elements=st.sampled_from([0.0, -0.0, 1.0, -2.0, 0.5, 1e-300, 1e300]),
)


def sparse(shape: tuple[int, int], rows: list[int], columns: list[int], values: list[float]) -> Matrix:
    return Matrix(shape, np.array(rows), np.array(columns), np.array(values))


# ── checks ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_weight_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(ShapeError, match="not a finite number: weights must be finite"):
        Matrix.from_entries((1, 1), {(0, 0): value})
    with pytest.raises(ShapeError, match="not a finite number: weights must be finite"):
        Matrix.from_dense(np.array([[0.0, value]]))
    with pytest.raises(ShapeError, match="not a finite number: weights must be finite"):
        SPARSE.with_entry(0, 0, value)


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((1, 1, 1))])
def test_a_matrix_has_two_dimensions(array: np.ndarray) -> None:
    with pytest.raises(ShapeError, match=f"a matrix has two dimensions, not {array.ndim}"):
        Matrix.from_dense(array)


# ── forms ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_every_form_of_one_matrix() -> None:
    assert SPARSE.dense().tolist() == TABLE
    assert list(SPARSE.entries()) == [(0, 1, 2.0), (1, 0, -1.0), (1, 2, 0.5)]
    assert SPARSE.by_row() == [{1: 2.0}, {0: -1.0, 2: 0.5}]
    assert SPARSE.nonzero == 3
    assert repr(SPARSE) == "<Matrix 2×3, 3 non-zero>"
    assert [SPARSE.rows.tolist(), SPARSE.columns.tolist()] == [[0, 1, 1], [1, 0, 2]]
    assert SPARSE.dense(np.float32).dtype == np.float32


@given(dense_arrays)
def test_round_trips(array: np.ndarray) -> None:
    matrix = Matrix.from_dense(array)
    assert matrix.shape == array.shape
    assert np.array_equal(matrix.dense(), array)
    assert Matrix.from_dense(matrix.dense()) == matrix
    assert Matrix.from_entries(matrix.shape, {(r, c): v for r, c, v in matrix.entries()}) == matrix
    assert matrix.nonzero == np.count_nonzero(array)
    assert np.array_equal(matrix.transposed.dense(), array.T)
    assert matrix.transposed.transposed == matrix
    thirds = [Fraction(n, 3) for n in range(array.shape[1])]
    product = [sum((Fraction(v) * x for v, x in zip(row, thirds, strict=True)), Fraction(0)) for row in array.tolist()]
    assert matrix.times(thirds) == {r: product[r] for r in sorted(set(matrix.rows.tolist()))}
    assert list(matrix.entries()) == [
        (r, c, v) for r, row in enumerate(array.tolist()) for c, v in enumerate(row) if v != 0
    ]


@pytest.mark.slow
@given(dense_arrays.filter(lambda a: a.size > 0), st.data())
def test_with_entry_changes_that_entry_only_and_in_a_copy(array: np.ndarray, data: st.DataObject) -> None:
    matrix, before = Matrix.from_dense(array), array.copy()
    row, column = (data.draw(st.integers(0, n - 1)) for n in array.shape)
    value = data.draw(st.sampled_from([0.0, 3.0, -0.5]))
    changed = matrix.with_entry(row, column, value)
    assert np.array_equal(matrix.dense(), before)
    before[row, column] = value
    assert np.array_equal(changed.dense(), before)


# ── equality, and nothing changes ───────────────────────────────────────────────────────────────────────────
def test_equal_matrices_are_equal_however_they_were_made() -> None:
    same = Matrix.from_entries((2, 3), {(1, 2): 0.5, (0, 1): 2.0, (0, 0): -0.0, (1, 0): -1.0})
    assert same == SPARSE
    assert hash(same) == hash(SPARSE)
    assert len({same, SPARSE, Matrix.from_dense(np.array(TABLE))}) == 1


@pytest.mark.parametrize(
    "other",
    [
        SPARSE.with_entry(0, 0, 1.0),
        SPARSE.with_entry(0, 1, 0.0),
        SPARSE.with_entry(0, 1, 2.5),
        Matrix.from_entries((3, 3), {(r, c): v for r, c, v in SPARSE.entries()}),
        "a matrix",
        None,
    ],
)
def test_what_differs_is_not_equal(other: object) -> None:
    assert other != SPARSE
    assert (other == SPARSE) is False


def test_a_matrix_is_frozen() -> None:
    for name in ("shape", "rows", "columns", "values"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(SPARSE, name, None)
    for array in (SPARSE.rows, SPARSE.columns, SPARSE.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_arrays_it_was_made_of_stay_the_callers() -> None:
    rows, columns, values = np.array([0]), np.array([0]), np.array([1.0])
    matrix = Matrix((1, 1), rows, columns, values)
    values[0] = 7.0
    assert list(matrix.entries()) == [(0, 0, 1.0)]
    matrix.dense()[0, 0] = 7.0
    assert list(matrix.entries()) == [(0, 0, 1.0)]


@pytest.mark.parametrize("copied", [pickle.loads(pickle.dumps(SPARSE)), copy.deepcopy(SPARSE)], ids=["pickle", "deepcopy"])
def test_a_copy_is_equal_and_frozen_too(copied: Matrix) -> None:
    assert copied == SPARSE
    assert hash(copied) == hash(SPARSE)
    for array in (copied.rows, copied.columns, copied.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_nobody_else_can_write_to_a_matrix() -> None:
    places, values = np.array([[0, 1], [1, 0]]), np.array([1.0, 2.0])
    matrix = Matrix((2, 2), places[0], places[1], values)
    places[:], values[:] = 7, 7.0
    assert list(matrix.entries()) == [(0, 1, 1.0), (1, 0, 2.0)]
    fixed = np.array([3.0, 4.0])
    view = fixed[:]
    view.setflags(write=False)
    seen = Matrix((2, 2), np.array([0, 1]), np.array([1, 0]), view)
    fixed[:] = 7.0
    assert list(seen.entries()) == [(0, 1, 3.0), (1, 0, 4.0)]


def test_rows_of_a_matrix_are_in_order_whatever_theirs_is() -> None:
    assert Matrix.from_rows([{2: 1.0, 0: 2.0}, {}, {1: 0.0, 2: 3.0}], 3) == Matrix(
        (3, 3), np.array([0, 0, 2]), np.array([0, 2, 2]), np.array([2.0, 1.0, 3.0])
    )


# ── the residual stream by name: slices, directions, linear forms, and every refusal with its words
LAYOUT = Residual((Subspace("h"), Subspace("e_q", ("q0", "q1")), Subspace("none", ()), Subspace("1/(i+1)")))


def test_directions_stand_one_after_the_other() -> None:
    assert LAYOUT.directions == ("h", "e_q[q0]", "e_q[q1]", "1/(i+1)")
    assert LAYOUT.width == 4
    assert [LAYOUT.index(d) for d in LAYOUT.directions] == [0, 1, 2, 3]
    assert at("e_q", "q0") == "e_q[q0]"


def test_a_subspace_is_a_slice() -> None:
    x = np.arange(4)
    assert [x[LAYOUT[s.name]].tolist() for s in LAYOUT.subspaces] == [[0], [1, 2], [], [3]]
    assert LAYOUT.subspace("e_q") == Subspace("e_q", ("q0", "q1"))
    assert [s.width for s in LAYOUT.subspaces] == [1, 2, 0, 1]
    assert [name in LAYOUT for name in ("e_q", "none", "e_q[q0]", "q0")] == [True, True, False, False]


def test_a_linear_form_by_coordinates() -> None:
    assert LAYOUT.form({"h": 2.0, "e_q[q1]": -1.0}) == {0: 2.0, 2: -1.0}
    assert LAYOUT.form({}) == LAYOUT.named({}) == {}
    assert LAYOUT.named({0: 2, 2: Fraction(-1, 3)}) == {"h": 2, "e_q[q1]": Fraction(-1, 3)}
    assert total(["h", "e_q[q1]"]) == {"h": 1.0, "e_q[q1]": 1.0}
    assert total([]) == {}


def test_subspaces_are_found_by_what_they_are_claimed_to_hold() -> None:
    layout = Residual((Subspace("a", holds="h"), Subspace("h", ("x",), holds="e_q"), Subspace("b")))
    assert layout.holder("h") is layout.holding("h") is layout.subspace("a")
    assert layout.holder("e_q").name == "h"
    assert layout.holding("b") is None
    assert layout.holding("") is None
    with pytest.raises(ShapeError, match=r"^no subspace is claimed to hold 'b': compile the machine again$"):
        layout.holder("b")


def test_frozen_equal_and_hashable() -> None:
    same = Residual(LAYOUT.subspaces)
    assert same == LAYOUT
    assert hash(same) == hash(LAYOUT)
    assert Residual(LAYOUT.subspaces[::-1]) != LAYOUT
    with pytest.raises(dataclasses.FrozenInstanceError):
        LAYOUT.subspaces = ()  # type: ignore[misc]


@given(st.lists(st.one_of(st.none(), st.lists(st.integers(0, 9), unique=True, max_size=4)), max_size=6))
def test_slices_tile_the_stream(shapes: list[list[int] | None]) -> None:
    spaces = tuple(Subspace(f"s{n}", None if t is None else tuple(map(str, t))) for n, t in enumerate(shapes))
    layout = Residual(spaces)
    coordinates = [c for s in spaces for c in range(layout.width)[layout[s.name]]]
    assert coordinates == list(range(layout.width))
    assert layout.directions == tuple(d for s in spaces for d in s.directions)
