"""JFLAP's files: what its transitions mean, what is refused by name and line, and that XML does no harm."""

from __future__ import annotations

from tests.sources.turing.formats.reading import read, warned
from tm2tfr.sources.turing.formats import jflap
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine, Rule

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="no"?><!--Created with JFLAP 6.4.--><structure>&#13;\n'
TURING = f"{HEAD}\t<type>turing</type>&#13;\n\t<automaton>&#13;\n"
TAIL = "\t</automaton>&#13;\n</structure>"


def state(number: int, *marks: str, name: str | None = None) -> str:
    """Return a state as JFLAP writes one."""
    inside = "".join(f"<{mark}/>&#13;" for mark in marks)
    return f'\t\t<state id="{number}" name="{name or f"q{number}"}">&#13;\n<x>1.0</x><y>2.0</y>{inside}</state>&#13;\n'


def step(source: int, target: int, symbol: str, write: str, move: str | None = "R", more: str = "") -> str:
    """Return a transition."""
    read = f"<read>{symbol}</read>" if symbol else "<read/>"
    moved = "" if move is None else f"<move>{move}</move>"
    return (
        f"\t\t<transition{more}><from>{source}</from><to>{target}</to>{read}"
        f"<write>{write}</write>{moved}</transition>&#13;\n"
    )


def document(*parts: str) -> str:
    """Return a whole file."""
    return TURING + "".join(parts) + TAIL


ENDS = state(0, "initial") + state(1, "final")


def test_a_file_of_jflap() -> None:
    machine = read(document(ENDS, step(0, 0, "a", "b", "L"), step(0, 1, "", "a", "S")), file="dir/a.jff")
    assert dict(machine.transitions) == {("q0", "a"): Rule("q0", "b", -1), ("q0", "_"): Rule("q1", "a", 0)}
    assert (machine.name, machine.start, machine.accept, machine.reject) == ("a", "q0", ("q1",), None)
    assert (machine.blank, machine.tape, machine.input_alphabet) == ("_", "two-way", ("a", "b"))
    assert [result(machine, w).outcome for w in ("", "aa", "b")] == ["accept", "accept", "reject"]


def test_blocks_are_states_and_no_move_is_right() -> None:
    block = '<block id="0" name="go"><tag>Machine0</tag><x>1.0</x><y>2.0</y><initial/></block>'
    machine = read(document(block, state(1, "final"), step(0, 1, "1", "", None), "<Machine0/>"))
    assert dict(machine.transitions) == {("go", "1"): Rule("q1", "_", 1)}
    assert read(f"{HEAD}<type>turing</type>{ENDS}{step(0, 1, '1', '1')}</structure>").start == "q0"


def test_wildcards_are_expanded() -> None:
    machine = read(document(ENDS, step(0, 0, "!1", "~", "R"), step(0, 1, "1", "x", "S")))
    assert dict(machine.transitions) == {
        ("q0", "1"): Rule("q1", "x", 0),
        ("q0", "x"): Rule("q0", "x", 1),
        ("q0", "_"): Rule("q0", "_", 1),
    }
    machine = read(document(ENDS, step(0, 0, "~", "1"), step(0, 0, "1", "1")))
    assert {key[1] for key in machine.transitions} == {"1", "_"}
    for negated in ("!□", "!"):
        machine = read(document(ENDS, step(0, 1, negated, "□"), step(0, 1, "a", "")))
        assert dict(machine.transitions) == {("q0", "a"): Rule("q1", "_", 1)}


def test_the_blank_gets_a_name_that_is_free() -> None:
    assert read(document(ENDS, step(0, 1, "_", ""))).blank == "□"
    assert read(document("<!-- blank: # -->", ENDS, step(0, 1, "_", ""))).blank == "#"
    assert read(document("<!-- blank: _ -->", ENDS, step(0, 1, "_", ""))).blank == "□"


def test_names_that_are_missing_or_given_twice() -> None:
    machine = read(
        document(state(0, "initial", name=" "), state(1, name="a"), state(2, "final", name="a"), step(0, 2, "1", "1"))
    )
    assert machine.states == ("q0", "a", "a (2)")


def test_comments_say_what_jflap_cannot() -> None:
    said = "<!-- name: mine --><!-- input: 10 --><!-- input alphabet: 0 1 --><!-- tape alphabet: 0 1 _ x -->"
    machine = read(document(said, ENDS, step(0, 1, "1", "1")))
    assert (machine.name, machine.input, machine.input_alphabet) == ("mine", "10", ("0", "1"))
    assert machine.tape_alphabet == ("0", "1", "_", "x")


def test_transitions_of_a_final_state_are_dead() -> None:
    machine, _ = warned(document(ENDS, step(0, 1, "1", "1"), step(1, 0, "1", "1")))
    assert (result(machine, "11").steps, len(machine.transitions)) == (1, 1)


def test_out() -> None:
    machine = Machine(transitions={("a", "!"): Rule("b", " ", 0)}, start="a", blank=" ", accept="b", name="m")
    written = jflap.write(machine)
    assert "<transition><from>0</from><to>1</to><read>x</read><write></write><move>S</move></transition>" in written.text
