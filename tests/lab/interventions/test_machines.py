"""Interventions on runs of Turing machines: what the chapter's equations say, and what the patched weights do."""

from __future__ import annotations

import pytest

import tm2tfr
from tests.lab.interventions.agreeing import EACH, agreeing, differing
from tests.strategies import tries
from tm2tfr.api.interventions import bases
from tm2tfr.base.errors import UsageError
from tm2tfr.lab.interventions.intervention import wrong_cells
from tm2tfr.lab.interventions.settings import read_settings
from tm2tfr.lab.labels.patches import subspace_of


def test_a_state_that_is_set_is_read_by_the_transition_at_once() -> None:
    found = tm2tfr.intervene("chapter", "11", {"state@5": "q1"})
    assert (found.agrees, found.causal, found.first, found.why) == (True, True, 5, None)
    assert found.without.answers[5:] == ("(q4,_,-1)", "(q4,x,-1)", "(q1,_,+1)", "ACC")
    assert found.expected.answers[5:] == ("ACC",)
    assert found.patched_answers[5:] == ("ACC",)
    assert [(c.position, c.variable, c.before, c.after) for c in found.changed] == [
        (5, "e_q", "q2", "q1"),
        (5, "e_y", "(q4,_,-1)", "ACC"),
    ]


def test_it_prints_as_a_table_with_what_changes() -> None:
    lines = str(tm2tfr.intervene("chapter", "11", {("q", 6): "q2"})).splitlines()
    assert lines[:8] == [
        "chapter on '11': set q (e_q) at 6 = q2",
        "",
        "i    without it             expected               patched",
        "▸6   (q4,_,-1) → (q4,x,-1)  (q4,_,-1) → (q2,x,+1)  (q4,_,-1) → (q2,x,+1)",
        " 7   (q4,x,-1) → (q1,_,+1)  (q2,x,+1) → (q4,_,-1)  (q2,x,+1) → (q4,_,-1)",
        " 8   (q1,_,+1) → ACC        (q4,_,-1) → (q4,x,-1)  (q4,_,-1) → (q4,x,-1)",
        " 9                          (q4,x,-1) → (q1,_,+1)  (q4,x,-1) → (q1,_,+1)",
        " 10                         (q1,_,+1) → ACC        (q1,_,+1) → ACC",
    ]
    assert lines[9] == "shows first at position 6"
    assert lines[10].startswith("cells that change: e_q@6: q4 → q2, e_y@6: (q4,x,-1) → (q2,x,+1), e_x@7:")
    assert lines[11:] == ["the patched weights (dense) do what is expected"]


def test_the_head_position_is_a_query_here_and_a_key_only_where_it_is_written() -> None:
    query = tm2tfr.intervene("palindromes", "abba", {("h", 7): 0})
    keyed = tm2tfr.intervene("palindromes", "abba", {("h/(i+1)", 7): 0})
    before = tm2tfr.intervene("palindromes", "abba", {("h_{i-1}", 7): 0, ("h_{i-1}^2", 7): 0})
    assert [query.agrees, keyed.agrees, before.agrees] == [True] * 3
    assert {cell.variable for cell in query.changed if cell.position == 7} >= {"h", "[h_{j*-1}=h]"}
    assert "h_{i-1}" not in {cell.variable for cell in query.changed if cell.position == 7}
    assert {"h", "h_{i-1}", "h+/(i+1)"} <= {cell.variable for cell in keyed.changed if cell.position == 7}


def test_a_move_shifts_the_head_from_there_on_and_its_share_the_key_alone() -> None:
    moved = tm2tfr.intervene("busy-beaver-3", "", {("m", 2): -1})
    share = tm2tfr.intervene("busy-beaver-3", "", {("m/(i+1)", 2): -1})
    assert (moved.agrees, share.agrees) == (True, True)
    assert (2, "h/(i+1)") in {(cell.position, cell.variable) for cell in moved.changed}
    assert (2, "h_{i-1}") in {(cell.position, cell.variable) for cell in share.changed}
    assert (2, "h/(i+1)") not in {(cell.position, cell.variable) for cell in share.changed}


def test_what_is_not_causal_is_said_with_the_reason() -> None:
    assert tm2tfr.intervene("chapter", "11", {("h^2", 5): 7}).why == "h^2 is read by nothing once it is written"
    same = tm2tfr.intervene("chapter", "11", {("state", 5): "q2"})
    assert same.why == "e_q at 5 has this value without it as well"
    prompt = tm2tfr.intervene("chapter", "11", {("b", 0): "x"})
    assert prompt.why == (
        "e_b is read by the latest-write heads of this position and all later ones, as what they carry; "
        "that changes e_b(j*-1), e_a, and no answer"
    )


def test_a_value_is_taken_from_another_run() -> None:
    found = tm2tfr.intervene("chapter", "11", {("h/(i+1)", 6): tm2tfr.From("111", position=7)})
    (setting,) = found.settings
    other = tm2tfr.check("chapter", "111").rows[7]
    assert (setting.value, setting.origin, found.agrees) == (other.h, ("111", 7), True)
    again = tm2tfr.intervene("chapter", "11", read_settings(["h/(i+1)@6 from 111@7"]))
    assert again.settings == found.settings


def test_a_machine_that_does_not_halt_is_cut_off() -> None:
    found = tm2tfr.intervene("left-edge", None, {("q", 2): None}, max_positions=12)
    assert found.agrees
    assert len(found.expected.answers) <= 12


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({("sate", 5): "q1"}, "sate@5: chapter has no variable 'sate' (did you mean 'state'?): use one of 'e_x', 'e_q'"),
        ({("state", 5): "q9"}, "state@5: 'q9' is not a value of e_q: use 'q0', 'q1', 'q2'"),
        ({("m", 5): 2}, "m@5: m cannot be 2: use a whole number from -1 to 1"),
        ({("h", 5): 0.5}, "h@5: h is a whole number, not 0.5: use for example 0"),
        ({("h", 5): "9007199254740993"}, "h@5: h cannot be 9007199254740993: use a number of at most 9 digits"),
        ({("h", 5): "1e26"}, "h@5: h cannot be 1e26: use a number of at most 9 digits, without an exponent"),
        ({("h", 5): 10**9}, "h@5: h cannot be 1000000000: use a number of at most 9 digits, without an exponent"),
        ({("found", 5): 2}, "found@5: [h_{j*-1}=h] cannot be 2"),
        ({("h_before(j*)", 5): 0.5}, "h_before(j*)@5: h_{j*-1} is a whole number, not 0.5"),
        ({("h", 5): -1}, "h@5: h cannot be -1: use a whole number from 0 on"),
        ({("i", 5): 3}, "i@5: i cannot be set: it says where a position is, and has no cause"),
        ({("q", 99): "q1"}, "q@99: the run on '11' has the positions 0 to 8, and not 99: use one of these"),
        ({("x", 5): None}, "x@5: e_x always has a label: use '1', 'BOS'"),
        ({("q", 5): "q1", ("state", 5): "q2"}, "e_q is set twice at 5: set it once"),
        ({("j*", 5): 3}, "j*@5: j* cannot be set: no subspace of these weights holds it"),
        ({("L3H0", 5): 3}, "L3H0@5: L3H0 cannot be set: it says where the head 'latest write' attends, which is in no"),
        ({("token_id", 5): 3}, "token_id@5: token_id cannot be set: it is the number of a token: set 'token' to the token"),
        ({"position@5": 3}, "position@5: position cannot be set: it says where a position is, and has no cause"),
        ({}, "nothing is set: add for example settings='q@4=q0', in Python {('q', 4): 'q0'}; variables lists all"),
        ({"q": "q1"}, "'q' is not a variable with a position: use for example ('q', 4), or 'q@4'"),
    ],
)
def test_what_cannot_be_set_is_refused(settings: dict[tuple[str, int], object], words: str) -> None:
    with pytest.raises(UsageError) as error:
        tm2tfr.intervene("chapter", "11", settings)
    assert str(error.value).startswith(words)


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["chapter", "palindromes", "left-edge", "binary-increment", "busy-beaver-2x3"])
def test_patched_weights_do_what_the_equations_say(machine: str) -> None:
    assert agreeing(machine, EACH).causal > 1


@pytest.mark.slow
def test_so_do_exact_ones_and_those_with_the_chapters_own_boundary() -> None:
    agreeing("chapter", tries(100), engine="exact")
    agreeing(tm2tfr.Subject.of("left-edge", left_boundary="chapter"), tries(100))


@pytest.mark.slow
def test_so_do_universal_decoders() -> None:
    agreeing(tm2tfr.Subject.of("busy-beaver-2", options={"universal": (3, 2)}), tries(80))
    agreeing(tm2tfr.Subject.of("left-edge", options={"universal": "4,5", "tape": "one-way"}), tries(50))
    agreeing(tm2tfr.Subject.of("busy-beaver-2", options={"universal": "2,2", "tape": "two-way"}), tries(50), engine="exact")


@pytest.mark.slow
def test_sabotaged_weights_are_found() -> None:
    assert differing("chapter", 5) >= 4


# ── Interventions on runs of circuits: a bit is the gate of its operands, in all three variants.
def test_a_bit_of_an_operand_changes_the_gates_that_read_it_there() -> None:
    found = tm2tfr.intervene("full-adder", "110", {("x_c", 3): 1})
    assert found.agrees
    later = tm2tfr.intervene("full-adder", "110", {("x", 0): 0})
    assert (later.agrees, later.first) == (True, 2)
    assert {cell.variable for cell in later.changed} >= {"x", "x_a", "y"}


def test_an_address_that_is_not_there_yet_finds_the_last_position() -> None:
    found = tm2tfr.intervene("full-adder", "110", {("a", 2): 9})
    assert found.agrees
    assert [cell.after for cell in found.changed if cell.variable == "x_a"] == [0]


def test_a_sign_is_set_with_its_mirror() -> None:
    subject = tm2tfr.Subject.of("half-adder", options={"variant": "paper"})
    found = tm2tfr.intervene(subject, "10", {("s", 0): -1})
    assert (found.agrees, found.expected.answers[1:], found.patched_answers[1:]) == (True, ("0", "0"), ("0", "0"))
    with pytest.raises(UsageError, match="s@0: s cannot be 0: use -1 or 1"):
        tm2tfr.intervene(subject, "10", {("s", 0): 0})
    with pytest.raises(UsageError, match="-s@0: -s cannot be set: it is another variable with the opposite sign"):
        tm2tfr.intervene(subject, "10", {("-s", 0): 1})


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["lookup", "paper-hard", "paper"])
@pytest.mark.parametrize("circuit", ["full-adder", "multiplexer"])
def test_patched_weights_do_what_the_gates_say(circuit: str, variant: str) -> None:
    subject = tm2tfr.Subject.of(circuit, options={"variant": variant})
    assert agreeing(subject, tries(300)).causal > 5
    if variant != "paper":
        agreeing(subject, tries(100), engine="exact")


@pytest.mark.slow
def test_sabotaged_circuits_are_found() -> None:
    assert differing("full-adder", 6, words=["011", "110", "101"]) >= 5


def test_a_cell_that_is_a_little_off_is_found() -> None:
    decoder = tm2tfr.compile("full-adder")
    base = bases("full-adder", engine="dense", dtype=None, max_positions=30)("011")
    run, variables = base.weights, base.model.variables.values()
    assert not wrong_cells(decoder.layout, variables, base.run.cells, run)
    variable = next(each for each in variables if not each.unset and base.run.cells[0][each.name] is not None)
    place = decoder.layout[subspace_of(decoder.layout, variable, variable.name).name].start
    for off, wrong in ((1e-13, 0), (1e-6, 1), (0.3, 1)):
        stream = run.streams[0].copy()
        stream[place] += off
        found = wrong_cells(decoder.layout, variables, base.run.cells, run._replace(streams=(stream, *run.streams[1:])))
        assert len(found) == wrong
