"""JFLAP's building blocks: a flattened machine does what a simulator of blocks does, step by step; and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sources.turing.formats.reading import read, warned
from tests.sources.turing.formats.test_jflap import state, step
from tests.strategies import tries
from tm2tfr.sources.turing.formats import registry
from tm2tfr.sources.turing.simulator import result

HEAD = "<structure><type>turingbb</type>\n<automaton>\n"
TAIL = "</automaton></structure>"
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
    text = f"<!-- input alphabet: 0 1 -->{HEAD}{top.xml()}{TAIL}"
    machine = registry.read(text, file="f").machine
    got = result(machine, word, max_steps=30)
    assert (got.outcome, got.steps, got.tape.strip("_")) == run(top, word, 30)


def test_flat_files_are_read_like_any_other() -> None:
    parts = (
        block(0, "Machine0", "initial", name="q0") + block(1, "Machine1", "final", name="q1") + step(0, 1, "a", "b", "L")
    )
    flat = state(0, "initial") + state(1, "final") + step(0, 1, "a", "b", "L")
    machine = read(f"{HEAD}{parts}<Machine0/><Machine1/>{TAIL}")
    assert machine == read(f"{HEAD}{flat}{TAIL}".replace("turingbb", "turing"))
    assert (machine.states, machine.accept) == (("q0", "q1"), ("q1",))


ERASE = state(0, "initial") + state(1, "final") + step(0, 0, "1", "", "R") + step(0, 1, "", "", "S")


def test_a_block_is_left_where_its_machine_halts() -> None:
    """Both blocks erase ones to the right; the final state within is ignored, and left where the block has a transition."""
    parts = (
        block(0, "erase.jff", "initial", name="e") + block(1, "erase.jff", name="e") + block(2, "M2", "final", name="end")
    )
    arrows = step(0, 1, "0", "0", "R") + step(1, 2, "", "x", "S")
    machine = read(f"{HEAD}{parts}{arrows}<erase.jff>{ERASE}</erase.jff><M2/>{TAIL}")
    assert machine.states == ("e.q0", "e.q1", "e.q0 (1.0)", "e.q1 (1.1)", "end")
    assert (machine.start, machine.accept) == ("e.q0", ("end",))
    assert [result(machine, w).outcome for w in ("1", "110111", "0", "00")] == ["reject", "accept", "accept", "reject"]
    assert result(machine, "11011").tape.strip("_") == "0__x"


def test_a_transition_of_a_block_reads_and_does_nothing_else() -> None:
    """JFLAP writes those between blocks with ``block="true"``, and neither a symbol nor a move."""
    jump = '<transition block="true"><from>0</from><to>1</to><read>~</read></transition>'
    parts = f"{block(0, 'A', 'initial')}{block(1, 'B', 'final')}{jump}<A/><B/>"
    machine = read(f"<!-- input alphabet: a -->{HEAD}{parts}{TAIL}")
    assert {key[1]: (rule.write, rule.move) for key, rule in machine.transitions.items()} == {"a": ("a", 0), "_": ("_", 0)}


def test_a_final_block_accepts_before_its_machine_starts() -> None:
    parts = block(0, "A", "initial") + block(1, "B", "final") + step(0, 1, "1", "1")
    machine = read(f"{HEAD}{parts}<A/><B>{ERASE}</B>{TAIL}")
    assert machine.states == ("b0", "b1")
    assert (result(machine, "11").outcome, result(machine, "11").steps) == ("accept", 1)


def test_files_of_the_older_type_say_whose_blocks_they_are() -> None:
    text = f"{HEAD}{block(0, 'A', 'initial')}\n<A>{ERASE}</A>{TAIL}".replace("turingbb", "turing")
    machine, _ = warned(text)
    assert machine.states == ("b0.q0", "b0.q1")


def test_a_negation_comes_last_wherever_there_are_blocks() -> None:
    """JFLAP 7.1 opens any file with a block as one with blocks; a file of states alone is a choice, and refused."""
    parts = block(0, "A", "initial") + block(1, "B", "final") + step(0, 0, "!a", "~") + step(0, 1, "b", "b")
    for kind in ("turing", "turingbb"):
        machine = read(f"{HEAD}{parts}<A/><B/>{TAIL}".replace("turingbb", kind))
        assert {key[1]: rule.state for key, rule in machine.transitions.items()} == {"b": "b1", "_": "b0"}


def test_what_is_written_for_jflap_is_flat_and_comes_back() -> None:
    machine = read(f"{HEAD}{block(0, 'A', 'initial')}{block(1, 'B', 'final')}{step(0, 1, '', '')}<A>{ERASE}</A><B/>{TAIL}")
    written = registry.write(machine, "jflap")
    assert "<type>turing</type>" in written.text
    assert read(written.text) == machine
