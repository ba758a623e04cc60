"""Tree normal form: every run from the blank tape has one machine in the list, and as many as others have counted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from tm2tfr.base.errors import DatasetError, SpecError
from tm2tfr.lab.datasets.library import load_spec
from tm2tfr.lab.datasets.machines.family import Family, Members, NormalForm
from tm2tfr.lab.datasets.make import sweep, sweep_report
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.shard import Beaver, Tally
from tm2tfr.sources.turing import library
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine

STEPS = 30
"""More than the two-state machines need: those that halt take at most 6."""


def behaviour(machine: Machine) -> str:
    """Return the rules that a run from the blank tape uses, in the order of their first use, under canonical names.

    States are numbered as they come, a run that begins to the left is mirrored, and the rule of a halt is like any other.
    """
    tape, head, state, names, used = dict[int, str](), 0, machine.start, {machine.start: 0}, dict[tuple[int, str], str]()
    sign = 0
    for _ in range(STEPS):
        read = tape.get(head, machine.blank)
        rule = machine.transitions.get((state, read))
        if rule is None or rule.state == "Z":
            used[names[state], read] = "halts"
            break
        sign = sign or rule.move
        cell, to = (names[state], read), names.setdefault(rule.state, len(names))
        used[cell] = f"{rule.write}{rule.move * sign}{to}"
        tape[head], head, state = rule.write, head + rule.move, rule.state
    return str(used)


@pytest.mark.slow
def test_the_limit_is_one_of_steps() -> None:
    """The three-state machine that halts latest makes 21 steps, the last of them by the rule that halts."""

    def halting(steps: int) -> int:
        return sum("Z" in machine.name for machine in NormalForm(states=3, symbols=2, steps=steps).machines())

    assert halting(21) == 1_772
    assert halting(20) == 1_771


@pytest.mark.slow
def test_the_numbers_of_machines_are_those_of_another_enumeration() -> None:
    def counts(states: int, symbols: int, *, complete: bool = False) -> tuple[int, int]:
        names = [m.name for m in NormalForm(states=states, symbols=symbols, steps=60, complete=complete).machines()]
        assert len(set(names)) == len(names)
        return len(names), sum("Z" in name for name in names)

    # Coq-BB5, BB2 and BB3: machines enumerated, and those of them that halt
    assert counts(2, 2) == (61, 19)
    assert counts(3, 2) == (5_417, 1_772)
    # ours alone
    assert counts(1, 2) == (3, 1)
    assert counts(2, 2, complete=True) == (149, 19)


@pytest.mark.slow
def test_every_two_state_machine_behaves_as_exactly_one_of_the_list() -> None:
    def behaviours(machines: Iterable[Machine]) -> list[str]:
        return [behaviour(machine) for machine in machines]

    listed = behaviours(NormalForm(states=2, steps=STEPS, complete=True).machines())
    family = Family(2, 2)
    assert len(set(listed)) == len(listed) == 149
    assert set(behaviours(family.machine(n) for n in range(family.size))) == set(listed)


def test_a_machine_is_itself_written_as_text_and_halts_where_its_rule_says() -> None:
    machines = NormalForm(states=2, steps=STEPS, complete=True).machines()
    assert [m.name for m in machines[:4]] == ["1RZ---_------", "0RA---_------", "1RA---_------", "0RB---_1RZ---"]
    assert machines[148].name == "1RB---_1RB---"
    for machine in machines[::10]:
        assert library.load(machine.name).transitions == machine.transitions
    beaver = next(m for m in machines if m.name == "1RB1LB_1LA1RZ")
    assert (result(beaver).steps, result(beaver).ones) == (6, 4)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{states: 5, symbols: 2}", "there are too many machines with 5 states and 2 symbols in tree normal form"),
        ("{states: 4, symbols: 2, complete: keep}", "too many complete machines with 4 states and 2 symbols in tree"),
        ("{states: 2}", "'normal form' has no symbols: add for example 'symbols: 2'"),
        ("{states: 2, symbols: 2, complete: yes}", "unknown complete 'yes': choose from leave out, keep"),
    ],
)
def test_a_form_that_cannot_be_listed_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(SpecError) as found:
        read(f"machines: {{normal form: {text}}}\ninputs: ['']", file="spec.yaml")
    assert complaint in re.sub(r"\s+", " ", str(found.value))


def test_a_form_says_itself_what_it_cannot_be() -> None:
    with pytest.raises(DatasetError, match="with 3 states and 3 symbols in .*: use fewer, or random machines"):
        NormalForm(states=3, symbols=3)
    with pytest.raises(DatasetError, match="no machines with 0 states .*: use at least 1 state, 2 symbols and 1 step"):
        NormalForm(states=0)


@pytest.mark.slow
def test_the_two_state_sweeps_find_the_busy_beavers() -> None:
    spec = read("machines: {normal form: {states: 2, symbols: 2}}\ninputs: ['']\nmax steps: 100", file="two.yaml")
    found = sweep(spec, workers=1)
    assert (found.failure, found.tally.runs, found.tally.outcomes) == (None, 61, {"halt": 19, "limit": 42})
    assert (found.tally.steps, found.tally.ones) == (Beaver(6, "0RB1RZ_1LA1RB"), Beaver(4, "1RB1LB_1LA1RZ"))
    assert sweep_report(found).splitlines()[1] == (
        "the most among those that halt from the blank tape: 6 steps (0RB1RZ_1LA1RB), 4 non-blank symbols (1RB1LB_1LA1RZ)"
    )


@pytest.mark.slow
def test_the_three_state_sweep_finds_the_busy_beavers() -> None:
    """The whole sweep takes minutes: here are the machines about its two records, and every 300th."""
    spec = load_spec("three-states")
    (machines,) = spec.families  # type: ignore[union-attr]
    assert (len(machines), spec.max_steps) == (21_257, 200)  # type: ignore[union-attr]
    names = ["1RB1RZ_1LB0RC_1LC1LA", "1RB1LC_1LA1RB_1LB1RZ"]
    named = [number for number in machines.numbers if machines.family.machine(number).name in names]
    some = Members(machines.family, (*named, *machines.numbers[::300]))
    found = sweep(replace(spec, families=(some,)), workers=1)  # type: ignore[type-var]
    assert (found.failure, found.tally.machines) == (None, 73)
    assert (found.tally.steps, found.tally.ones) == (Beaver(21, names[0]), Beaver(6, names[1]))


@pytest.mark.slow
def test_no_machine_of_three_states_halts_later_or_leaves_more() -> None:
    """S(3) = 21 and Σ(3) = 6: Lin and Radó, Computer studies of Turing machine problems (1965)."""
    tally, form = Tally(), NormalForm(states=3, steps=200)
    for machine in form.machines():
        if "Z" in machine.name:
            end = result(machine, max_steps=200)
            assert end.outcome == "halt"
            tally.halted(machine.name, end.steps, end.ones)
    assert (tally.steps, tally.ones) == (Beaver(21, "1RB1RZ_1LB0RC_1LC1LA"), Beaver(6, "1RB1LC_1LA1RB_1LB1RZ"))


def test_records_are_those_of_the_first_in_the_order_of_the_jobs() -> None:
    first, second = Tally(), Tally()
    first.halted("a", 3, 2)
    second.halted("b", 3, 3)
    first.add(second)
    first.add(Tally())
    assert (first.steps, first.ones) == (Beaver(3, "a"), Beaver(3, "b"))
