"""JFLAP's files: what its transitions mean, what is refused by name and line, and that XML does no harm."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sources.turing.formats.test_complaints import read, warned
from tests.strategies import tries
from tm2tfr.sources.turing.formats import jflap, registry
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
    listed = "<!-- tape alphabet: _ -->"
    assert read(document(listed, ENDS, step(0, 1, "_", ""))).blank == "□"
    assert read(document(listed, "<!-- blank: # -->", ENDS, step(0, 1, "_", ""))).blank == "#"
    assert read(document(listed, "<!-- blank: _ -->", ENDS, step(0, 1, "_", ""))).blank == "□"


def test_a_letter_that_is_typed_for_the_blank_has_a_warning() -> None:
    for letter in ("_", "λ", "ε"):
        machine, warnings = warned(document(ENDS, step(0, 0, "a", letter), step(0, 1, letter, letter)))
        assert (machine.transitions["q0", letter], letter in machine.input_alphabet) == (Rule("q1", letter, 1), True)
        first = f"f:8:53: warning: {letter!r} is a letter in JFLAP, not the blank: for the blank leave the field empty"
        assert warnings == [first]
    assert read(document(ENDS, step(0, 1, "□", "□"))).transitions["q0", "_"].write == "_"


def test_an_alphabet_that_cannot_be_read_has_a_warning() -> None:
    for value in ("ab", "a, b", "{a,b}"):
        machine, warnings = warned(document(f"<!-- input alphabet: {value} -->", ENDS, step(0, 1, "a", "X")))
        assert machine.input_alphabet == ("a", "X")
        remedy = "write symbols of one character with spaces between them, as in 'input alphabet: a b'"
        assert warnings == [f"f:4:1: warning: this comment is not used: {remedy}"]
    _, warnings = warned(document("<!-- alphabet: a -->", ENDS, step(0, 1, "a", "X")))  # that of an automaton
    assert warnings == ["f:4:1: warning: this comment is not used: write 'input alphabet: a b'"]


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


# ── jFLAP's building blocks: a flattened machine does what a simulator of blocks does, step by step; and what is refused
BLOCKS_HEAD = "<structure><type>turingbb</type>\n<automaton>\n"
BLOCKS_TAIL = "</automaton></structure>"
Arrow = tuple[int, int, str, str, str]
"""From, to, read, write, move, as they are written."""


@dataclass
class Blocks:
    """A machine with blocks: the machine within each state, if any, the transitions, the initial and the final states."""

    inner: list[Blocks | None]
    arrows: list[Arrow]
    final: set[int] = field(default_factory=set)
    initial: int = 0

    def xml(self, path: str = "M") -> str:
        """Return the states, the transitions and the machines of the blocks, as JFLAP writes them."""
        marks = [["initial"] * (q == self.initial) + ["final"] * (q in self.final) for q in range(len(self.inner))]
        blocks = "".join(block(q, f"{path}{q}", *marks[q]) for q in range(len(self.inner)))
        machines = (f"<{path}{q}>{m.xml(f'{path}{q}.') if m else ''}</{path}{q}>\n" for q, m in enumerate(self.inner))
        return blocks + "".join(step(*arrow) for arrow in self.arrows) + "".join(machines)


def block(number: int, tag: str, *marks: str, name: str = "") -> str:
    """Return a block as JFLAP writes one."""
    inside = "".join(f"<{mark}/>" for mark in marks)
    return f'<block id="{number}" name="{name or f"b{number}"}"><tag>{tag}</tag><x>1.0</x>{inside}</block>\n'


def run(top: Blocks, word: str, limit: int) -> tuple[str, int, str]:
    """Run a machine with blocks as the documentation of JFLAP 7 says; an oracle that knows nothing of flat machines."""
    tape, head, steps = dict(enumerate(word)), 0, 0
    path = [(top, top.initial)]
    while True:
        if len(path) == 1 and path[0][1] in top.final:
            return "accept", steps, shown(tape)
        while (inner := path[-1][0].inner[path[-1][1]]) is not None:
            path.append((inner, inner.initial))
        if steps == limit:
            return "limit", steps, shown(tape)
        under = tape.get(head, "_")
        for depth in reversed(range(len(path))):
            level, q = path[depth]
            arrow = first(level, q, under)
            if arrow is not None:
                _, target, _, write, move = arrow
                tape[head] = under if write == "~" else write or "_"
                head += {"L": -1, "S": 0, "R": 1}[move]
                path = [*path[:depth], (level, target)]
                steps += 1
                break
        else:
            return "reject", steps, shown(tape)


def first(level: Blocks, q: int, under: str) -> Arrow | None:
    """Return the transition that applies: one that reads ``!x`` comes after the others."""
    matching = [a for a in level.arrows if a[0] == q and reads(a[2], under)]
    return next(iter(sorted(matching, key=lambda a: a[2].startswith("!"))), None)


def reads(symbol: str, under: str) -> bool:
    """Return whether a transition reads the symbol under the head."""
    if symbol.startswith("!"):
        return under != (symbol[1:] or "_")
    return symbol == "~" or under == (symbol or "_")


def shown(tape: dict[int, str]) -> str:
    return "".join(tape.get(i, "_") for i in range(min(tape, default=0), max(tape, default=0) + 1)).strip("_")


@st.composite
def blocks(draw: st.DrawFn, depth: int = 2) -> Blocks:
    """1-3 states, some of which contain machines; what a state reads is no choice but for one ``!x``."""
    size = draw(st.integers(1, 3))
    within = blocks(depth - 1) if depth else st.none()
    inner = [draw(st.one_of(st.none(), within)) for _ in range(size)]
    arrows: list[Arrow] = []
    for q in range(size):
        symbols = draw(st.sampled_from([("0", "1"), ("0", "", "1"), ("~",), ("1", "!0"), ("!",), ("", "!1"), ()]))
        for a in symbols:
            target, write = draw(st.integers(0, size - 1)), draw(st.sampled_from(["0", "1", "", "~"]))
            arrows.append((q, target, a, write, draw(st.sampled_from("LRS"))))
    final = draw(st.sets(st.integers(0, size - 1), max_size=1))
    return Blocks(inner, arrows, final, draw(st.integers(0, size - 1)))


@pytest.mark.slow
@settings(max_examples=tries(1_000))
@given(top=blocks(), word=st.text("01", max_size=4))
def test_a_flat_machine_does_each_step_of_one_with_blocks(top: Blocks, word: str) -> None:
    text = f"<!-- input alphabet: 0 1 -->{BLOCKS_HEAD}{top.xml()}{BLOCKS_TAIL}"
    machine = registry.read(text, file="f").machine
    got = result(machine, word, max_steps=30)
    assert (got.outcome, got.steps, got.tape.strip("_")) == run(top, word, 30)


def test_flat_files_are_read_like_any_other() -> None:
    parts = (
        block(0, "Machine0", "initial", name="q0") + block(1, "Machine1", "final", name="q1") + step(0, 1, "a", "b", "L")
    )
    flat = state(0, "initial") + state(1, "final") + step(0, 1, "a", "b", "L")
    machine = read(f"{BLOCKS_HEAD}{parts}<Machine0/><Machine1/>{BLOCKS_TAIL}")
    assert machine == read(f"{BLOCKS_HEAD}{flat}{BLOCKS_TAIL}".replace("turingbb", "turing"))
    assert (machine.states, machine.accept) == (("q0", "q1"), ("q1",))


ERASE = state(0, "initial") + state(1, "final") + step(0, 0, "1", "", "R") + step(0, 1, "", "", "S")


def test_a_block_is_left_where_its_machine_halts() -> None:
    """Both blocks erase ones to the right; the final state within is ignored, and left where the block has a transition."""
    parts = (
        block(0, "erase.jff", "initial", name="e") + block(1, "erase.jff", name="e") + block(2, "M2", "final", name="end")
    )
    arrows = step(0, 1, "0", "0", "R") + step(1, 2, "", "x", "S")
    machine = read(f"{BLOCKS_HEAD}{parts}{arrows}<erase.jff>{ERASE}</erase.jff><M2/>{BLOCKS_TAIL}")
    assert machine.states == ("e.q0", "e.q1", "e.q0 (1.0)", "e.q1 (1.1)", "end")
    assert (machine.start, machine.accept) == ("e.q0", ("end",))
    assert [result(machine, w).outcome for w in ("1", "110111", "0", "00")] == ["reject", "accept", "accept", "reject"]
    assert result(machine, "11011").tape.strip("_") == "0__x"


def test_a_transition_of_a_block_reads_and_does_nothing_else() -> None:
    """JFLAP writes those between blocks with ``block="true"``, and neither a symbol nor a move."""
    jump = '<transition block="true"><from>0</from><to>1</to><read>~</read></transition>'
    parts = f"{block(0, 'A', 'initial')}{block(1, 'B', 'final')}{jump}<A/><B/>"
    machine = read(f"<!-- input alphabet: a -->{BLOCKS_HEAD}{parts}{BLOCKS_TAIL}")
    assert {key[1]: (rule.write, rule.move) for key, rule in machine.transitions.items()} == {"a": ("a", 0), "_": ("_", 0)}


def test_a_final_block_accepts_before_its_machine_starts() -> None:
    parts = block(0, "A", "initial") + block(1, "B", "final") + step(0, 1, "1", "1")
    machine = read(f"{BLOCKS_HEAD}{parts}<A/><B>{ERASE}</B>{BLOCKS_TAIL}")
    assert machine.states == ("b0", "b1")
    assert (result(machine, "11").outcome, result(machine, "11").steps) == ("accept", 1)


def test_files_of_the_older_type_say_whose_blocks_they_are() -> None:
    text = f"{BLOCKS_HEAD}{block(0, 'A', 'initial')}\n<A>{ERASE}</A>{BLOCKS_TAIL}".replace("turingbb", "turing")
    machine, _ = warned(text)
    assert machine.states == ("b0.q0", "b0.q1")


def test_a_negation_comes_last_wherever_there_are_blocks() -> None:
    """JFLAP 7.1 opens any file with a block as one with blocks; a file of states alone is a choice, and refused."""
    parts = block(0, "A", "initial") + block(1, "B", "final") + step(0, 0, "!a", "~") + step(0, 1, "b", "b")
    for kind in ("turing", "turingbb"):
        machine = read(f"{BLOCKS_HEAD}{parts}<A/><B/>{BLOCKS_TAIL}".replace("turingbb", kind))
        assert {key[1]: rule.state for key, rule in machine.transitions.items()} == {"b": "b1", "_": "b0"}


def test_what_is_written_for_jflap_is_flat_and_comes_back() -> None:
    parts = block(0, "A", "initial") + block(1, "B", "final") + step(0, 1, "", "")
    machine = read(f"{BLOCKS_HEAD}{parts}<A>{ERASE}</A><B/>{BLOCKS_TAIL}")
    written = registry.write(machine, "jflap")
    assert "<type>turing</type>" in written.text
    assert read(written.text) == machine
