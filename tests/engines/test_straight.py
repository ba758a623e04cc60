"""The straight-line code of long runs: the kernel's numbers, bit for bit, on right and on sabotaged weights.

In most tests it is run as plain Python (that is what it is written in), since compiling it for every set of
weights would take a second each; in some it is compiled.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from benchmarks.machines import large
from tests.engines.test_fast_sabotage import MACHINES, compiled, mutated, slow
from tests.engines.test_groups import (
    OWN,
    RISING,
    automaton,
    falling,
    fed_between,
    random_grouped,
    runs,
    some_rules,
    started,
)
from tests.strategies import tries
from tm2tfr.engines.fast import Fast, expressions, fresh, session, straight
from tm2tfr.engines.fast.arrays import Laid
from tm2tfr.engines.fast.expressions import NONE, Guess, guess_of_maximum
from tm2tfr.engines.fast.plan import plan
from tm2tfr.engines.fast.session import Chunk, FastSession
from tm2tfr.engines.recognise import recognise
from tm2tfr.runs.long_run import LongRun
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import result
from tm2tfr.transformer.weights import Decoder

NUMBER = tries(40)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have straight-line code run from the first position after the prompt on, wherever it can."""
    monkeypatch.setattr(session, "SPECIALISE_AFTER", 0)
    monkeypatch.setattr(session, "MOST_PATIENCE", 1)


def silent(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiled function as it is written, and so those that it calls."""
    written: Callable[..., Any] = getattr(
        function, "py_func", function
    )  # where Numba compiles nothing, it is plain already
    called = {name: written.__globals__.get(name) for name in written.__code__.co_names}
    inner = {name: silent(value) for name, value in called.items() if hasattr(value, "py_func")}
    plain = FunctionType(written.__code__, {**written.__globals__, **inner})

    def found(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return plain(*arguments)

    return found


@pytest.fixture
def as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the code as it is written, without Numba."""

    def plain(text: str) -> Callable[..., Any]:
        names: dict[str, Any] = {"np": np, **{name: silent(function) for name, function in fresh.called().items()}}
        exec(text, names)
        run: Callable[..., Any] = names["run"]

        def quiet(*arguments: Any) -> Any:
            with np.errstate(all="ignore"):  # as the compiled code has it
                return run(*arguments)

        return quiet

    monkeypatch.setattr(fresh, "straight_line", plain)


def run(decoder: Decoder, given: tuple[int, ...], sizes: Iterator[int], most: int) -> tuple[list[Chunk], FastSession]:
    place = decoder.layout
    labels = tuple((place[n].start, place[n].stop) for n in ("e_q", "e_b", "e_a", "e_y"))
    numbers = tuple(place[n].start for n in ("m", "h", "h/(i+1)", "h_{j*-1}", "i^2"))
    started = Fast().start(decoder, labels=labels, numbers=numbers)
    started.prompt(given)
    chunks = []
    while started.position < most:
        chunks.append(started.extend(min(next(sizes), most - started.position)))
        if not len(chunks[-1].answers):
            break
    return chunks, started


def joined(chunks: list[Chunk]) -> list[list[Any]]:
    return [
        np.concatenate([getattr(c, name) for c in chunks]).tolist() for name in ("tokens", "answers", "codes", "numbers")
    ]


def mutants(name: str, block: int, number: int) -> Iterator[tuple[str, Decoder]]:
    chance = random.Random(f"straight {block} of {name}")
    for n in range(number):
        broken, where = mutated(compiled(name)[0], chance, times=1 + n % 2)
        yield where, broken


def sizes(seed: int) -> Iterator[int]:
    chance = random.Random(seed)
    return iter(lambda: chance.choice((1, 7, 40, 1000)), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MACHINES)
def test_the_same_rows_from_both(name: str, monkeypatch: pytest.MonkeyPatch, as_python: None) -> None:
    decoder, given = compiled(name)
    wanted, usual = run(decoder, given, sizes(1), 600)
    assert usual.hurried == 0
    monkeypatch.setattr(session, "SPECIALISE_AFTER", 0)
    monkeypatch.setattr(session, "MOST_PATIENCE", 1)
    got, hurried = run(decoder, given, sizes(2), 600)
    assert joined(got) == joined(wanted)
    assert hurried.hurried > 200


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_sabotaged_weights_give_the_dense_engines_wrong_tokens(name: str, at_once: None, as_python: None) -> None:
    _, given = compiled(name)
    used = wrong = 0
    right = slow(compiled(name)[0], given)
    for where, broken in mutants(name, block=5, number=NUMBER):
        want = slow(broken, given)
        chunks, started = run(broken, given, sizes(3), len(want))
        assert joined(chunks)[1] == want, where
        used += started.hurried > 0
        wrong += want != right
    assert used > NUMBER / 4
    assert wrong > NUMBER / 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chapter", "busy-beaver-4"])
def test_compiled_it_does_the_same(name: str, at_once: None) -> None:
    for _, broken in [("", compiled(name)[0]), *mutants(name, block=6, number=tries(4))]:
        _, given = compiled(name)
        want = slow(broken, given)
        assert joined(run(broken, given, sizes(4), len(want))[0])[1] == want


@pytest.mark.slow
def test_grouped_heads_before_the_answer(at_once: None, as_python: None) -> None:
    chance, hurried = random.Random(13), 0
    for n in range(tries(80)):
        states = chance.randint(2, 5)
        decoder = automaton(states, chance, wild=chance.random() < 0.3) if n % 2 else random_grouped(chance)
        running = started(decoder)
        for _ in range(3):
            tokens = [*some_rules(states, chance), *range(states)] if n % 2 else range(6)
            runs(chance, decoder, running, tokens, 120)
            hurried += running.hurried
    assert hurried > tries(2_000)


def test_it_does_not_remember_what_a_new_group_or_a_new_member_changes(at_once: None, as_python: None) -> None:
    assert fed_between(falling(RISING)).hurried > 10
    assert fed_between(falling(OWN)).hurried == 0


@pytest.mark.slow
def test_compiled_they_are_the_same(at_once: None) -> None:
    chance = random.Random(17)
    decoder = automaton(4, chance)
    running = started(decoder)
    for _ in range(3):
        runs(chance, decoder, running, [*some_rules(4, chance), *range(4)], 300, saved=0)
    assert running.hurried > 50


@pytest.mark.slow
def test_a_long_run_is_hurried_saved_and_restored() -> None:
    machine = load("busy-beaver-5")
    decoder = compile_machine(machine)
    first = LongRun(decoder, "", machine=machine, max_steps=1_200_000)
    while first.standing.positions < 800_000:
        first.advance()
    assert first._session.hurried > 100_000
    again = LongRun(decoder, "", machine=machine, max_steps=1_200_000, saved=first.save())
    for going in (first, again):
        while not going.done:
            going.advance()
    traces = [going.trace(Fast()) for going in (first, again)]
    assert traces[0] == traces[1]
    assert traces[0].agrees
    assert traces[0].result == result(machine, "", max_steps=1_200_000)


def test_what_it_is_not_for_is_left_to_the_kernel() -> None:
    decoder, _ = compiled("chapter")
    found = recognise(decoder)
    assert straight.written(plan(decoder, found)) is not None
    scanned = tuple(tuple(type(f)("scan", "", f.components) for f in layer) for layer in found)
    assert straight.written(plan(decoder, scanned)) is None
    big = compile_machine(large(60, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(straight, "MOST_LINES", 10)
        assert straight.written(plan(big, recognise(big))) is None


def test_the_code_holds_the_weights_and_no_names() -> None:
    decoder, _ = compiled("busy-beaver-4")
    found = straight.written(plan(decoder, recognise(decoder)))
    assert found is not None
    text, tables, _ = found
    assert [len(table) % len(decoder.vocabulary) for table in (tables.by_token, tables.whole, tables.given)] == [0, 0, 0]
    names = {*decoder.vocabulary, *(head.name for layer in decoder.layers for head in layer.heads)} - {"0", "1"}
    assert not [name for name in names if name in text]


def test_every_head_of_a_machine_has_a_guess() -> None:
    for name in ("chapter", "busy-beaver-4"):
        found = straight.written(plan(compiled(name)[0], recognise(compiled(name)[0])))
        assert found is not None
        heads = [found[0].count(line) for line in ("    if v", "elif v", "<= near")]
        assert heads == [heads[0]] * 3
        assert heads[0] > 0
        assert len(re.findall(r"^ +if guess\d+ != v\d+:", found[0], flags=re.M)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["({0}) + 1", "({0}) - 1", "({0}) * 3 - i", "2 ** 62", "-7"])
def test_a_wrong_guess_changes_nothing(wrong: str, monkeypatch: pytest.MonkeyPatch, at_once: None, as_python: None) -> None:
    def guessed(*pair: Guess | None) -> str | None:
        right = guess_of_maximum(*pair)
        return None if right is None else wrong.format(right)

    decoder, given = compiled("busy-beaver-4")
    wanted, usual = run(decoder, given, sizes(1), 300)
    monkeypatch.setattr(expressions, "guess_of_maximum", guessed)
    got, _ = run(decoder, given, sizes(2), 300)
    assert joined(got) == joined(wanted)
    assert usual.hurried > 100


@pytest.mark.slow
def test_a_wrong_table_of_guesses_changes_nothing(monkeypatch: pytest.MonkeyPatch, at_once: None, as_python: None) -> None:
    rectified = Guess.rectified

    def wrong(guess: Guess) -> Guess:
        return replace(rectified(guess), by=(NONE, np.array([7]))) if guess.by is not None else rectified(guess)

    decoder, given = compiled("busy-beaver-4")
    wanted, usual = run(decoder, given, sizes(1), 300)
    right = (straight.written(plan(decoder, recognise(decoder))) or ("",))[0]
    monkeypatch.setattr(Guess, "rectified", wrong)
    other = (straight.written(plan(decoder, recognise(decoder))) or ("",))[0]
    got, hurried = run(decoder, given, sizes(2), 300)
    assert joined(got) == joined(wanted)
    assert hurried.hurried > 100
    assert usual.hurried > 100
    assert right != other


@pytest.mark.slow
def test_without_the_short_bound_the_neighbours_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, at_once: None, as_python: None
) -> None:
    decoder, given = compiled("busy-beaver-4")
    wanted, usual = run(decoder, given, sizes(1), 300)
    written = straight.written

    def far(found: Laid) -> Any:
        text, *rest = written(found) or ("",)
        assert re.search(r"< enough\d+\):", text)
        return re.sub(r"< enough(\d+)\):", r"< -enough\1):", text), *rest

    monkeypatch.setattr(straight, "written", far)
    got, hurried = run(decoder, given, sizes(2), 300)
    assert joined(got) == joined(wanted)
    assert hurried.hurried == usual.hurried > 100


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "places"), [(0, 2**14), (62, 2**3), (0, 2**3)])
def test_tokens_that_are_no_number_or_share_a_place(
    bits: int, places: int, monkeypatch: pytest.MonkeyPatch, at_once: None, as_python: None
) -> None:
    decoder, given = compiled("busy-beaver-4")
    wanted, usual = run(decoder, given, sizes(1), 300)
    monkeypatch.setattr(straight, "MOST_BITS", bits)
    monkeypatch.setattr(straight, "MOST_GUESSED", places)
    got, hurried = run(decoder, given, sizes(2), 300)
    assert joined(got) == joined(wanted)
    assert hurried.hurried == usual.hurried > 100


@pytest.mark.slow
def test_an_answer_of_other_tokens_is_not_taken(monkeypatch: pytest.MonkeyPatch, at_once: None, as_python: None) -> None:
    decoder, given = compiled("busy-beaver-4")
    wanted, usual = run(decoder, given, sizes(1), 300)
    written = straight.written

    def crowded(found: Laid) -> Any:
        text, tables, places = written(found) or ("", None, None)
        assert "guess = t" in text
        return text.replace("guess = t", "guess = np.uint64(0) * t"), tables, places

    monkeypatch.setattr(straight, "written", crowded)
    got, hurried = run(decoder, given, sizes(2), 300)
    assert joined(got) == joined(wanted)
    assert hurried.hurried == usual.hurried > 100


@pytest.mark.parametrize("name", ["chapter", "busy-beaver-4", "palindromes"])
def test_it_stops_where_the_run_stops(name: str, at_once: None, as_python: None) -> None:
    decoder, (_, given) = compile_machine(load(name)), compiled(name)
    started, chunks, hurried = Fast().start(decoder), [], []
    for _ in range(3):  # with the tail's answers in the memo the last position is run by this code too
        started.restart()
        started.prompt(given)
        before = started.hurried
        started.extend(len(given))
        chunks.append(started.extend(500))
        hurried.append(started.hurried - before)
        stops = [decoder.vocabulary[answer] in decoder.stop for answer in chunks[-1].answers]
        assert stops == [False] * (len(stops) - 1) + [True]
        assert chunks[-1].stopped
        assert started.extend(500).tokens.tolist() == []
    assert joined(chunks[:1]) == joined(chunks[1:2]) == joined(chunks[2:])
    assert hurried[2] == len(chunks[2].answers)
