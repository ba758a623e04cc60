"""The compiled simulator, held against the plain one row by row."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runs.test_long_run import right_rows
from tests.sources.turing.test_simulator import SPIN, bbchallenge, machine
from tests.strategies import machines_with_inputs
from tm2tfr.base.errors import EngineError
from tm2tfr.sources.turing import blocks as compiled
from tm2tfr.sources.turing.blocks import TuringBlocks, TuringRun
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import TuringTruth

pytest.importorskip("numba", reason="Numba is not installed: pip install 'tm2tfr[fast]'")


def begun(m: Machine, word: str = "", limit: int | None = None) -> TuringRun:
    return TuringBlocks(compile_machine(m), TuringTruth(m, ""), limit).run(word)


def same(m: Machine, word: str, limit: int | None, size: int) -> None:
    decoder = compile_machine(m)
    blocks = TuringBlocks(decoder, TuringTruth(m, ""), limit)
    run = blocks.run(word)
    assert right_rows(run, size, decoder) == list(TuringTruth(m, word, max_steps=limit).rows())
    assert run.result() == blocks.run(word).result() == result(m, word, max_steps=limit)


# ── against the plain simulator ─────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("name", shipped())
def test_every_example_of_the_shipped_machines(name: str, size: int) -> None:
    m = load(name)
    for example in m.examples:
        same(m, example.input, min(example.max_steps or 5_000, 5_000), size)


@pytest.mark.slow
@given(machines_with_inputs(), st.sampled_from([1, 7, 1000]), st.sampled_from([0, 1, 2, 60, 300]), st.booleans())
def test_random_machines(drawn: tuple[Machine, str], size: int, limit: int, sparse: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "MOST_CELLS", 0 if sparse else compiled.MOST_CELLS)
        same(*drawn, limit, size)


@pytest.mark.parametrize("tape", ["one-way", "two-way"])
def test_limits(tape: Any) -> None:
    m = machine({("a", "_"): ("b", "x", "L"), ("b", "x"): ("a", "_", "R"), ("b", "_"): ("a", "x", "L")}, tape=tape)
    for limit in (-1, 0, 1, 2, 3, 1000):
        same(m, "", limit, 7)


@pytest.mark.parametrize("size", [1, 7])
def test_a_start_state_that_halts(size: int) -> None:
    m = machine({("b", "0"): ("b", "0", "R")}, accept=("a",))
    same(m, "00", None, size)


@pytest.mark.slow
@pytest.mark.parametrize("move", ["L", "R"])
def test_a_tape_that_grows_far(move: str) -> None:
    same(machine({("a", "_"): ("a", "x", move)}), "", 100_000, 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("n", [129, 1_000])
def test_many_symbols(n: int) -> None:
    symbols = [chr(0x4E00 + k) for k in range(n)]
    rules = {("a", a): ("b", b, "R") for a, b in zip(symbols, [*symbols[1:], symbols[0]], strict=True)}
    m = machine({**rules, ("b", symbols[-1]): ("a", symbols[0], "L")})
    same(m, symbols[-2] + symbols[-1] * 3, 50, 7)


def test_symbols_that_numpy_would_take_for_nothing() -> None:
    same(
        machine({("a", "\0"): ("a", "_", "R"), ("a", "1"): ("b", "\0", "R"), ("b", "\0"): ("b", "\0", "R")}),
        "\x001\0",
        None,
        7,
    )


# ── long runs ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_the_whole_fifth_busy_beaver() -> None:
    """Marxen and Buntrock (1990), proved the champion in 2024."""
    run, rows = begun(bbchallenge("1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA")), 0
    while size := len(run.take(2**16, again=True).y):
        rows += size
    assert rows == 47_176_872  # BOS and every configuration
    got = run.result()
    assert (got.outcome, got.steps, got.ones, got.cells_visited) == ("halt", 47_176_870, 4_098, 12_289)


# ── what can go wrong ───────────────────────────────────────────────────────────────────────────────────────


def test_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled.kernel.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(EngineError, match=r"^the compiled simulator needs Numba \(.*\): pip install 'tm2tfr\[fast\]'$"):
        begun(SPIN)


def test_where_nothing_can_be_kept_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    from tm2tfr.sources.turing import _blocks_kernel

    def njit(*, cache: bool = False, **options: Any) -> Any:
        if cache:  # as Numba does where neither its own folder nor the user's can be written to
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: ("compiled", function)

    monkeypatch.setattr(_blocks_kernel, "njit", njit)
    assert _blocks_kernel.entry(len) == ("compiled", len)
