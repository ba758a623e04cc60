"""Weights of automata answer the state and the verdict at every position as the automaton's own run says."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

import tm2tfr
from tests.sources.automaton.random_automata import compared, random_automata
from tests.strategies import tries
from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError, InputError
from tm2tfr.contract.options import AutomatonOptions
from tm2tfr.sources.automaton.automaton import Automaton
from tm2tfr.sources.automaton.compiler import compile_automaton
from tm2tfr.sources.automaton.evaluate import accepts
from tm2tfr.sources.automaton.formats import native
from tm2tfr.sources.automaton.formats.regex import of_text
from tm2tfr.sources.automaton.formats.registry import read
from tm2tfr.sources.automaton.library import load, shipped
from tm2tfr.sources.automaton.programs import decided
from tm2tfr.sources.automaton.truth import AutomatonTruth
from tm2tfr.targets.common.reference import reference_of

SCAN = AutomatonOptions(by="scan", max_length=4)
STEPS = AutomatonOptions(by="steps", max_length=4)


def test_random_automata_on_all_short_words() -> None:
    ways = {"star-free": 0, "scan": 0}
    for automaton in random_automata(2026, tries(50), most=4):
        ways["scan" if decided(automaton).cascade is None else "star-free"] += 1
        found = compared(automaton, 4, AutomatonOptions() if decided(automaton).cascade else SCAN)
        assert found.failure is None, (automaton.transitions, found.failure)
    assert min(ways.values()) >= 1


@pytest.mark.slow
def test_random_star_free_automata_on_all_words_to_length_8() -> None:
    left, cells = tries(200), 0
    for automaton in random_automata(7, 10 * left):
        if decided(automaton).cascade is None or not left:
            continue
        found = compared(automaton, 8)
        assert found.failure is None, (automaton.transitions, found.failure)
        left, cells = left - 1, cells + found.cells
    assert left == 0
    assert cells > tries(200) * 50_000


@pytest.mark.slow
def test_other_random_automata_on_all_words_to_length_8() -> None:
    left, cells = tries(200), 0
    for automaton in random_automata(31, 10 * left):
        if decided(automaton).cascade is not None or not left:
            continue
        found = compared(automaton, 8, AutomatonOptions(by="scan", max_length=8))
        assert found.failure is None, (automaton.transitions, found.failure)
        if left % 5 == 0:
            steps = compared(automaton, 6, AutomatonOptions(by="steps", max_length=6))
            assert steps.failure is None, (automaton.transitions, steps.failure)
        left, cells = left - 1, cells + found.cells
    assert left == 0
    assert cells > tries(200) * 50_000


@pytest.mark.parametrize("name", shipped())
def test_shipped_ones(name: str) -> None:
    automaton = load(name).program
    assert len(automaton.examples) > 2
    assert 22 <= len(automaton.title) <= 112
    for options in (AutomatonOptions(), SCAN, STEPS):
        found = compared(automaton, 4, options)
        assert found.failure is None, found.failure
        assert found.runs == 30


@pytest.mark.parametrize("text", ["()", "a", "(a|b)*", "a*", "(aa)*"])
def test_constant_verdicts_and_single_states(text: str) -> None:
    own = of_text(text, "ab").program
    for accepting in dict.fromkeys([own.accepting, own.states, ()]):
        automaton = replace(own, accepting=accepting, pattern="")
        for options in (AutomatonOptions(), SCAN, STEPS):
            found = compared(automaton, 3, options)
            assert found.failure is None, found.failure


ODD = ('"', "'", " ", "§", "\\", "⊤", "BOS!", "ü", "-", "#", "\n")


ODD_STATES = ("a b", '"', "⊥", "-", "{x}", "\n")


@pytest.mark.parametrize("resets", [True, False])
def test_tokens_and_states_of_any_characters(resets: bool) -> None:
    places = {(q, a): j if resets else 3 * i + j for i, q in enumerate(ODD_STATES) for j, a in enumerate(ODD)}
    table = {key: ODD_STATES[place % len(ODD_STATES)] for key, place in places.items()}
    automaton = Automaton(
        name="odd", states=ODD_STATES, alphabet=ODD, transitions=table, start="a b", accepting=('"', "-", "{x}")
    )
    assert read(native.write(automaton), file="x.yaml", format="yaml").program == automaton
    assert (decided(automaton).cascade is not None) == resets
    if resets:
        assert compared(automaton, 2).failure is None
    some = replace(automaton, alphabet=ODD[:5], transitions={(q, a): r for (q, a), r in table.items() if a in ODD[:5]})
    assert compared(some, 2, AutomatonOptions(by="scan", max_length=2)).failure is None
    for options in (SCAN, STEPS):
        with pytest.raises(CompileError, match="no escapes"):
            compile_automaton(automaton, options)


@pytest.mark.parametrize("name", shipped())
def test_what_is_written_reads_back(name: str) -> None:
    automaton = load(name).program
    for format in ("yaml", "jflap"):
        assert read(tm2tfr.convert(automaton, format), file="x", format=format).program == automaton


def test_objects_of_automata_lib() -> None:
    dfa = pytest.importorskip("automata.fa.dfa", reason="automata-lib is not installed: pip install automata-lib")
    nfa = pytest.importorskip("automata.fa.nfa", reason="automata-lib is not installed: pip install automata-lib")
    for text in ("(ab)*", "a*b?", "(a|b)*abb", "(aa)*b"):
        ours = tm2tfr.automaton(text, alphabet="ab")
        other = nfa.NFA.from_regex(text, input_symbols={"a", "b"})
        with pytest.warns(tm2tfr.SpecWarning, match="nondeterministic"):
            theirs = tm2tfr.automaton(other)
        assert len(ours.states) == len(theirs.states)
        for word in ("", "a", "b", "ab", "aab", "abab", "aba", "babb", "bb"):
            assert accepts(ours, word) == accepts(theirs, word) == other.accepts_input(word)
    assert tm2tfr.automaton(dfa.DFA.from_nfa(other), name="mine").name == "mine"


def test_expressions_beside_the_library_of_python() -> None:
    for text in ("(ab)*", "a*b*|c", ".*aa.*", "[^a]{2,3}a?", "(a|b){2,}c", "((a|b)(a|b))*", "()|a+", "[a-b]c?", "a{0}b"):
        automaton = tm2tfr.automaton(text, alphabet="abc")
        for word in (word for n in range(5) for word in product("abc", repeat=n)):
            assert accepts(automaton, word) == (re.fullmatch(text, "".join(word)) is not None), (text, word)


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


@pytest.mark.slow
def test_the_table_has_the_run() -> None:
    decoder = compile_automaton(load("mod-3").program, AutomatonOptions())
    truth = AutomatonTruth(load("mod-3").program, "1001", decoder)
    assert truth.values["state"] == ("1", "2", "1", "0")
    assert truth.result().own == {"states": ["1", "2", "1", "0"]}
    trace = tm2tfr.check("mod-3", "1001")
    assert trace.result.outcome == "accept"
    assert [row[-1] for row in trace.rows] == ["1", "2", "1", "0"]


def test_a_model_card_begins_with_an_article_that_fits_and_an_example_that_the_model_takes() -> None:
    subject = Subject.of("mod-3", options={"max_length": 1})
    reference = reference_of(subject.program, subject.decoder)
    assert reference.origin().startswith("An automaton as a transformer that labels sequences.\n")
    assert reference.example == "1"
