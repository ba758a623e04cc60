"""Whether an automaton is star-free is decided as its whole monoid decides it, and a word that counts does count."""

from __future__ import annotations

from itertools import product

import pytest

from tests.sources.automaton.random_automata import aperiodic, random_automata
from tests.strategies import tries
from tm2tfr.base.errors import CompileError
from tm2tfr.contract.options import AutomatonOptions
from tm2tfr.sources.automaton.automaton import Automaton, classes, minimised
from tm2tfr.sources.automaton.cascade import MOST_IMAGES, Images, TooManyImagesError
from tm2tfr.sources.automaton.evaluate import accepts, run
from tm2tfr.sources.automaton.formats.regex import of_text
from tm2tfr.sources.automaton.programs import decided, formula_of, text_of
from tm2tfr.sources.logic.evaluate import evaluate as evaluated_formula
from tm2tfr.sources.logic.read import read as read_logic
from tm2tfr.sources.rasp.evaluate import evaluate as evaluated_rasp
from tm2tfr.sources.rasp.read import read as read_rasp

SCAN = AutomatonOptions(by="scan", max_length=5)
STEPS = AutomatonOptions(by="steps", max_length=5)


def words(automaton: Automaton, longest: int) -> list[tuple[str, ...]]:
    return [word for n in range(1, longest + 1) for word in product(automaton.alphabet, repeat=n)]


def test_aperiodic_as_its_monoid_says() -> None:
    found = {True: 0, False: 0}
    for automaton in random_automata(1, tries(1_500)):
        counter = Images(automaton).counter()
        assert (counter is None) == aperiodic(automaton), automaton.transitions
        found[counter is None] += 1
        if counter is not None:
            for state, after in zip(counter.states, (*counter.states[1:], counter.states[0]), strict=True):
                for token in counter.word:
                    state = automaton.transitions[state, token]  # noqa: PLW2901
                assert state == after
            assert len(set(counter.states)) == len(counter.states) > 1
    assert min(found.values()) > sum(found.values()) // 4


def test_a_star_free_automaton_is_its_b_rasp_program_and_its_formula() -> None:
    """At every position of all words: the state and the verdict of the program, the verdict of the formula."""
    tried = 0
    for automaton in random_automata(2, tries(300)):
        known = decided(automaton)
        if known.cascade is None:
            continue
        tried += 1
        first = classes(automaton) if known.merged else {state: state for state in automaton.states}
        program = read_logic(text_of(automaton, AutomatonOptions()), file="x.srasp").program
        formula = read_logic(formula_of(automaton), file="x.tl")
        assert formula.warnings == ()
        for word in words(automaton, 5):
            states = run(automaton, word)[1:]
            values = evaluated_formula(program, word)
            assert values[program.definitions["state"]] == tuple(first[state] for state in states), automaton.transitions
            verdicts = tuple(state in automaton.accepting for state in states)
            assert values[program.root] == verdicts
            assert evaluated_formula(formula.program, word)[formula.program.root] == verdicts, automaton.transitions
    assert tried > tries(300) // 3


@pytest.mark.parametrize("options", [SCAN, STEPS], ids=["scan", "steps"])
def test_any_automaton_is_its_rasp_program(options: AutomatonOptions) -> None:
    for automaton in random_automata(3, tries(60)):
        program = read_rasp(text_of(automaton, options), file="x.rasp").program
        sops = (program.sops["state"], program.sops["accepts"])
        for word in words(automaton, 5 if len(automaton.alphabet) == 2 else 4):
            states = run(automaton, word)[1:]
            values = evaluated_rasp(sops, word).values
            assert values[sops[0]] == states
            assert values[sops[1]] == tuple(state in automaton.accepting for state in states)


def test_the_minimal_automaton_has_the_same_words_and_as_few_states_as_the_library_finds() -> None:
    dfa = pytest.importorskip("automata.fa.dfa", reason="automata-lib is not installed: pip install automata-lib")
    for automaton in random_automata(4, tries(200)):
        smallest = minimised(automaton)
        other = dfa.DFA(
            states=set(automaton.states),
            input_symbols=set(automaton.alphabet),
            transitions={q: {a: automaton.transitions[q, a] for a in automaton.alphabet} for q in automaton.states},
            initial_state=automaton.start,
            final_states=set(automaton.accepting),
        ).minify()
        assert len(smallest.states) == len(other.states)
        assert all(
            accepts(automaton, word) == accepts(smallest, word) == other.accepts_input(word) for word in words(automaton, 4)
        )


def test_an_automaton_that_counts_where_it_need_not_is_star_free_all_the_same() -> None:
    """Two copies of one state in turn: the given automaton permutes them, the minimal one has one of them."""
    table = {("p", "a"): "q", ("q", "a"): "p", ("p", "b"): "r", ("q", "b"): "r", ("r", "a"): "r", ("r", "b"): "r"}
    automaton = Automaton(
        name="copies", states=("p", "q", "r"), alphabet=("a", "b"), transitions=table, start="p", accepting=("r",)
    )
    known = decided(automaton)
    assert Images(automaton).counter() is not None
    assert known.merged
    assert known.cascade is not None
    assert known.cascade.states == ("p", "r")


def test_languages_that_are_known() -> None:
    star_free = ("(ab)*", "a*b*", ".*aa.*", "[^a]{2,3}a?", "(a|b)*abb", "()", "a{7}", "(a*b)*a*")
    counting = ("(aa)*", "((a|b)(a|b))*", "(b*ab*ab*)*", "(a|bb)*", "(aaa|b)*", "a(ba|ab)*(bb)*")
    found = {text: decided(of_text(text, "ab").program).cascade is not None for text in (*star_free, *counting)}
    assert found == {**dict.fromkeys(star_free, True), **dict.fromkeys(counting, False)}


def test_too_many_images_are_not_decided_and_scanned() -> None:
    """N states on a line, which two letters shuffle: nearly every set of states is an image."""
    n = 14
    states = tuple(f"s{i}" for i in range(n))
    table = {(q, "a"): states[(i + 1) % n] for i, q in enumerate(states)}
    table |= {(q, "b"): q for q in states} | {("s0", "b"): "s1"}
    automaton = Automaton(name="many", states=states, alphabet=("a", "b"), transitions=table, start="s0", accepting=("s3",))
    with pytest.raises(TooManyImagesError):
        Images(automaton)
    assert 2**n > MOST_IMAGES
    known = decided(automaton)
    assert (known.cascade, known.counter, known.open) == (None, None, True)
    with pytest.raises(CompileError, match="is not decided"):
        text_of(automaton, AutomatonOptions(by="star-free"))
    assert "_state_10 = _after[_before_10 + tokens];" in text_of(automaton, AutomatonOptions())
    with pytest.raises(CompileError, match="use by='steps'"):
        text_of(automaton, AutomatonOptions(by="scan"))
