"""The residual stream by name: slices, directions, linear forms, and every refusal with its words."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tm2tfr.base.errors import ShapeError
from tm2tfr.transformer.residual import Residual, Subspace, at, total

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
