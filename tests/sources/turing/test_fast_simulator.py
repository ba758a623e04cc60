"""The compiled simulator, held against the plain one configuration by configuration."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.turing.test_simulator import SPIN, bbchallenge, machine
from tests.strategies import machines_with_inputs
from tm2tfr.errors import EngineError, InputError
from tm2tfr.sources.turing import fast_simulator as compiled
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.simulator import Configuration, Simulation, configurations, result
from tm2tfr.sources.turing.spec import Machine

pytest.importorskip("numba", reason="Numba is not installed: pip install 'tm2tfr[fast]'")
CompiledSimulation = compiled.CompiledSimulation
BEAVER = bbchallenge("1RB1LB_1LA0LC_1RZ1LD_1RD0RA")
Line = tuple[int, str, str, int, str | None, str | None, int, int]


def plain(m: Machine, run: list[Configuration]) -> Iterator[Line]:
    """What a block says, from the plain simulator's configurations."""
    for c in run:
        to, write, said = c.rule or (None, None, 0)
        stays = m.tape == "one-way" and c.head == 0 and said < 0
        yield c.step, c.state, c.symbol, c.head, to, write, 0 if stays else said, said


def lines(m: Machine, block: compiled.Block) -> Iterator[Line]:
    """A block, with names for its numbers."""
    states, symbols = (*m.states, None), (*m.tape_alphabet, None)
    columns = [c.tolist() for c in block[1:]]
    for k, (q, a, head, to, b, move, said) in enumerate(zip(*columns, strict=True)):
        yield block.start + k, m.states[q], m.tape_alphabet[a], head, states[to], symbols[b], move, said


def run_through(m: Machine, simulation: compiled.CompiledSimulation, size: int) -> list[Line]:
    seen: list[Line] = []
    while (block := simulation.advance(size)).size:
        assert block.size <= size
        assert block.start == len(seen)
        seen += lines(m, block)
        assert simulation.steps == len(seen) - 1
        assert simulation.stopped == (seen[-1][4] is None)
    return seen


def same(m: Machine, word: str, limit: int | None, size: int) -> None:
    want = list(plain(m, list(configurations(m, word, max_steps=limit))))
    simulation = CompiledSimulation(m, word, max_steps=limit)
    assert run_through(m, simulation, size) == want
    assert simulation.result() == CompiledSimulation(m, word, max_steps=limit).result()
    assert simulation.result() == result(m, word, max_steps=limit)


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


def test_the_rule_at_the_limit_is_told_and_not_carried_out() -> None:
    simulation = CompiledSimulation(SPIN, max_steps=0)
    assert list(lines(SPIN, simulation.advance(5))) == [(0, "a", "_", 0, "a", "_", 1, 1)]
    assert (simulation.stopped, simulation.steps, simulation.advance(5).size) == (False, 0, 0)


@pytest.mark.parametrize("size", [1, 7])
def test_a_start_state_that_halts(size: int) -> None:
    m = machine({("b", "0"): ("b", "0", "R")}, accept=("a",))
    assert CompiledSimulation(m, "00").stopped
    same(m, "00", None, size)


@pytest.mark.slow
@pytest.mark.parametrize("move", ["L", "R"])
def test_a_tape_that_grows_far(move: str) -> None:
    same(machine({("a", "_"): ("a", "x", move)}), "", 100_000, 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("n", [127, 128, 129, 5_000, 40_000])
def test_many_symbols(n: int) -> None:
    symbols = [chr(0x4E00 + k) for k in range(n)]
    rules = {("a", a): ("b", b, "R") for a, b in zip(symbols, [*symbols[1:], symbols[0]], strict=True)}
    m = machine({**rules, ("b", symbols[-1]): ("a", symbols[0], "L")})
    word = symbols[-2] + symbols[-1] * 3
    same(m, word, 50, 7)
    assert CompiledSimulation(m, word).result().tape == result(m, word).tape


def test_rules_beyond_a_table_are_searched() -> None:
    symbols = [chr(0x4E00 + k) for k in range(5_000)]
    table = {(f"q{k}", symbols[k % 5_000]): (f"q{k + 1}", symbols[(7 * k) % 5_000], "S") for k in range(2_000)}
    m = Machine(transitions=table, start="q0", blank="_", tape_alphabet=(*symbols, "_"))
    assert len(m.states) * len(m.tape_alphabet) > compiled.MOST_CELLS
    same(m, symbols[0], None, 1000)


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
    simulation, steps = CompiledSimulation(bbchallenge("1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA")), 0
    while (block := simulation.advance(2**16)).size:
        assert block.start == steps
        steps += block.size
    assert (simulation.stopped, simulation.steps, steps) == (True, 47_176_870, 47_176_871)
    got = simulation.result()
    assert (got.outcome, got.steps, got.ones, got.cells_visited) == ("halt", 47_176_870, 4_098, 12_289)


# ── what can go wrong ───────────────────────────────────────────────────────────────────────────────────────
def test_a_foreign_symbol_is_refused_as_by_the_plain_simulator() -> None:
    with pytest.raises(InputError) as want:
        Simulation(SPIN, "7")
    with pytest.raises(InputError) as got:
        CompiledSimulation(SPIN, "7")
    assert str(got.value) == str(want.value)


def test_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "tm2tfr.sources.turing._fast_simulator_kernel", raising=False)
    with pytest.raises(
        EngineError, match=r"^machine: the compiled simulator needs Numba \(.*\): pip install 'tm2tfr\[fast\]'$"
    ):
        CompiledSimulation(SPIN)


def test_where_nothing_can_be_kept_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    from tm2tfr.sources.turing import _fast_simulator_kernel as _compiled_kernel

    def njit(*, cache: bool = False, **options: Any) -> Any:
        if cache:  # as Numba does where neither its own folder nor the user's can be written to
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: ("compiled", function)

    monkeypatch.setattr(_compiled_kernel, "njit", njit)
    assert _compiled_kernel.compiled(len) == ("compiled", len)
