"""A GPT-2 is right in whatever order a kernel adds up, with and without fused multiply-add."""

from __future__ import annotations

from functools import cache, lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.machines import rewriter, runner
from tests.strategies import machines_with_inputs
from tests.targets.gpt2.kernels import ORDERS, Ordered
from tests.targets.gpt2.reference import Array, wrong
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.gpt2.limits import fitted
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.targets.gpt2.translated import translated

EACH = [(order, fused) for order in ORDERS for fused in (False, True) if not (fused and order == "pairwise")]


Fit = tuple[int, int | None, str, bool]
"""Positions, largest head position, dtype, and whether GPT-2's own epsilon and GELU are kept."""


@lru_cache(maxsize=4)
def exported(machine: Machine, positions: int, head: int | None, dtype: str, stock: bool) -> tuple[Gpt2, dict[str, Array]]:
    decoder = compile_machine(machine)
    found = translated(
        decoder,
        fitted(decoder, reference_of(machine, decoder), positions=positions, max_head=head, dtype=dtype, stock=stock),
    )
    return found, dict(found.tensors())


def missed(machine: Machine, word: str, fit: Fit, kernel: Ordered) -> list[int]:
    """Return the positions at which the machine's GPT-2 is wrong."""
    gpt2, tensors = exported(machine, *fit)
    return wrong(gpt2, machine, word, tensors, kernel)


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize(("order", "fused"), EACH)
def test_far_cells_that_are_written_again_and_again(order: str, fused: bool) -> None:
    assert missed(rewriter(), "1" * 189, (400, 190, "float32", False), Ordered(order, fused)) == []


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize(("order", "fused"), EACH)
def test_with_gpt2s_own_epsilon_and_gelu_in_float32(order: str, fused: bool) -> None:
    """At 128 positions, as many as fit."""
    kernel = Ordered(order, fused)
    assert missed(rewriter(), "1" * 54, (128, 55, "float32", True), kernel) == []
    assert missed(runner(), "", (128, None, "float32", True), kernel) == []


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("order", ["backward", "random", "positive first"])
@pytest.mark.parametrize("stock", [False, True])
def test_in_float64(order: str, stock: bool) -> None:
    assert missed(rewriter(), "1" * 189, (400, 190, "float64", stock), Ordered(order)) == []


@pytest.mark.slow
@settings(max_examples=15)
@given(machines_with_inputs(), st.sampled_from(EACH), st.sampled_from([("float32", False), ("float32", True)]))
def test_random_machines(case: tuple[Machine, str], kernel: tuple[str, bool], recipe: tuple[str, bool]) -> None:
    machine, word = case
    assert missed(machine, word, (60, None, *recipe), Ordered(*kernel)) == []


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize(("order", "fused"), EACH)
@pytest.mark.parametrize(("positions", "head"), [(1200, 500), (2048, 1000), (2048, None)])
def test_at_the_limits_of_float32(order: str, fused: bool, positions: int, head: int | None) -> None:
    """Rewriting cells 498 and 998 for ever, and running right for ever, to the last position that fits in float32."""
    machine, word = (runner(), "") if head is None else (rewriter(), "1" * (head - 1))
    assert missed(machine, word, (positions, head, "float32", False), Ordered(order, fused)) == []


def test_no_order_of_a_sum_of_moves_has_larger_partial_sums_than_the_bound_takes() -> None:
    """All trees: the absolute values of their inner nodes, p steps up and q down, add up to no more than is claimed."""

    @cache
    def most(p: int, q: int) -> int:
        halves = [(a, b) for a in range(p + 1) for b in range(q + 1) if 0 < a + b < p + q]
        return abs(p - q) + max(most(a, b) + most(p - a, q - b) for a, b in halves) if halves else 0

    for p in range(15):
        for q in range(15):
            n, h = p + q, abs(p - q)
            assert n == 0 or most(p, q) <= (n + h) ** 2 / 4 - h * h / 2 + n - 1, (p, q)
