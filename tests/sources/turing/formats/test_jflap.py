"""JFLAP's files: what its transitions mean, what is refused by name and line, and that XML does no harm."""

from __future__ import annotations

import pytest

from tests.sources.turing.formats.reading import fails, read, warned
from tm2tfr.base.errors import ConversionError
from tm2tfr.sources.turing.formats import jflap
from tm2tfr.sources.turing.library import load
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
    machine, said = warned(document(ENDS, step(0, 1, "1", "1"), step(1, 0, "1", "1")))
    assert (result(machine, "11").steps, len(machine.transitions)) == (1, 1)
    assert said == ["f:9:3: warning: no run continues from the final state 'q1': remove the transition"]


def test_what_jflap_can_say_and_a_machine_here_cannot() -> None:
    assert fails(document(ENDS, step(0, 1, "1", "1"), step(0, 0, "1", "1"))) == [
        "f:9:3: state 'q0' already has a transition for '1' in line 8: a choice (nondeterminism): keep one of them: "
        "machines here are deterministic"
    ]
    assert fails(document(ENDS, step(0, 1, "~", "1"), step(0, 1, "1", "x")))[0].startswith("f:9:3: state 'q0' already has")
    tapes = "<tapes>2</tapes>\n\t<automaton>"
    assert fails(document(ENDS).replace("<automaton>", tapes)) == [
        "f:3:2: this machine has 2 tapes, but machines here have one: convert it to one tape first"
    ]
    two = step(0, 1, "1", "1").replace("<read>", '<read tape="1">1</read><read tape="2">')
    assert "this is for a second tape: remove it: machines here have one tape" in fails(document(ENDS, two))[0]
    assert (
        "'a,b}w' reads into a variable, which machines here do not have: write one"
        in fails(document(ENDS, step(0, 1, "a,b}w", "w")))[0]
    )
    assert "the symbol 'ab' is not one character" in fails(document(ENDS, step(0, 1, "ab", "1")))[0]
    assert fails(document(ENDS).replace("turing", "fa")) == [
        "f:2:2: this is JFLAP's 'fa', not a Turing machine: save a Turing machine in JFLAP"
    ]


def test_all_that_is_wrong_is_said_where_it_stands() -> None:
    parts = [state(0), state(0), "<state/>\n", step(0, 7, "1", "1"), step(0, 0, "1", "1", "U"), "<transition/>\n"]
    said = fails(document(*parts))
    assert [line.split(": ", 1)[1] for line in said] == [
        "no state is initial: mark the state in which a run starts as initial, and no other",
        "the id '0' is used a second time: give each state an id of its own",
        'the state has no id: add id="…"',
        "no state has the id '7': use the id of a state",
        "'U' is not a move: use L, R or S",
        "the transition has no <from>: add it, with the id of a state",
        "the transition has no <to>: add it, with the id of a state",
    ]
    assert [line.split(":")[1] for line in said] == ["3", "6", "8", "9", "10", "11", "11"]
    assert fails(document(state(0, "initial"), state(1, "initial")))[0].endswith(
        "two states are initial: mark the state in which a run starts as initial, and no other"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<structure><type>", "f:1:18: this is not XML (no element found): fix it, or save the file again"),
        ("<a></b>", "f:1:6: this is not XML (mismatched tag): fix it, or save the file again"),
        ("<a/>", "f:1:1: <a> is not a JFLAP file: save a Turing machine in JFLAP"),
        ("<structure/>", "f:1:1: <structure> is not a JFLAP file: save a Turing machine in JFLAP"),
        (
            '<!DOCTYPE a [<!ENTITY e "x">]>\n<a>&e;</a>',
            "f:1:1: a DTD, which may define entities, is not allowed: remove it",
        ),
        (
            '<!-- <! --><!DOCTYPE a SYSTEM "http://x.y/z">\n<a/>',
            "f:1:12: a DTD, which may define entities, is not allowed: remove it",
        ),
        ("<a>" * 101, "f:1:301: this is nested deeper than 100 levels: no machine is: check that this is the right file"),
    ],
)
def test_xml_that_is_none_or_would_do_harm(text: str, words: str) -> None:
    assert fails(text) == [words]


def test_out() -> None:
    machine = Machine(transitions={("a", "!"): Rule("b", " ", 0)}, start="a", blank=" ", accept="b", name="m")
    written = jflap.write(machine)
    assert "<transition><from>0</from><to>1</to><read>x</read><write></write><move>S</move></transition>" in written.text
    assert written.notes == ("symbols are renamed: ' ' to '_', '!' to 'x'",)


def test_what_it_cannot_say() -> None:
    words = (
        "copy: JFLAP cannot express this machine: it halts without a verdict, but every run there accepts or rejects: "
        "say what every halt is"
    )
    with pytest.raises(ConversionError, match=words):
        jflap.write(load("copy"))
    with pytest.raises(
        ConversionError, match=r"left-edge: JFLAP .* in state 'rewind' it may move left at cell 0 \(on '1'\)"
    ):
        jflap.write(load("left-edge"))


def test_a_file_of_jflap_8_is_called_by_its_name() -> None:
    inner = '<structure type="state_set"><state><name>q0</name><id>0</id></state></structure>'
    graph = f'<structure type="transition_graph">{inner}</structure>'
    text = f'<?xml version="1.0"?>\n<structure type="editor_panel">\n{graph}</structure>'
    said = "this is a file of JFLAP 8, whose files are not read: draw the machine in JFLAP 7.1, and save it there"
    for file in ("f.jff", "f.jflap"):
        assert fails(text, file=file) == [f"{file}:2:1: {said}"]
