"""The tokens of a class of machines: their order and number, and that no two are the same, whatever names a machine has."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.installed import needs_dot
from tests.sources.turing.universal.cases import EVERY, compiled
from tests.strategies import tries
from tm2tfr.engines.dense import Dense
from tm2tfr.runs.comparison import check
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine, Rule
from tm2tfr.sources.turing.universal.compiler import layout, renamed
from tm2tfr.sources.turing.universal.names import (
    CHARACTERS,
    Entry,
    MachineNames,
    RuleAnswer,
    canonical,
    filled,
    key_token,
    value_token,
)
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.truth import UniversalTruth

BOTH = ("one-way", "two-way")


# ── the vocabulary ──────────────────────────────────────────────────────────────────────────────────────────
def test_the_smallest_vocabulary_whole() -> None:
    assert canonical(1, 2).vocabulary(BOTH) == (
        *("1", "BOS", "ACC", "REJ", "HALT"),
        *("(q0,0,-1)", "(q0,0,0)", "(q0,0,+1)", "(q0,1,-1)", "(q0,1,0)", "(q0,1,+1)"),
        *("(halt,0,-1)", "(halt,0,0)", "(halt,0,+1)", "(halt,1,-1)", "(halt,1,0)", "(halt,1,+1)"),
        *("q0,0", "q0,1"),
        *("→(q0,0,-1)", "→(q0,0,0)", "→(q0,0,+1)", "→(q0,1,-1)", "→(q0,1,0)", "→(q0,1,+1)"),
        *("→(halt,0,-1)", "→(halt,0,0)", "→(halt,0,+1)", "→(halt,1,-1)", "→(halt,1,0)", "→(halt,1,+1)"),
        *("→ACC", "→REJ", "one-way", "two-way"),
    )


def test_one_symbol_and_one_state() -> None:
    assert canonical(1, 1).vocabulary(()) == (
        *("BOS", "ACC", "REJ", "HALT"),
        *("(q0,0,-1)", "(q0,0,0)", "(q0,0,+1)", "(halt,0,-1)", "(halt,0,0)", "(halt,0,+1)"),
        "q0,0",
        *("→(q0,0,-1)", "→(q0,0,0)", "→(q0,0,+1)", "→(halt,0,-1)", "→(halt,0,0)", "→(halt,0,+1)"),
        *("→ACC", "→REJ"),
    )


@pytest.mark.parametrize(("states", "symbols"), [(1, 1), (2, 2), (5, 2), (8, 4), (10, 4), (20, 6), (3, 62)])
@pytest.mark.parametrize("tape", ["both", "one-way", "two-way"])
def test_sizes_of_vocabularies(states: int, symbols: int, tape: str) -> None:
    universal = Universal(states=states, symbols=symbols, tape=tape)  # type: ignore[arg-type]
    triples = 3 * (states + 1) * symbols
    tokens = universal.vocabulary
    assert len(tokens) == symbols - 1 + 4 + triples + states * symbols + triples + 2 + 2 * (tape == "both")
    assert len(set(tokens)) == len(tokens)
    assert tokens == universal.canonical.vocabulary(universal.tapes)


def test_sizes_of_decoders() -> None:
    """Those that the documents give."""
    decoder = compiled()
    found = (len(decoder.vocabulary), decoder.layout.width, len(decoder.layers), decoder.heads, decoder.nonzero)
    assert found == (259, 717, 7, 11, 3179)
    assert decoder.largest == 3
    for tape, heads in (("one-way", 8), ("two-way", 10)):
        decoder = compiled(Universal(states=8, symbols=4, tape=tape))  # type: ignore[arg-type]
        assert (len(decoder.vocabulary), len(decoder.layers), decoder.heads) == (257, 7, heads)


def test_canonical_names() -> None:
    names = canonical(3, 62)
    assert names.states == ("q0", "q1", "q2", "halt")
    assert names.ruled == ("q0", "q1", "q2")
    assert "".join(names.symbols) == CHARACTERS
    assert names.blank == "0"
    assert names.rule(Entry(1, 10, RuleAnswer(3, 36, -1))) == ("q1,a", "→(halt,A,-1)")
    assert names.rule(Entry(2, 0, "ACC")) == ("q2,0", "→ACC")


# ── a machine's own ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["a"], ["a", "q1", "q2", "halt"]),
        (["q1"], ["q1", "q1'", "q2", "halt"]),
        (["q2", "q1"], ["q2", "q1", "q2'", "halt"]),
        (["q1", "q1'"], ["q1", "q1'", "q2", "halt"]),
        (["halt"], ["halt", "q1", "q2", "halt'"]),
        (["halt", "halt'", "q2"], ["halt", "halt'", "q2", "halt''"]),
        (["q1'", "q2"], ["q1'", "q2", "q2'", "halt"]),
        (["q2'", "q2"], ["q2'", "q2", "q2''", "halt"]),
    ],
)
def test_states_that_a_machine_does_not_have_get_primes_where_their_names_are_taken(
    states: list[str], expected: list[str]
) -> None:
    given = [*states, *[""] * (4 - len(states))]
    assert list(filled(given, ["0"], canonical(3, 1)).states) == expected


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [
        ("_", "_123"),
        ("0", "0123"),
        ("10", "1023"),
        ("_1", "_123"),
        ("_2", "_203"),
        ("_3", "_320"),
        ("_23", "_230"),
        ("→(", "→(23"),
        (" ,", " ,23"),
    ],
)
def test_symbols_that_a_machine_does_not_have(symbols: str, expected: str) -> None:
    assert "".join(filled(["a", "b"], list(symbols), canonical(1, 4)).symbols) == expected


def test_a_machine_that_has_all_the_characters_leaves_others_for_the_rest() -> None:
    found = filled(["a", "b"], list(CHARACTERS[::-1][:61]), canonical(1, 62)).symbols
    assert len(set(found)) == 62
    assert found[61] == "0"
    shifted = list(CHARACTERS[1:])  # every character but 0 is another one's
    assert filled(["a", "b"], shifted, canonical(1, 62)).symbols[61:] == ("0",)


names = st.one_of(
    st.text("q0123'halt,()→+- ", min_size=1, max_size=8),
    st.sampled_from(["q0", "q1", "halt", "halt'", "BOS", "ACC", "→(q0,0,0)", "one-way", "(q0,0", "q0,0", "two-way", ","]),
)
signs = st.one_of(st.characters(codec="utf-8"), st.sampled_from("(),+-01→' q_"))


@pytest.mark.slow
@settings(max_examples=tries(1_000))
@given(st.lists(names, min_size=2, max_size=5, unique=True), st.lists(signs, min_size=1, max_size=5, unique=True))
def test_no_two_tokens_are_the_same_whatever_a_machine_calls_its_own(states: list[str], symbols: list[str]) -> None:
    """States with commas, arrows and brackets, symbols that are those: every token has a place of its own."""
    given = [*states[:-1], "", states[-1]]
    own = filled(given, symbols, canonical(len(given) - 1, 6))
    tokens = own.vocabulary(BOTH)
    assert len(set(tokens)) == len(tokens) == len(canonical(len(given) - 1, 6).vocabulary(BOTH))
    assert [q for q in own.states if q in states] == states
    assert list(own.symbols[: len(symbols)]) == symbols
    directions = layout(Universal(states=len(given) - 1, symbols=6), own).directions
    assert len(set(directions)) == len(directions)


def test_keys_and_values_are_told_from_all_other_tokens_by_their_spelling() -> None:
    """A key ends with a comma and one character, a value begins with an arrow; no other token does."""
    for state, symbol, move in product(["(q,a", "→", ",", "(,", "→(q0,0"], "(),→1", (-1, 0, 1)):
        own = MachineNames((state, "end"), (symbol,))
        triple = own.triple(RuleAnswer(0, 0, move))
        assert key_token(state, symbol)[-2] == ","
        assert triple[-2] != ","
        assert value_token(triple)[-2] != ","
        assert triple.startswith("(")
        assert value_token(triple).startswith("→(")


ODD = {
    "states of the decoder's": (("q1", "halt", "q5'", "q0", "q5"), "_1"),
    "symbols the other way round": (("a", "b"), "10"),
    "brackets and commas": (("(q0,0", "→(q0,0,0)", ",", "q0,0", "a b"), "),(→"),
    "blanks as symbols": (("a", "b"), " \t\u00a0\u3000"),
    "special tokens": (("BOS", "ACC", "HALT", "one-way", "two-way", "REJ"), "_B"),
    "other scripts": (("é", "状態", "🂡"), "□あ🂡"),
}


def odd_machine(chance: random.Random, states: tuple[str, ...], symbols: str) -> Machine:
    rules = {
        (q, a): (chance.choice([*states, "fin"]), chance.choice(symbols), chance.choice((-1, 0, 1)))
        for q, a in product(states, symbols)
        if q == states[0] or chance.random() < 0.9
    }
    return Machine(
        transitions=rules,  # type: ignore[arg-type]
        start=states[0],
        blank=symbols[0],
        states=(*states, "fin"),
        tape_alphabet=tuple(symbols),
        input_alphabet=tuple(symbols[1:]),
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", ODD)
def test_machines_with_odd_names_run_in_their_own_names(case: str) -> None:
    """The decoder with the machine's names is compared with the reference, whole rows, in these names."""
    states, symbols = ODD[case]
    chance, steps = random.Random(case), 0
    for _ in range(6):
        program = EVERY.holding(odd_machine(chance, states, symbols))
        word = "".join(chance.choices(symbols[1:], k=3))
        trace = check(
            renamed(compiled(), program), UniversalTruth(program, word, max_steps=12), engine=Dense(), max_steps=12
        )
        assert trace.agrees, trace.divergence
        assert program.names.states[0] == states[0]
        steps += trace.tokens - len(program.description) - 4
    assert steps > 20


# ── what a class of machines looks like in a terminal and in a notebook
def test_in_a_line() -> None:
    every = Universal(states=8, symbols=4)
    assert repr(every) == "<Universal 8,4: both tapes>"
    assert repr(Universal(states=1, symbols=1, tape="one-way")) == "<Universal 1,1: one-way tape>"
    shown = "<Universal 8,4: both tapes, in the prompt chapter: 15 rules in 31 tokens>"
    assert repr(every.holding(load("chapter"))) == shown


@needs_dot
def test_with_a_machine() -> None:
    shown = Universal(states=8, symbols=4).holding(load("chapter"))._repr_html_()
    about = "One decoder for all machines with at most 8 states and 4 symbols and a one-way or a two-way tape"
    assert shown.startswith(f"<p>{about}; in its prompt: <b>chapter</b>, 15 rules in 31 tokens:</p>\n<p><code ")
    assert '>one-way</code> <code style="white-space:nowrap">q0,1 →(q1,_,+1)</code> <code' in shown
    assert "<svg" in shown


def test_names_do_no_harm_and_many_rules_are_cut() -> None:
    states = [f"<b>{n}" for n in range(110)]
    rules = {(q, a): Rule(states[0], a, 0) for q in states for a in "01"}
    machine = Machine(name="<i>", transitions=rules, start=states[0], blank="0")
    shown = Universal(states=110, symbols=2, tape="two-way").holding(machine)._repr_html_()
    assert "<b>&lt;i&gt;</b>, 220 rules in 440 tokens" in shown
    assert " and 20 more rules</p>" in shown
    assert "<b>1" not in shown
