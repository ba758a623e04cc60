"""A GPT-2 is right in whatever order a kernel adds up, with and without fused multiply-add."""

from __future__ import annotations

from functools import cache, lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.machines import rewriter, runner
from tests.strategies import machines_with_inputs
from tests.targets.gpt2.kernels import ORDERS, Ordered
from tests.targets.gpt2.reference import wrong
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.gpt2.limits import fitted
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.targets.gpt2.translated import translated

EACH = [(order, fused) for order in ORDERS for fused in (False, True) if not (fused and order == "pairwise")]


@lru_cache(maxsize=4)
def exported(machine: Machine, positions: int, head: int | None, dtype: str, stock: bool = False) -> Gpt2:
    decoder = compile_machine(machine)
    recipe = fitted(decoder, machine, positions=positions, max_head=head, dtype=dtype, stock=stock)
    return translated(decoder, recipe)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "fused"), EACH)
def test_far_cells_that_are_written_again_and_again(order: str, fused: bool) -> None:
    assert wrong(exported(rewriter(), 400, 190, "float32"), rewriter(), "1" * 189, kernel=Ordered(order, fused)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("order", "fused"), EACH)
def test_with_gpt2s_own_epsilon_and_gelu_in_float32(order: str, fused: bool) -> None:
    """At 128 positions, as many as fit."""
    kernel = Ordered(order, fused)
    assert wrong(exported(rewriter(), 128, 55, "float32", True), rewriter(), "1" * 54, kernel=kernel) == []
    assert wrong(exported(runner(), 128, None, "float32", True), runner(), "", kernel=kernel) == []


@pytest.mark.slow
@pytest.mark.parametrize("order", ["backward", "random", "positive first"])
@pytest.mark.parametrize("stock", [False, True])
def test_in_float64(order: str, stock: bool) -> None:
    assert wrong(exported(rewriter(), 400, 190, "float64", stock), rewriter(), "1" * 189, kernel=Ordered(order)) == []


@pytest.mark.slow
@settings(max_examples=15)
@given(machines_with_inputs(), st.sampled_from(EACH), st.sampled_from([("float32", False), ("float32", True)]))
def test_random_machines(case: tuple[Machine, str], kernel: tuple[str, bool], recipe: tuple[str, bool]) -> None:
    machine, word = case
    assert wrong(exported(machine, 60, None, *recipe), machine, word, kernel=Ordered(*kernel)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("order", "fused"), EACH)
@pytest.mark.parametrize(("positions", "head"), [(1200, 500), (2048, 1000), (2048, None)])
def test_at_the_limits_of_float32(order: str, fused: bool, positions: int, head: int | None) -> None:
    """Rewriting cells 498 and 998 for ever, and running right for ever, to the last position that fits in float32."""
    machine, word = (runner(), "") if head is None else (rewriter(), "1" * (head - 1))
    assert wrong(exported(machine, positions, head, "float32"), machine, word, kernel=Ordered(order, fused)) == []


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
