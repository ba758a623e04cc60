"""The bounds on N and H: an adversary finds no wrong pick below them, and finds one within 16 times each."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

import tm2tfr
from benchmarks.machines import rewriter, runner
from tests.runs.checking import check
from tests.sources.turing.proof.scores import latest_ties, lookup_picks, near, other_cells, positions
from tm2tfr.certificates.kit import DIGITS
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.sources.turing.proof.rounding import Condition, equal_keys_use, largest, lookup_use
from tm2tfr.transformer.weights import Decoder, Head

MACHINES = {"two-way": load("busy-beaver-5"), "one-way": load("chapter")}
DECODERS = {tape: compile_machine(machine) for tape, machine in MACHINES.items()}
PROOFS = {tape: prove(DECODERS[tape], machine) for tape, machine in MACHINES.items()}
LOOKUPS = [
    ("two-way", "cell h+"),
    ("two-way", "cell h-"),
    ("two-way", "cell h_{i-1}+"),
    ("two-way", "cell h_{i-1}-"),
    ("one-way", "cell h"),
    ("one-way", "cell h_{i-1}"),
]
FAR = {"float32": 2**24 - 1, "float64": 2**31 - 2}
"""The last position that is tried."""


def head_called(decoder: Decoder, name: str) -> Head:
    return next(head for layer in decoder.layers for head in layer.heads if head.name == name)


def largest_head(tape: str, dtype: str, where: str) -> int:
    """The largest H for which the conditions of layer 3 that say `where` hold; N does not occur in them."""
    found = [c for c in PROOFS[tape].conditions("dense", dtype) if c.layer == 3 and c.part == "attention"]
    chosen = [c for c in found if ("h_{i-1}" in c.where) == ("h_{i-1}" in where)]
    assert len(chosen) == 1
    low, high = 0, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if chosen[0].holds(1, middle) else (low, middle)
    return low


def lookups(name: str, bound: int, dtype: str, count: int) -> Iterator[tuple[int, int, int, int]]:
    """(i, h, m, t): the head `name` looks up t."""
    rng = np.random.default_rng(len(name) + bound)
    sign = -1 if name.endswith("-") else 1
    for number in near(bound, rng, count):
        for i in positions(number + 1, FAR[dtype], rng, 4):
            for m in (-1, 0, 1) if "{" in name else (0,):
                h = sign * number + m if "{" in name else sign * number
                if abs(h) <= min(i, bound) and not (h < 0 and sign > 0):
                    yield i, h, m, number


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("tape", "name"), LOOKUPS)
def test_no_lookup_goes_wrong_below_its_bound(tape: str, name: str, dtype: str) -> None:
    bound, decoder = largest_head(tape, dtype, name), DECODERS[tape]
    assert (
        bound
        == {
            ("float32", True): 915,
            ("float32", False): 1023,
            ("float64", True): 21_221_685,
            ("float64", False): 23_726_566,
        }[dtype, "{" in name]
    )
    tried = 0
    for i, h, m, wrong in lookup_picks(decoder, head_called(decoder, name), lookups(name, bound, dtype, 8), dtype):
        assert wrong.size == 0, (i, h, m, wrong)
        tried += 1
    assert tried > 500


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("tape", "name"), LOOKUPS)
def test_a_lookup_goes_wrong_within_16_times_its_bound(tape: str, name: str, dtype: str) -> None:
    bound, decoder = largest_head(tape, dtype, name), DECODERS[tape]
    cases = (case for case in lookups(name, 16 * bound, dtype, 400) if case[3] > bound)
    found = lookup_picks(decoder, head_called(decoder, name), cases, dtype)
    assert any(wrong.size for *_, wrong in found)


# ── the latest write ────────────────────────────────────────────────────────────────────────────────────────
GIVEN = [
    ("float32", None, 161),
    ("float32", 0, 4_194_303),
    ("float32", 50, 1677),
    ("float64", None, 131_072),
    ("float64", 12_289, 14_910_653),
]
"""dtype, H, N; None: H = N - 1."""


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "head", "bound"), GIVEN)
def test_the_latest_write_wins_below_the_bound_and_not_within_16_times_it(dtype: str, head: int | None, bound: int) -> None:
    decoder, rng = DECODERS["two-way"], np.random.default_rng(7)
    n = PROOFS["two-way"].largest("dense", dtype, head)
    assert n == bound
    latest = head_called(decoder, "latest write")

    def ties(limit: int, count: int) -> Iterator[tuple[int, int]]:
        for i in range(1, limit) if limit < 300 else [*positions(limit // 2, limit - 1, rng, count), limit - 1]:
            most = i if head is None else min(i, head)
            cells = range(most + 1) if limit < 300 else {most, most // 3, most // 2, most // 4, *near(most, rng, 2)[-8:]}
            for h in cells:
                j = (
                    np.arange(1, i + 1)
                    if i < 2000
                    else np.unique(np.array([*near(i, rng, 800)[1:], *range(i - 200, i + 1)]))
                )
                for sign in (1, -1):
                    yield i, latest_ties(decoder, latest, i, sign * h, j[j > 0].astype(np.int64), dtype).size

    assert [i for i, wrong in ties(bound, 4) if wrong] == []
    assert any(wrong for _, wrong in ties(16 * bound, 30)), "the bound says nothing"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_write_of_another_cell_never_wins_below_the_bound_and_does_within_16_times_it(dtype: str) -> None:
    decoder, rng = DECODERS["two-way"], np.random.default_rng(3)
    found = [c for c in PROOFS["two-way"].conditions("fast", "float64") if "tie-break lifts" in c.claim]
    found = [c for c in PROOFS["two-way"].conditions("dense", dtype) if c.claim == found[0].claim or "2hk" in c.claim]
    bound = max(h for h in range(1, 60) for h in (2**h // 2**6, 2**h * 41 // 2**6) if all(c.holds(1, h) for c in found))
    head = head_called(decoder, "latest write")

    def wrong(limit: int, count: int) -> Iterator[int]:
        for h in near(limit, rng, count):
            for i in positions(max(h, 1), FAR[dtype], rng, 3):
                yield from (other_cells(decoder, head, i, sign * h, dtype).size for sign in (1, -1))

    assert sum(wrong(bound, 100)) == 0
    assert any(wrong(16 * bound, 300))


# ── the formulas ────────────────────────────────────────────────────────────────────────────────────────────
def test_uses_grow_with_n_and_h_so_that_bisection_finds_the_largest() -> None:
    u = Fraction(1, 2 ** DIGITS["float32"])
    looks = [lookup_use(t, u * t, u) for t in range(0, 3000, 7)]
    assert looks == sorted(looks)
    for rising in (lambda n: equal_keys_use(n, 50, Fraction(1, 2), u), lambda n: equal_keys_use(50, n, Fraction(1, 2), u)):
        assert [rising(n) for n in range(1, 500)] == sorted(rising(n) for n in range(1, 500))
    assert equal_keys_use(2**23, 0, Fraction(1, 2), u) == 2, "no room at all"


def test_largest_is_the_last_that_holds() -> None:
    squares = Condition(3, "attention", "x", "claim", "n·h < 100", lambda n, h: Fraction(n * h, 100), strict=True)
    assert largest([squares], 10**6, None) == 10  # 10·9 < 100
    assert largest([squares], 10**6, 4) == 24
    assert largest([squares], 5, 4) == 5
    assert largest([], 77, None) == 77
    equal = Condition(3, "attention", "x", "claim", "n·h ≤ 100", lambda n, h: Fraction(n * h, 100))
    assert largest([equal], 10**6, 4) == 25


def test_a_condition_says_if_its_layer_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="layer -1 is negative: layers count from 1"):
        Condition(-1, "attention", "x", "claim", "formula", lambda n, h: Fraction(n * h))


# ── whole runs at the certified length agree with the simulator, and the hardest ones fail within 16 times of it
@pytest.mark.parametrize("tape", ["one-way", "two-way"])
def test_float32_runs_of_the_certified_length_agree(tape: str) -> None:
    machine = runner("one-way" if tape == "one-way" else "two-way")  # h = i - 1: the hardest for the lookups
    decoder = compile_machine(machine)
    n = prove(decoder, machine).largest("dense", "float32")
    assert n == 161
    assert check(decoder, "", machine=machine, engine=Dense("float32"), max_steps=n - 2).agrees


@pytest.mark.slow
@pytest.mark.parametrize("cells", [100, 120])
def test_float32_writes_to_two_cells_for_ever_agree_to_the_certified_length_and_fail_within_16_times_it(cells: int) -> None:
    machine, word = rewriter(), "1" * cells
    decoder = compile_machine(machine)
    n = prove(decoder, machine).largest("dense", "float32", max_head=cells)
    assert n is not None
    good = check(decoder, word, machine=machine, engine=Dense("float32"), max_steps=n - cells - 2)
    assert good.agrees
    assert good.tokens > n - 3
    bad = check(decoder, word, machine=machine, engine=Dense("float32"), max_steps=min(16 * n, 12_000), keep_rows=False)
    assert bad.divergence is not None
    assert n < bad.divergence.position < 16 * n


def test_the_fast_engine_goes_on_where_the_dense_one_is_no_longer_certified() -> None:
    pytest.importorskip("numba", reason="Numba is not installed: pip install 'tm2tfr[fast]'")
    machine = runner()
    decoder, positions_run = compile_machine(machine), 150_000
    proof = prove(decoder, machine)
    assert not proof.certificate("dense", positions=positions_run).granted
    assert proof.certificate("fast", positions=positions_run).granted
    trace = tm2tfr.check(decoder, "", machine=machine, engine="fast", max_steps=positions_run - 2, keep_rows=False)
    assert trace.agrees
