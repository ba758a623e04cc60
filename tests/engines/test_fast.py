"""The fast engine against the dense one: every token, every number of the stream, `==`; and what else it offers."""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.machines import large, rewriter, runner
from tests.engines.test_dependence import LAYOUT, VOCABULARY, by_hand, ffn, random_decoder, random_tabled
from tests.engines.test_honest import nameless
from tests.strategies import machines_with_inputs
from tm2tfr.base.errors import EngineError
from tm2tfr.engines import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.dense_heads import Cache
from tm2tfr.engines.dense_parts import LinearMap
from tm2tfr.engines.fast import Fast, available
from tm2tfr.engines.fast import session as sessions
from tm2tfr.engines.fast.session import Chunk, FastSession
from tm2tfr.runs.rows import Readout
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.gadgets import head
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, Layer

ROOT = Path(__file__).parents[2]
WORDS = ("e_x", "e_q", "e_b", "e_a")


def given_of(decoder: Decoder, word: Sequence[str]) -> list[int]:
    return [decoder.vocabulary.index(t) for t in (*word, decoder.bos)]


def followed(decoder: Decoder, tokens: Sequence[int]) -> FastSession:
    """Feed both engines, compare every answer, logit and number of the residual stream, and return the fast session."""
    fast, dense = Fast().start(decoder), Dense().start(decoder)
    for i, token in enumerate(tokens):
        answers = fast.feed(token), dense.feed(token)
        assert fast.residual.tolist() == dense.residual.tolist(), (i, fast.report())
        assert fast.logits.tolist() == dense.logits.tolist(), i
        assert answers[0] == answers[1]
        assert fast.position == i + 1
    return fast


def steps(decoder: Decoder, word: Sequence[str], engine: Any, most: int) -> list[tuple[str, str]]:
    return [(s.token, s.output) for s in generate(decoder, word, engine=engine, max_positions=most)]


def whole(decoder: Decoder, prompt: Sequence[int], most: int, **probes: Any) -> Chunk:
    session = Fast().start(decoder, **probes)
    session.prompt(prompt)
    return session.extend(most)


# ── token by token ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_every_shipped_machine_token_by_token(name: str) -> None:
    machine = load(name)
    decoder, word = compile_machine(machine), machine.input or ""
    wanted = steps(decoder, word, Dense(), 500)
    assert steps(decoder, word, Fast(), 500) == wanted
    chunk = whole(decoder, given_of(decoder, word), 500)
    tokens = [decoder.vocabulary.index(token) for token, _ in wanted]
    assert chunk.tokens.tolist() == tokens
    assert chunk.answers.tolist() == [decoder.vocabulary.index(output) for _, output in wanted]
    assert chunk.stopped == (wanted[-1][1] in decoder.stop)
    assert {f.kind for layer in followed(decoder, tokens[:150]).recognised for f in layer} == {"mean", "position", "latest"}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(machines_with_inputs())
def test_random_machines_token_by_token(case: tuple[Machine, str]) -> None:
    machine, word = case
    decoder = compile_machine(machine)
    wanted = steps(decoder, word, Dense(), 120)
    assert steps(decoder, word, Fast(), 120) == wanted
    followed(dataclasses.replace(decoder, stop=()), [decoder.vocabulary.index(token) for token, _ in wanted])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_random_decoders_with_heads_of_all_kinds_number_by_number(seed: int, chance: random.Random) -> None:
    decoder = random_tabled(seed)
    tokens = [chance.randrange(VOCABULARY) for _ in range(40)]
    assert followed(decoder, tokens).position == 40
    chunk = whole(decoder, tokens, 60)
    assert chunk.tokens.tolist()[:40] == tokens
    dense = Dense().start(decoder)
    assert [dense.feed(t) for t in chunk.tokens.tolist()] == chunk.answers.tolist()


@pytest.mark.slow
def test_random_decoders_have_heads_of_every_kind_and_break_conditions_in_mid_run() -> None:
    chance, kinds, guards = random.Random(3), [], 0
    for seed in range(60):
        tokens = [chance.randrange(VOCABULARY) for _ in range(30)]
        session = followed(random_decoder(seed), tokens)
        kinds += [f.kind for layer in session.recognised for f in layer]
        guards += sum(", at position" in line for line in session.report())
    assert min(kinds.count(kind) for kind in ("mean", "position", "latest", "scan")) > 10
    assert guards > 10


@pytest.mark.slow
@pytest.mark.parametrize("machine", [runner(), runner("one-way"), rewriter()], ids=["right", "one-way", "rewriter"])
def test_the_hard_machines_number_by_number(machine: Machine) -> None:
    decoder = compile_machine(machine)
    prompt = given_of(decoder, "1" * 40 if machine.name == "rewriter" else "")
    followed(decoder, whole(decoder, prompt, 700).tokens.tolist())


@pytest.mark.slow
def test_a_large_machine_token_by_token() -> None:
    decoder = compile_machine(large())
    assert len(decoder.vocabulary) > 5_000
    chunk = whole(decoder, given_of(decoder, ""), 300)
    assert len(chunk.tokens) == 300
    dense = Dense().start(decoder)
    assert [dense.feed(t) for t in chunk.tokens.tolist()] == chunk.answers.tolist()
    followed(decoder, chunk.tokens.tolist()[:40])


def test_without_any_name_the_same_token_numbers_come_out() -> None:
    for name in ("chapter", "busy-beaver-4", "binary-addition"):
        machine = load(name)
        decoder = compile_machine(machine)
        prompt, bare = given_of(decoder, machine.input or ""), nameless(decoder)
        one, other = whole(decoder, prompt, 200), whole(bare, prompt, 200)
        assert one.tokens.tolist() == other.tokens.tolist()
        assert one.answers.tolist() == other.answers.tolist()
        word = [bare.vocabulary[t] for t in prompt[:-1]]
        numbers = [bare.vocabulary.index(s.output) for s in islice(generate(bare, word, engine=Fast()), 200)]
        assert numbers == one.answers.tolist()


# ── the order of summation ──────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_sums_of_the_dense_engine_run_from_left_to_right(dtype: Any) -> None:
    rng, number = np.random.default_rng(5), dtype
    values = [dtype(1 / (i + 1)) * dtype(rng.choice([-1, 1, 3])) for i in range(900)]
    weights = rng.choice([0.0, 0.1, -0.7, 1.0, 1e3], size=(3, 900))
    total = np.zeros(3, dtype=dtype)
    for column in range(900):
        for row in range(3):
            if weights[row, column]:
                total[row] = total[row] + number(weights[row, column]) * values[column]
    got = LinearMap(Matrix.from_dense(weights), np.dtype(dtype))(np.array(values, dtype=dtype))
    assert got.dtype == dtype
    assert got.tolist() == total.tolist()
    pairwise = (Matrix.from_dense(weights).dense(dtype) * np.array(values, dtype=dtype)).sum(axis=1)
    assert got.tolist() != pairwise.tolist()  # the order shows in these numbers


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("which", ["all", "some", "integers"])
def test_the_means_of_the_dense_engine_run_from_left_to_right(dtype: Any, which: str) -> None:
    cache = Cache(2, np.dtype(dtype))
    vectors = [[dtype(i if which == "integers" else 1 / (i + 1)), dtype(-3 * i)] for i in range(700)]
    for vector in vectors:
        cache.append(np.array(vector, dtype=dtype))
    attended = [i for i in range(700) if i % 3 or which != "some"]
    totals = [dtype(0), dtype(0)]
    for i in attended:
        totals = [total + value for total, value in zip(totals, vectors[i], strict=True)]
    got = cache.mean(np.array(attended) if which == "some" else None)
    assert got.tolist() == [total / dtype(len(attended)) for total in totals]


# ── chunks and probes ───────────────────────────────────────────────────────────────────────────────────────
def probes_of(decoder: Decoder) -> dict[str, Any]:
    slices = [decoder.layout[name] for name in WORDS]
    return {
        "labels": tuple((s.start, s.stop) for s in slices),
        "numbers": tuple(decoder.layout[name].start for name in ("m", "h")),
    }


def together(chunks: Sequence[Chunk]) -> list[list[Any]]:
    columns = [[getattr(chunk, name).tolist() for chunk in chunks] for name in ("tokens", "answers", "codes", "numbers")]
    return [[value for chunk in column for value in chunk] for column in columns]


@pytest.mark.parametrize("name", ["chapter", "binary-addition", "busy-beaver-4", "never-halts"])
def test_chunks_of_any_size_give_the_same(name: str) -> None:
    machine, chance = load(name), random.Random(name)
    decoder = compile_machine(machine)
    prompt = given_of(decoder, machine.input or "")
    wanted = together([whole(decoder, prompt, 400, **probes_of(decoder))])
    for _ in range(5):
        session, chunks = Fast().start(decoder, **probes_of(decoder)), []
        session.prompt(prompt)
        while session.position < len(wanted[0]):
            chunks.append(session.extend(min(chance.choice([0, 1, 1, 2, 7, 50]), 400 - session.position)))
            assert chunks[-1].start == session.position - len(chunks[-1].tokens)
        assert together(chunks) == wanted
        assert len(session.extend(10).tokens) == (0 if chunks[-1].stopped else 10)


@pytest.mark.parametrize("name", ["chapter", "left-edge", "binary-addition", "busy-beaver-5"])
def test_probes_are_what_a_readout_reads_off_the_stream(name: str) -> None:
    machine = load(name)
    decoder = compile_machine(machine)
    found = list(generate(decoder, machine.input or "", engine=Dense(), max_positions=300))
    chunk = whole(decoder, given_of(decoder, machine.input or ""), 300, **probes_of(decoder))
    names = [decoder.layout.subspace(word).labels for word in WORDS]
    got = []
    for codes, numbers in zip(chunk.codes.tolist(), chunk.numbers.tolist(), strict=True):
        got.append(([None if c == -1 else labels[c] for labels, c in zip(names, codes, strict=True)], numbers))
    assert got == [([row.x, row.q, row.b, row.a], [row.m, row.h]) for row in Readout(decoder).rows(found)]


def test_a_probe_of_what_is_no_one_hot_vector_says_so() -> None:
    decoder = compile_machine(load("chapter"))
    first, e_q = decoder.layers[0].feed_forward, decoder.layout["e_q"]
    assert first is not None
    halved = Matrix(first.output.shape, first.output.rows, first.output.columns, first.output.values / 2)
    layer = dataclasses.replace(decoder.layers[0], feed_forward=dataclasses.replace(first, output=halved))
    half = dataclasses.replace(decoder, layers=(layer, *decoder.layers[1:]))
    triple = next(n for n, token in enumerate(decoder.vocabulary) if token.startswith("("))
    tokens = [*given_of(decoder, "11"), triple]
    plain, odd = (whole(d, tokens, 4, labels=((e_q.start, e_q.stop),)).codes[:, 0].tolist() for d in (decoder, half))
    assert plain[:3] == odd[:3] == [-1, -1, -1]
    assert plain[3] >= 0
    assert odd[3] == -2


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_probes_of_any_directions_of_any_decoder(seed: int, chance: random.Random) -> None:
    decoder = random_tabled(seed)
    width = decoder.layout.width
    numbers = tuple(chance.sample(range(width), 5))
    starts = [chance.randrange(width) for _ in range(4)]
    labels = tuple((a, chance.randint(a, width)) for a in starts)
    tokens = [chance.randrange(VOCABULARY) for _ in range(30)]
    chunk, dense = whole(decoder, tokens, 30, labels=labels, numbers=numbers), Dense().start(decoder)
    for i, token in enumerate(tokens):
        dense.feed(token)
        x = dense.residual.tolist()
        assert chunk.numbers[i].tolist() == [x[c] for c in numbers]
        assert chunk.codes[i].tolist() == [code(x[a:b]) for a, b in labels]


@pytest.mark.parametrize("written", ["f0", "f1"])
def test_probes_see_what_the_last_layers_do_not_read(written: str) -> None:
    # `written` is written after the last attention, f1 by a head: the mean of 1 and, at place 2, of 2
    mean = head(LAYOUT, "", "", query=[], key=[], carries=[({"a": 1}, {"f1": 1})])
    layers = Layer(name="", meaning="", source="", heads=(mean,)), ffn(({"a": -1}, {written: 1}))
    decoder, first = by_hand(*layers, place={"1": "1"}), LAYOUT.index("f0")
    labels = whole(decoder, [0, 0, 1, 0], 4, labels=((first, first + 2),))
    assert labels.codes[:, 0].tolist() == [1, 1, -2, -2]
    numbers = whole(decoder, [0, 0, 1, 0], 4, numbers=(first + 1,))
    assert numbers.numbers[:, 0].tolist() == [1, 1, 4 / 3, 5 / 4]


def code(values: list[float]) -> int:
    places = [n for n, v in enumerate(values) if v]
    if not places:
        return -1
    return places[0] if len(places) == 1 and values[places[0]] == 1 else -2


# ── save and restore ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_a_session_goes_on_from_what_was_saved(seed: int, chance: random.Random) -> None:
    decoder, place = random_tabled(seed), chance.randrange(1, 50)
    probes = {"labels": ((4, 9),), "numbers": (9, 12)}
    prompt = [chance.randrange(VOCABULARY) for _ in range(chance.randrange(1, 40))]
    first = Fast().start(decoder, **probes)
    first.prompt(prompt)
    first.extend(place)
    saved = first.save()
    kept = {name: array.copy() for name, array in saved.items()}
    wanted = together([first.extend(50)])
    assert {n: a.tolist() for n, a in saved.items()} == {n: a.tolist() for n, a in kept.items()}  # it is a copy
    for other in (Fast().start(decoder, **probes), first):  # a fresh session; and back to where this one was
        other.restore(saved)
        assert other.position == place
        assert together([other.extend(20), other.extend(30)]) == wanted


@pytest.mark.parametrize("name", ["chapter", "binary-addition", "busy-beaver-4"])
def test_a_machine_goes_on_from_random_places_and_stays_stopped(name: str) -> None:
    machine, chance = load(name), random.Random(name)
    decoder = compile_machine(machine)
    session = Fast().start(decoder)
    session.prompt(given_of(decoder, machine.input or ""))
    wanted, got = whole(decoder, given_of(decoder, machine.input or ""), 10_000), []
    assert wanted.stopped
    while session.position < len(wanted.tokens):
        got.append(session.extend(chance.randint(1, 20)))
        other = Fast().start(decoder)
        other.restore(session.save())
        session = other
    assert together(got)[:2] == together([wanted])[:2]
    assert len(session.extend(5).tokens) == 0


# ── what is refused ─────────────────────────────────────────────────────────────────────────────────────────
def test_without_numba_the_install_line_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = compile_machine(load("chapter"))
    assert available()
    monkeypatch.setitem(sys.modules, "numba", None)
    assert not available()
    with pytest.raises(
        EngineError, match=r"^the fast engine needs Numba: install it with: pip install 'tm2tfr\[fast\]', or"
    ):
        Fast().start(decoder)


@pytest.mark.parametrize("dtype", ["float32", "rational", ""])
def test_it_computes_in_float64_only(dtype: str) -> None:
    with pytest.raises(
        EngineError, match=rf"^the fast engine computes in float64, not in '{dtype}': use the dense engine$"
    ):
        Fast(dtype)
    assert (Fast().name, Fast().dtype) == ("fast", "float64")


def test_positions_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Fast().start(compile_machine(load("chapter")))
    words = r"^the fast engine runs at most 2,147,483,647 positions: use the dense or exact engine$"
    with pytest.raises(EngineError, match=words):
        session.extend(2**31)
    monkeypatch.setattr(sessions, "MOST_POSITIONS", 5)
    for _ in range(5):
        session.feed(0)
    with pytest.raises(EngineError, match="runs at most 5 positions"):
        session.feed(0)
    assert session.position == 5


def test_a_stop_token_is_compared_as_a_string() -> None:
    decoder = compile_machine(load("never-halts"))  # no stop token but one that differs by what numpy cuts off
    answers = whole(decoder, given_of(decoder, ""), 5).answers.tolist()
    tokens = list(decoder.vocabulary)
    unused = next(n for n in range(len(tokens)) if n not in answers and tokens[n] != decoder.bos)
    tokens[unused] = f"{tokens[answers[0]]}\0"
    renamed = dataclasses.replace(decoder, vocabulary=tuple(tokens), stop=(tokens[unused],))
    assert whole(renamed, given_of(decoder, ""), 5).answers.tolist() == answers


@pytest.mark.slow
def test_numba_is_not_imported_where_it_is_not_needed() -> None:
    code = (
        "import sys, tm2tfr; trace = tm2tfr.check('chapter', '11'); tm2tfr.certify('chapter').largest('fast'); "
        "print(trace.engine, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, cwd=ROOT)
    assert done.stdout == "dense False\n"
