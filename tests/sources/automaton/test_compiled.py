"""Weights of automata answer the state and the verdict at every position as the automaton's own run says."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tm2tfr
from tests.sources.automaton.random_automata import compared, random_automata
from tests.strategies import tries
from tm2tfr.base.errors import CompileError, InputError
from tm2tfr.contract.options import AutomatonOptions
from tm2tfr.sources.automaton.automaton import Automaton
from tm2tfr.sources.automaton.compiler import compile_automaton
from tm2tfr.sources.automaton.formats.regex import of_text
from tm2tfr.sources.automaton.library import load, shipped
from tm2tfr.sources.automaton.programs import decided
from tm2tfr.sources.automaton.truth import AutomatonTruth

SCAN = AutomatonOptions(by="scan", max_length=4)


def test_random_automata_on_all_short_words() -> None:
    ways = {"star-free": 0, "scan": 0}
    for automaton in random_automata(2026, tries(50), most=4):
        ways["scan" if decided(automaton).cascade is None else "star-free"] += 1
        found = compared(automaton, 4, AutomatonOptions() if decided(automaton).cascade else SCAN)
        assert found.failure is None, (automaton.transitions, found.failure)
    assert min(ways.values()) >= 1


@pytest.mark.slow
def test_two_hundred_random_automata_on_all_words_to_length_8() -> None:
    cells = 0
    for automaton in random_automata(2026, tries(200)):
        found = compared(automaton, 8)
        assert found.failure is None, (automaton.transitions, found.failure)
        cells += found.cells
    assert cells > tries(200) * 5_000


@pytest.mark.parametrize("name", shipped())
def test_shipped_ones(name: str) -> None:
    automaton = load(name).program
    assert len(automaton.examples) > 2
    assert 22 <= len(automaton.title) <= 112
    for options in (AutomatonOptions(), SCAN):
        found = compared(automaton, 4, options)
        assert found.failure is None, found.failure
        assert found.runs == 30


@pytest.mark.parametrize("text", ["()", "a", "(a|b)*", "a*", "(aa)*"])
def test_constant_verdicts_and_single_states(text: str) -> None:
    own = of_text(text, "ab").program
    for accepting in dict.fromkeys([own.accepting, own.states, ()]):
        automaton = replace(own, accepting=accepting, pattern="")
        for options in (AutomatonOptions(), SCAN):
            found = compared(automaton, 3, options)
            assert found.failure is None, found.failure


ODD = ('"', "'", " ", "§", "\\", "⊤", "BOS!", "ü", "-", "#", "\n")


def test_tokens_and_states_of_any_characters() -> None:
    states = ("a b", '"', "T", "⊥", "-", "", "{x}", "\n")
    table = {(q, a): states[(i * 3 + j) % len(states)] for i, q in enumerate(states) for j, a in enumerate(ODD)}
    automaton = Automaton(name="odd", states=states, alphabet=ODD, transitions=table, start="a b", accepting=('"', "-", ""))
    if decided(automaton).cascade is not None:
        found = compared(automaton, 2)
        assert found.failure is None, found.failure
    some = replace(automaton, alphabet=ODD[:5], transitions={(q, a): r for (q, a), r in table.items() if a in ODD[:5]})
    found = compared(some, 2, AutomatonOptions(by="scan", max_length=2))
    assert found.failure is None, found.failure
    with pytest.raises(CompileError, match="no escapes"):
        compile_automaton(automaton, SCAN)


def test_weights_restore_their_automaton(tmp_path: pytest.TempPathFactory) -> None:
    for subject, options in (("alternating", {}), ("mod-3", {"max_length": 4}), ("regex:a*b", {"alphabet": "abc"})):
        decoder = tm2tfr.compile(subject, **options)
        path = f"{tmp_path}/x.safetensors"
        tm2tfr.save_weights(decoder, path)
        again = tm2tfr.Subject.of(path)
        assert again.right == replace(tm2tfr.Subject.of(subject, **options).right, pattern="", made="")
        assert tm2tfr.check(again).agrees


def test_wrong_weights_are_found_with_their_cause() -> None:
    automaton = load("alternating").program
    decoder = compile_automaton(automaton, AutomatonOptions())
    trace = tm2tfr.check(decoder, "abab")
    assert trace.agrees
    other = replace(automaton, accepting=("odd",))
    assert not tm2tfr.check(decoder, "abab", machine=other).agrees


def test_options_that_are_impossible_say_why() -> None:
    with pytest.raises(CompileError, match="the word '1' leads from even to odd and back to even"):
        tm2tfr.compile("parity-fa", by="star-free")
    with pytest.raises(CompileError, match="words of any length"):
        tm2tfr.compile("alternating", max_length=5)
    with pytest.raises(CompileError, match="read 'b', which is not in the alphabet"):
        tm2tfr.compile("alternating", alphabet="a")
    with pytest.raises(InputError, match="the automaton accepts it"):
        tm2tfr.check("alternating", "")


def test_another_alphabet_rejects_and_is_read_anew_by_an_expression() -> None:
    assert tm2tfr.check(tm2tfr.compile("alternating", alphabet="abc"), "abcab").result.outcome == "reject"
    assert tm2tfr.check(tm2tfr.compile("regex:.*a", alphabet="abc"), "abca").result.outcome == "accept"


def test_the_table_has_the_run() -> None:
    decoder = compile_automaton(load("mod-3").program, AutomatonOptions())
    truth = AutomatonTruth(load("mod-3").program, "1001", decoder)
    assert truth.values["state"] == ("1", "2", "1", "0")
    assert truth.result().own == {"states": ["1", "2", "1", "0"]}
    trace = tm2tfr.check("mod-3", "1001")
    assert trace.result.outcome == "accept"
    assert [row[-1] for row in trace.rows] == ["1", "2", "1", "0"]
