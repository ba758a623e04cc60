"""The tokens: a triple and its text, and whole vocabularies of small machines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runs.checking import check
from tests.strategies import machines_with_inputs, tries
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.compiler.layout import Answers, Boundary, vocabulary
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import ACC, BOS, HALT, REJ, Triple, parsed

TWO_STATES = {("a", "1"): ("b", "x", "L"), ("a", "_"): ("yes", "_", "R"), ("b", "1"): ("a", "1", "S")}

texts = st.one_of(st.text(min_size=1), st.text("(),+-01 ", min_size=1), st.sampled_from(["(q,a,0)", ",", "BOS"]))
symbols = st.one_of(st.characters(), st.sampled_from("(),+-01 "))
triples = st.builds(Triple, texts, symbols, st.sampled_from([-1, 0, 1]))


# ── triples ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@given(triples)
def test_a_triple_is_read_back_from_its_token(triple: Triple) -> None:
    assert parsed(triple.token) == triple


@given(triples, triples)
def test_two_triples_never_have_one_token(one: Triple, other: Triple) -> None:
    assert (one.token == other.token) == (one == other)


@given(st.text("q,()01+-", max_size=9))
def test_whatever_is_read_as_a_triple_is_that_triples_token(token: str) -> None:
    triple = parsed(token)
    assert triple is None or triple.token == token


@given(symbols)
def test_neither_symbols_nor_special_tokens_are_triples(symbol: str) -> None:
    assert [parsed(token) for token in (symbol, BOS, ACC, REJ, HALT)] == [None] * 5


@pytest.mark.parametrize(
    ("triple", "token"),
    [
        (Triple("q1", "_", 1), "(q1,_,+1)"),
        (Triple("q1", "_", -1), "(q1,_,-1)"),
        (Triple("q1", "_", 0), "(q1,_,0)"),
        (Triple("a,b", ",", 0), "(a,b,,,0)"),
    ],
)
def test_a_triple_as_text(triple: Triple, token: str) -> None:
    assert triple.token == token


@pytest.mark.parametrize(
    "token", ["", "(", "(,0)", "(,+1)", "(q,0)", "(q,ab,0)", "(q,a,2)", "(q,a,-0)", "q,a,0)", "(q,a,0"]
)
def test_what_is_no_triple(token: str) -> None:
    assert parsed(token) is None


# ── vocabularies ────────────────────────────────────────────────────────────────────────────────────────────
def machine(rules: dict[tuple[str, str], tuple[str, str, str]] = TWO_STATES, **more: object) -> Machine:
    return Machine(transitions=rules, start="a", blank="_", **{"tape": "one-way", "input_alphabet": ("1",), **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("boundary", "left"), [("chapter", ["(b,x,-1)"]), ("none", ["(b,x,-1)"]), ("repaired", ["(b,x,-1)", "(b,x,0)"])]
)
def test_a_move_left_can_also_stay_with_the_repair_only(boundary: Boundary, left: list[str]) -> None:
    decider = machine(accept=("yes",), reject=("no",), states=("a", "b", "yes", "no"))
    # the rule into yes answers ACC on entry, and the missing rules REJ: there are no triples of either
    assert list(vocabulary(decider, boundary)) == ["1", "BOS", "ACC", "REJ", "(a,1,0)", "(a,_,0)", *left]


def test_no_input_alphabet() -> None:
    bare = machine({("a", "_"): ("a", "1", "R"), ("a", "1"): ("a", "1", "R")}, input_alphabet=())
    assert list(vocabulary(bare, "chapter")) == ["BOS", "ACC", "REJ", "HALT", "(a,_,0)", "(a,1,+1)"]


@pytest.mark.parametrize(
    ("ends", "answer", "tokens"),
    [
        ({"accept": ("end",)}, "ACC", ["1", "BOS", "ACC", "REJ"]),
        ({"reject": ("end",)}, "REJ", ["1", "BOS", "ACC", "REJ"]),
        ({}, "HALT", ["1", "BOS", "ACC", "REJ", "HALT"]),
    ],
)
def test_a_start_state_with_a_verdict_answers_bos_with_it(
    ends: dict[str, tuple[str, ...]], answer: str, tokens: list[str]
) -> None:
    still = Machine(
        transitions={}, start="end", blank="_", states=("end",), input_alphabet=("1",), tape_alphabet=("1", "_"), **ends
    )
    assert list(vocabulary(still, "none")) == tokens
    assert [Answers(still, "none").to_bos(a) for a in "1_"] == [answer] * 2


def test_the_answers_of_the_chapter() -> None:
    """The printed table's y-column, and the rules beside it."""
    answers = Answers(load("chapter"), "repaired")
    assert [answers.to_bos(a) for a in "1_"] == ["(q0,1,0)", "(q0,_,0)"]
    table = [("q0", "1"), ("q1", "1"), ("q2", "_"), ("q4", "x"), ("q4", "_"), ("q1", "x"), ("q0", "_"), ("q3", "_")]
    assert [answers.to(q, a) for q, a in table] == [
        "(q1,_,+1)",
        "(q2,x,+1)",
        "(q4,_,-1)",
        "(q4,x,-1)",
        "(q1,_,+1)",
        "ACC",
        "REJ",
        "REJ",
    ]
    assert answers.to("q4", "x", at_left_end=True) == "(q4,x,0)"
    assert answers.to("q4", "_", at_left_end=True) == "(q1,_,+1)"
    assert Answers(load("chapter"), "chapter").to("q4", "x", at_left_end=True) == "(q4,x,-1)"
    assert [answers.to(q, "1") for q in ("q_accept", "q_reject")] == ["ACC", "REJ"]


@pytest.mark.slow
@given(machines_with_inputs())
def test_a_vocabulary_holds_each_token_once_and_can_be_told_apart(case: tuple[Machine, str]) -> None:
    tokens = compile_machine(case[0]).vocabulary
    assert len(set(tokens)) == len(tokens)
    sigma = case[0].input_alphabet or ()
    ends = [BOS, ACC, REJ] if case[0].decides else [BOS, ACC, REJ, HALT]
    assert list(tokens[: len(sigma) + len(ends)]) == [*sigma, *ends]
    rest = [parsed(token) for token in tokens[len(sigma) + len(ends) :]]
    # each triple is a start, or the image of some rule, with its move or, at the left end, none
    starts = {Triple(case[0].start, a, 0) for a in (*sigma, case[0].blank)}
    rules = {Triple(*rule) for rule in case[0].transitions.values()}
    stays = {Triple(r, b, 0) for r, b, m in rules if m < 0} if case[0].tape == "one-way" else set()
    assert set(rest) <= starts | rules | stays


@pytest.mark.parametrize("name", shipped())
def test_shipped_machines_have_small_vocabularies(name: str) -> None:
    m = load(name)
    left = sum(rule.move < 0 for rule in m.transitions.values())
    most = len(m.input_alphabet or ()) + 4 + len(m.input_alphabet or ()) + 1 + len(m.transitions) + left
    assert len(compile_machine(m).vocabulary) <= most


# ── the theorem as a property: for random machines and inputs the decoder is the simulator, cell by cell
TOKENS = {"accept": "ACC", "reject": "REJ", "halt": "HALT"}


@pytest.mark.slow
@settings(max_examples=tries(2_000))
@given(machines_with_inputs())
def test_the_decoder_is_the_machine(case: tuple[Machine, str]) -> None:
    """Every column at every position, the outcome and the number of intermediate steps, over 60 steps."""
    machine, word = case
    trace = check(compile_machine(machine), word, machine=machine, engine=Dense(), max_steps=60, keep_rows=True)
    assert trace.divergence is None, str(trace.divergence)
    truth = result(machine, word, max_steps=60)
    assert (trace.answer, trace.result) == (truth.outcome, truth)
    assert trace.compared == 7 * trace.tokens == 7 * len(trace.rows)
    if truth.outcome == "limit":
        assert trace.tokens == len(word) + 1 + 60
        assert trace.T is None
    else:
        on_entry = machine.decides and machine.outcome_of(_end_state(machine, word)) is not None
        assert trace.T == trace.tokens - len(word) - 1 == truth.steps + (0 if on_entry else _extra(machine))
        assert trace.rows[-1].y == TOKENS[truth.outcome]


@pytest.mark.slow
@settings(max_examples=tries(400))
@given(machines_with_inputs())
def test_exact_is_dense(case: tuple[Machine, str]) -> None:
    """Rationals and float64 give the same rows, and the rows of the simulator."""
    machine, word = case
    decoder = compile_machine(machine)
    exact, dense = (
        check(decoder, word, machine=machine, engine=engine, max_steps=25, keep_rows=True) for engine in (Exact(), Dense())
    )
    assert exact.rows == dense.rows
    assert exact.agrees
    assert dense.agrees


def _end_state(machine: Machine, word: str) -> str:
    from tm2tfr.sources.turing.simulator import Simulation

    simulation = Simulation(machine, word, max_steps=60)
    simulation.result()
    return simulation.last.state


def _extra(machine: Machine) -> int:
    """The triple before a verdict that is not given on entry; none if the machine starts in a halting state."""
    return 0 if machine.start in machine.halting_states else 1
