"""Each step of the construction: what it writes, on the chapter's own example and by itself.

Everything in rationals. The expected values come from the definitions in the chapter (and by hand for its example),
not from the package's own specification of a trace.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings

from tests.strategies import machines_with_inputs
from tm2tfr.engines.exact import Exact
from tm2tfr.sources.turing.columns import CHAPTER_VECTORS
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.compiler.layout import Answers
from tm2tfr.sources.turing.compiler.symbol import symbol
from tm2tfr.sources.turing.compiler.transition import transition
from tm2tfr.sources.turing.compiler.unpack import unpack
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.simulator import configurations
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import parsed
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, at
from tm2tfr.transformer.weights import Decoder, Layer, matrices

F = Fraction
Value = str | int | Fraction | None
"""A number, or the label of a one-hot vector; None is ⊥, the zero vector."""
Stages = dict[tuple[int, str], dict[str, Value]]


class Recorder:
    """Keeps the residual stream after each stage: (layer from 0, part) -> subspace -> value."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder, self.stages = decoder, Stages()

    def stage(self, layer: int, part: str, residual: Any) -> None:
        self.stages[layer, part] = by_name(self._decoder.layout, residual)

    def head(self, layer: int, head: int, scores: Any, attended: Any) -> None:
        pass


def by_name(layout: Residual, x: Sequence[Any]) -> dict[str, Value]:
    """Return a residual stream as subspace -> value; a labelled subspace must be one-hot or zero."""
    values: dict[str, Value] = {}
    for space in layout.subspaces:
        part = list(x[layout[space.name]])
        if space.labels is None:
            values[space.name] = part[0]
        else:
            assert sorted(part, reverse=True) in ([1] + [0] * (len(part) - 1), [0] * len(part)), (space.name, part)
            values[space.name] = space.labels[part.index(1)] if 1 in part else None
    return values


def observed(decoder: Decoder, word: str, most: int) -> tuple[list[str], list[Stages]]:
    """Return the tokens fed at each position and what every stage held there, to the end or for `most` steps."""
    session, rows = Exact().start(decoder), []
    tokens = [*word, "BOS"]
    for i in range(len(tokens) + most):
        recorder = Recorder(decoder)
        answer = decoder.vocabulary[session.feed(decoder.vocabulary.index(tokens[i]), recorder)]
        rows.append(recorder.stages)
        if i + 1 >= len(tokens):
            if answer in decoder.stop:
                break
            tokens.append(answer)
    return tokens[: len(rows)], rows


def chapter_vector(name: str, row: Stages) -> dict[str, Value]:
    stage, subspaces = CHAPTER_VECTORS[name]
    return {space: row[stage][space] for space in subspaces}


# ── the chapter's example, by hand ──────────────────────────────────────────────────────────────────────────
CHAPTER = compile_machine(load("chapter"))
BY_HAND: dict[int, dict[str, dict[str, Value]]] = {
    2: {
        "A(0)": {"e_x": "BOS", "1/(i+1)": F(1, 3), "1": 1, "i": 2, "i^2": 4},
        "A(1)": {"e_q": None, "e_b": None, "m": 0},
        "A(2)": {"h/(i+1)": 0},
        "A(3.5)": {"h": 0, "h^2": 0, "e_x(h)": "1"},
        "A(4)": {"h_{i-1}": 0, "h_{i-1}^2": 0},
        "H(4)": {"h_{j*-1}": 0, "e_b(j*-1)": None},  # j* = 2, BOS itself: nothing was ever written
        "A(5)": {"e_a": "1"},
    },
    5: {
        "A(0)": {"e_x": "(q2,x,+1)", "1/(i+1)": F(1, 6), "1": 1, "i": 5, "i^2": 25},
        "A(1)": {"e_q": "q2", "e_b": "x", "m": 1},
        "A(2)": {"h/(i+1)": F(2, 6)},
        "A(3.5)": {"h": 2, "h^2": 4, "e_x(h)": None},  # x_2 is BOS, no input symbol
        "A(4)": {"h_{i-1}": 1, "h_{i-1}^2": 1},
        "H(4)": {"h_{j*-1}": 1, "e_b(j*-1)": "x"},  # cell 2 was not written: j* = 5 is a nearest cell
        "A(5)": {"e_a": "_"},
    },
    7: {
        "A(0)": {"e_x": "(q4,x,-1)", "1/(i+1)": F(1, 8), "1": 1, "i": 7, "i^2": 49},
        "A(1)": {"e_q": "q4", "e_b": "x", "m": -1},
        "A(2)": {"h/(i+1)": 0},
        "A(3.5)": {"h": 0, "h^2": 0, "e_x(h)": "1"},
        "A(4)": {"h_{i-1}": 1, "h_{i-1}^2": 1},
        "H(4)": {"h_{j*-1}": 0, "e_b(j*-1)": "_"},  # j* = 4, the first step
        "A(5)": {"e_a": "_"},
    },
}


@pytest.mark.parametrize("i", BY_HAND)
def test_the_vectors_of_the_chapter_on_11(i: int) -> None:
    tokens, rows = observed(CHAPTER, "11", 99)
    assert tokens[3:] == ["(q0,1,0)", "(q1,_,+1)", "(q2,x,+1)", "(q4,_,-1)", "(q4,x,-1)", "(q1,_,+1)"]
    wanted: dict[str, Value] = {}
    for name, new in BY_HAND[i].items():
        wanted = {**wanted, **new}  # each vector of the chapter holds the ones before it
        assert chapter_vector(name, rows[i]) == wanted
    assert list(BY_HAND[i]) == list(CHAPTER_VECTORS)


def test_the_chapters_vectors_consist_of_what_weights_claim_to_hold() -> None:
    for name in ("chapter", "busy-beaver-3"):
        decoder = compile_machine(load(name))
        for (layer, part), subspaces in CHAPTER_VECTORS.values():
            assert -1 <= layer < len(decoder.layers)
            assert part in ("embedding", "attention", "feed_forward")
            assert [decoder.layout.holder(s).name for s in subspaces] == list(subspaces)


# ── every value at every position, by the definitions ───────────────────────────────────────────────────────
def defined(machine: Machine, word: str, tokens: Sequence[str], i: int, *, stays: bool) -> dict[str, Value]:
    """Return what every subspace has to hold at the end of position `i`: the chapter's definitions, in Python."""
    triples = [parsed(t) for t in tokens[: i + 1]]
    moves = [t.move if t else 0 for t in triples]
    heads = [sum(moves[: j + 1]) for j in range(i + 1)]  # h_j is the sum of m_{-1} … m_{j-1}
    before = [0, *heads[:-1]]  # h_{j-1}
    h, triple = heads[i], triples[i]
    here = [j for j in range(i + 1) if before[j] == h]
    j = here[-1] if here else max(range(i + 1), key=lambda k: (-abs(before[k] - h), k))
    written = triples[j].symbol if triples[j] else None
    given = word[h] if 0 <= h < min(len(word), i + 1) else None
    a = (written if here else None) or given or machine.blank
    per = F(1, i + 1)
    values: dict[str, Value] = {
        "e_x": tokens[i],
        "1/(i+1)": per,
        "1": 1,
        "i": i,
        "i^2": i * i,
        "e_q": triple.state if triple else None,
        "e_b": triple.symbol if triple else None,
        "m": moves[i],
        "m/(i+1)": moves[i] * per,
        "h/(i+1)": h * per,
        "h": h,
        "h^2": h * h,
        "e_x(h)": given,
        "h_{i-1}": before[i],
        "h_{i-1}^2": before[i] ** 2,
        "h_{j*-1}": before[j],
        "e_b(j*-1)": written,
        "[h_{j*-1}=h]": int(bool(here)),
        "e_a": a,
    }
    if machine.tape == "two-way":
        for name, number in (("h", h), ("h_{i-1}", before[i])):
            values |= {f"{name}+/(i+1)": max(number, 0) * per, f"{name}-/(i+1)": max(-number, 0) * per}
        values |= {"h-": max(-h, 0), "e_x(h+)": tokens[max(h, 0)] if max(h, 0) < len(word) else None}
    if stays:
        values["[h=0]"] = int(h == 0)
    return values


def check_every_position(machine: Machine, word: str, most: int) -> list[int]:
    """Compare the stream of `machine` at every position of a run with `defined`; return the head positions."""
    decoder = compile_machine(machine)
    tokens, rows = observed(decoder, word, most)
    last = len(decoder.layers) - 1
    for i, row in enumerate(rows):
        found = dict(row[last, "feed_forward"])
        answer = found.pop("e_y")
        assert found == defined(machine, word, tokens, i, stays=machine.tape == "one-way"), (i, tokens[i])
        wanted = [*tokens[len(word) + 1 :], *([answer] if i == len(rows) - 1 else [])]
        assert answer == (word[i] if i < len(word) else wanted[i - len(word)])
    return [int(row[last, "feed_forward"]["h"]) for row in rows]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "word", "lowest"),
    [("chapter", "11", 0), ("left-edge", "11", 0), ("busy-beaver-3", "", -1), ("busy-beaver-4", "", -4)],
)
def test_every_subspace_at_every_position(name: str, word: str, lowest: int) -> None:
    heads = check_every_position(load(name), word, 45)
    assert min(heads) == lowest
    # the head of the transformer is the head of the simulator
    simulated = [c.head for c in configurations(load(name), word, max_steps=44)]
    assert heads[len(word) + 1 :] == simulated[: len(heads) - len(word) - 1]


@pytest.mark.slow
@settings(max_examples=100)
@given(machines_with_inputs())
def test_every_subspace_at_every_position_of_random_machines(case: tuple[Machine, str]) -> None:
    check_every_position(*case, most=12)


# ── steps by themselves ─────────────────────────────────────────────────────────────────────────────────────
def alone(decoder: Decoder, layer: Layer, cases: Iterable[Mapping[str, Value]]) -> list[dict[str, Value]]:
    """Return the stream after `layer` alone, at position 0, for each stream that it is given by name."""
    layout, cases = decoder.layout, list(cases)
    entries: dict[tuple[int, int], float] = {}
    for n, case in enumerate(cases):
        for name, value in case.items():
            if isinstance(value, str):
                entries[layout.index(at(name, value)), n] = 1.0
            elif value:
                entries[layout.index(name), n] = float(value)
    tokens = tuple(map(str, range(len(cases))))
    small = dataclasses.replace(
        decoder,
        vocabulary=tokens,
        bos=tokens[0],
        stop=(),
        features=(),
        token_embedding=Matrix.from_entries((layout.width, len(cases)), entries),
        position_embedding=Matrix.from_entries((layout.width, 0), {}),
        layers=(layer,),
        unembedding=Matrix.from_entries((len(cases), layout.width), {}),
        unembedding_bias=Matrix.from_entries((len(cases), 1), {}),
    )
    streams = []
    for n in range(len(cases)):
        session = Exact().start(small)
        session.feed(n)
        streams.append(by_name(layout, session.residual))
    return streams


MACHINES = ["chapter", "left-edge", "busy-beaver-3", "binary-addition"]


@pytest.mark.parametrize("name", MACHINES)
def test_unpack_alone(name: str) -> None:
    """Eq. 8.5, and m/(i+1) for whatever 1/(i+1) is (here 2^-k, a float)."""
    machine = load(name)
    decoder = compile_machine(machine)
    cases = [{"e_x": token, "1/(i+1)": F(1, 2**k)} for token in decoder.vocabulary for k in range(6)]
    wanted = []
    for case in cases:
        triple = parsed(case["e_x"])
        q, b, m = triple or (None, None, 0)
        wanted.append({"e_q": q, "e_b": b, "m": m, "m/(i+1)": m * case["1/(i+1)"]})
    got = alone(decoder, unpack(decoder.layout, machine, decoder.vocabulary), cases)
    assert [{k: x[k] for k in ("e_q", "e_b", "m", "m/(i+1)")} for x in got] == wanted


@pytest.mark.parametrize("name", MACHINES)
def test_symbol_alone(name: str) -> None:
    """Eq. 8.18: the latest write if there is one to this cell, else the input symbol, else the blank."""
    machine = load(name)
    decoder = compile_machine(machine)
    cases = [
        {"[h_{j*-1}=h]": found, "e_b(j*-1)": written, "e_x(h)": given}
        for found in (0, 1)
        for written in (None, *machine.tape_alphabet)
        for given in (None, *(machine.input_alphabet or ()))
    ]
    got = alone(decoder, symbol(decoder.layout, machine), cases)
    assert [x["e_a"] for x in got] == [
        case["e_b(j*-1)"] if case["[h_{j*-1}=h]"] and case["e_b(j*-1)"] else case["e_x(h)"] or machine.blank
        for case in cases
    ]


@pytest.mark.parametrize(
    ("name", "boundary"),
    [
        *product(("chapter", "left-edge"), ("repaired", "chapter")),
        *product(("busy-beaver-3", "binary-addition"), ("none",)),
    ],
)
def test_transition_alone(name: str, boundary: Any) -> None:
    """δ for every state and symbol, at cell 0 and elsewhere; the answer to BOS; the copy of the prompt."""
    machine = load(name)
    decoder = compile_machine(machine, left_boundary=None if boundary == "none" else boundary)
    zero = (0, 1) if "[h=0]" in decoder.layout else ()
    asked = [(q, a, z) for q, a, z in product(machine.states, machine.tape_alphabet, zero or (None,))]
    # states with a verdict on entry are in no token
    asked = [(q, a, z) for q, a, z in asked if not (machine.decides and q in machine.halting_states)]
    starts = [(a, z) for a in (*(machine.input_alphabet or ()), machine.blank) for z in zero or (None,)]
    copied = [(x, a) for x in machine.input_alphabet or () for a in machine.tape_alphabet]
    cases: list[dict[str, Value]] = [{"e_q": q, "e_a": a, **({"[h=0]": z} if z else {})} for q, a, z in asked]
    cases += [{"e_x": "BOS", "e_a": a, **({"[h=0]": z} if z else {})} for a, z in starts]
    cases += [{"e_x": x, "e_a": a} for x, a in copied]

    def delta(q: str, a: str, z: int | None) -> str:
        rule = machine.transitions.get((q, a))
        if rule is None:
            return "REJ" if machine.decides else "HALT"
        ends = {**dict.fromkeys(machine.reject_states, "REJ"), **dict.fromkeys(machine.accept_states, "ACC")}
        move = 0 if z and rule.move < 0 else rule.move
        return ends.get(rule.state) or f"({rule.state},{rule.write},{ {-1: '-1', 0: '0', 1: '+1'}[move] })"

    wanted = [delta(*case) for case in asked]
    wanted += [f"({machine.start},{a},0)" for a, _ in starts]
    wanted += [x for x, _ in copied]
    got = alone(decoder, transition(decoder.layout, Answers(machine, boundary)), cases)
    assert [x["e_y"] for x in got] == wanted


# ── the shape of the whole ──────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", shipped())
def test_six_layers_four_or_six_heads_and_small_weights(name: str) -> None:
    machine = load(name)
    decoder = compile_machine(machine)
    assert [layer.name for layer in decoder.layers] == [
        "unpack",
        "head position",
        "read input",
        "read tape",
        "symbol",
        "transition",
    ]
    heads = [len(layer.heads) for layer in decoder.layers]
    assert heads == ([0, 1, 4, 1, 0, 0] if machine.tape == "two-way" else [0, 1, 2, 1, 0, 0])
    weights = {abs(float(v)) for m in matrices(decoder).values() for v in m.values}
    assert weights <= {0.5, 1.0, 2.0}
    assert decoder.largest == 2.0
    assert (decoder.bos, decoder.features) == ("BOS", ("1/(i+1)", "1", "i", "i^2"))
    assert decoder.stop == (("ACC", "REJ") if machine.decides else ("ACC", "REJ", "HALT"))


def test_compiling_twice_gives_equal_weights_and_says_where_they_are_from() -> None:
    again = compile_machine(load("chapter"))
    assert again == CHAPTER
    assert hash(again) == hash(CHAPTER)
    assert Machine.from_yaml(again.provenance["source"]) == load("chapter")


def test_a_machine_made_in_python_is_written_into_the_provenance() -> None:
    machine = Machine(transitions={("a", "_"): ("b", "1", "R")}, start="a", blank="_", name="made")
    assert machine.yaml is None
    assert Machine.from_yaml(compile_machine(machine).provenance["source"]) == machine


def test_the_left_boundary_is_repaired_unless_the_chapters_is_asked_for() -> None:
    machine = load("left-edge")
    chapter = compile_machine(machine, left_boundary="chapter")
    assert compile_machine(machine, left_boundary="repaired") == compile_machine(machine) != chapter
    assert ("[h=0]" in compile_machine(machine).layout, "[h=0]" in chapter.layout) == (True, False)
    assert chapter.provenance["option.left_boundary"] == "chapter"
    # Exercise 8.3: the head goes to cell -1
    tokens, rows = observed(chapter, "11", 40)
    heads = [sum(t.move for t in map(parsed, tokens[: i + 1]) if t) for i in range(len(tokens))]
    assert min(heads) == -1
    assert len(rows) == len(tokens)
