"""Circuits without needless gates."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tm2tfr.sources.circuit.building import Builder, Signal, folded
from tm2tfr.sources.circuit.netlist import Gate


@pytest.mark.parametrize(
    ("table", "operands", "want"),
    [
        ("0110", ("a", "b"), ("0110", ("a", "b"))),
        ("0110", ("a", 1), ("10", ("a",))),
        ("0110", ("a", "a"), ("0", ())),
        ("0001", (0, "a"), ("0", ())),
        ("00010111", ("a", "b", 0), ("0001", ("a", "b"))),
        ("00010111", ("a", "b", "a"), ("01", ("a",))),
        ("00110101", (1, "b", "c"), ("01", ("c",))),
        ("0011", ("a", "b"), ("01", ("a",))),
        ("01010101", ("a", "b", "c"), ("01", ("c",))),
        ("1", (), ("1", ())),
    ],
)
def test_a_function_of_what_matters(table: str, operands: tuple[Signal, ...], want: tuple[str, tuple[str, ...]]) -> None:
    assert folded(table, operands) == want


@pytest.mark.slow
@given(st.data())
def test_folding_keeps_the_function_and_every_net_left_matters(data: st.DataObject) -> None:
    operands = data.draw(st.lists(st.sampled_from(["a", "b", "c", 0, 1]), max_size=3))
    table = "".join(data.draw(st.lists(st.sampled_from("01"), min_size=2 ** len(operands), max_size=2 ** len(operands))))
    small, nets = folded(table, operands)

    def value(of: str, over: list[Signal], bits: dict[str, int]) -> str:
        return of[int("0" + "".join(str(bits[x] if isinstance(x, str) else x) for x in over), 2)]

    cases = [dict(zip("abc", case, strict=True)) for case in product((0, 1), repeat=3)]
    assert [value(small, list(nets), bits) for bits in cases] == [value(table, operands, bits) for bits in cases]
    for net in nets:
        assert any(
            value(small, list(nets), bits) != value(small, list(nets), {**bits, net: 1 - bits[net]}) for bits in cases
        )


def test_a_builder_shares_folds_and_leaves_out() -> None:
    build = Builder(["a", "b", "q"])
    a_and_b = build.gate("x", "AND", "a", "b")
    again = build.gate("y", "AND", "b", "a")
    useless = build.gate("z", "OR", "a", "b")
    negated = build.gate("n", "XOR", again, 1)
    assert (a_and_b, again, useless, negated) == ("x", "x", "z", "n")
    assert build.gate("c", "AND", "a", 0) == 0
    assert build.gate("c", "OR", "a", 0) == "a"
    assert build.finished({"p": negated, "q": 1, "r": "a", "s": negated}) == (
        (Gate("x", "0001", ("a", "b")), Gate("n", "10", ("x",)), Gate("q_1", "1")),
        (("p", "n"), ("q", "q_1"), ("r", "a"), ("s", "n")),
    )
