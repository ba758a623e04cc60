"""Machines by their number, words, jobs, splits: the pieces of which a data set is made."""

from __future__ import annotations

import math
import pickle
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tm2tfr.base.errors import DatasetError, SpecError
from tm2tfr.base.text.words import number_of
from tm2tfr.lab.datasets.machines.family import Family, Members, NormalForm, drawn
from tm2tfr.lab.datasets.machines.prompting import fingerprint
from tm2tfr.lab.datasets.machines.spec import MachineSpec
from tm2tfr.lab.datasets.make import load_spec, sweep, sweep_report
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.shard import Beaver, PieceJob, Splitting, Tally
from tm2tfr.lab.datasets.spec import Inputs, Random
from tm2tfr.sources.turing import library
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine


# ── machines ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("family", "size"),
    [
        (Family(1, 2), 8**2),
        (Family(2, 2), 12**4),
        (Family(1, 3, (-1, 0, 1)), 18**3),
        (Family(1, 2, (0,), "one-way", "verdict"), 6**2),
    ],
)
def test_every_machine_of_a_family_once(family: Family, size: int) -> None:
    assert family.size == size
    step = max(1, size // 2_000)
    found = [family.machine(number) for number in range(0, size, step)]
    assert len({m.name for m in found}) == len({fingerprint(m) for m in found}) == len(found)
    assert {m.tape for m in found} == {family.tape}
    assert {m.input_alphabet for m in found} == {family.input_alphabet}
    assert not any(m.missing_rules for m in found)


def test_a_machine_by_its_number() -> None:
    family = Family(2, 2)
    assert [family.machine(n).name for n in (0, 1, 12, 20_735)] == [
        "0LA0LA_0LA0LA",
        "0LA0LA_0LA0RA",
        "0LA0LA_0RA0LA",
        "1RZ1RZ_1RZ1RZ",
    ]
    machine = Family(2, 2, (-1, 0, 1), "one-way", "verdict").machine(((9 * 24 + 3) * 24 + 22) * 24 + 14)
    assert machine.name == "1LB1LA_1S-0R+ one-way"
    assert machine.transitions["B", "1"] == ("accept", "0", 1)
    assert (machine.accept_states, machine.reject_states) == (("accept",), ("reject",))


def test_the_name_of_a_plain_one_is_an_argument_that_loads_it() -> None:
    for number in (0, 7_777, 20_735):
        machine = Family(2, 2).machine(number)
        again = load(machine.name)
        assert dict(again.transitions) == dict(machine.transitions)
        assert (again.input_alphabet, again.tape, again.decides) == (("1",), "two-way", False)


def test_the_seed_of_a_spec_says_which_machines_and_words_are_drawn() -> None:
    """The same ones in every version: a data set is known by its spec."""
    some, words = "states: 2, symbols: 3, count: 2", "count: 2, length: 8"
    text = (
        f"seed: 5\nmachines: {{random: [{{{some}}}, {{{some}}}, {{{some}, seed: 6}}]}}\n"
        f"inputs: {{random: [{{{words}}}, {{{words}}}, {{{words}, seed: 6}}]}}"
    )
    spec = read(text, file="spec.yaml")
    assert [[machine.name for machine in members] for members in spec.families] == [
        ["1RZ0RB2RZ_2LA0RZ0LA", "1RB1LB1LZ_0LZ2LB1RA"],
        ["1RB0RB2RB_2LA1LZ1LB", "2RB2RA1LZ_2RB1RA2LZ"],
        ["0LZ1LZ2LB_0LZ0RB0RZ", "2RZ0RB0LZ_1RB2RA1LZ"],
    ]
    assert spec.inputs.over("12") == ("22222112", "22121112", "11122112", "21121222", "11221122", "21212221")
    other = read(text.replace("seed: 5", "seed: 7"), file="spec.yaml")
    same = [a == b for a, b in zip(spec.families, other.families, strict=True)]
    assert same == [a == b for a, b in zip(spec.inputs.random, other.inputs.random, strict=True)] == [False, False, True]


def test_drawn_machines_are_different_and_the_same_for_one_seed() -> None:
    some = drawn(Family(1, 2), 32, "a seed")
    assert len(set(some.numbers)) == len(some) == 32
    assert some == drawn(Family(1, 2), 32, "a seed")
    assert some != drawn(Family(1, 2), 32, "another")
    assert len(drawn(Family(25, 10), 3, "numbers of 680 digits")) == 3


def test_members_are_cut_without_making_them() -> None:
    every = Members(Family(2, 2), range(12**4))
    part = every[100:103]
    assert isinstance(part, Members)
    assert [m.name for m in part] == [every[n].name for n in (100, 101, 102)]
    assert len(pickle.dumps(every)) < 500


def test_a_fingerprint_is_of_what_a_machine_does_not_of_its_name() -> None:
    machine = load("palindromes")
    copy = Machine.from_yaml(native.write(machine).replace("name: palindromes", "name: copy"))
    assert copy.name == "copy"
    assert fingerprint(copy) == fingerprint(machine)
    rules = dict(reversed(list(machine.transitions.items())))
    assert fingerprint(replace(machine, transitions=rules)) == fingerprint(machine)


@pytest.mark.parametrize(
    "change",
    [
        {"transitions": {("p", "a"): ("no", "a", 1), ("p", "_"): ("no", "x", 0)}},
        {"blank": "x"},
        {"start": "no"},
        {"accept": ("no",), "reject": ("yes",)},
        {"tape": "one-way"},
        {"input_alphabet": ()},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_fingerprint_is_of_all_that_a_machine_does(change: dict[str, Any]) -> None:
    rules = {("p", "a"): ("yes", "a", 1), ("p", "_"): ("no", "_", 0)}
    facts = {
        "transitions": rules,
        "start": "p",
        "blank": "_",
        "input_alphabet": ("a",),
        "accept": ("yes",),
        "reject": ("no",),
    }
    assert fingerprint(Machine(**{**facts, **change})) != fingerprint(Machine(**facts))


ALPHABETS = st.sampled_from(["", "1", "ab", "xyz"])


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_all_words_up_to_a_length() -> None:
    assert Inputs(up_to=2).over("ab") == ("", "a", "b", "aa", "ab", "ba", "bb")
    assert Inputs(up_to=3).over("1") == ("", "1", "11", "111")
    assert Inputs(up_to=3).over("") == ("",)
    assert Inputs().over("ab") == ()
    assert Inputs(words=("b", "")).over("ab") == ("b", "")


@pytest.mark.slow
@given(
    st.integers(0, 4), st.integers(0, 4), st.integers(1, 30), st.text(max_size=3), st.sampled_from(["", "1", "ab", "xyz"])
)
def test_random_words(shortest: int, more: int, count: int, seed: str, alphabet: str) -> None:
    count = min(count, number_of(len(alphabet), shortest, shortest + more))
    source = Random(count, shortest, shortest + more, seed)
    words = Inputs(random=(source,)).over(alphabet)
    assert len(set(words)) == len(words) == count
    assert all(shortest <= len(word) <= shortest + more and set(word) <= set(alphabet) for word in words)
    assert words == Inputs(random=(source,)).over(alphabet)


def test_random_words_differ_with_the_seed_and_have_all_lengths() -> None:
    one, two = (Inputs(random=(Random(1_000, 10, 19, seed),)).over("01") for seed in ("1", "2"))
    assert len(set(one) & set(two)) < 200
    assert all(60 < number < 140 for number in Counter(map(len, one)).values())


@pytest.mark.parametrize(
    ("symbols", "lengths", "number"), [(2, (0, 3), 15), (1, (2, 5), 4), (0, (0, 3), 1), (0, (1, 3), 0)]
)
def test_numbers_of_words(symbols: int, lengths: tuple[int, int], number: int) -> None:
    assert number_of(symbols, *lengths) == number
    assert number_of(2, 0, 10**9) >= 10**30


# ── jobs ────────────────────────────────────────────────────────────────────────────────────────────────────
MIXED = "machines: {named: [chapter, palindromes], all: {states: 1, symbols: 2}}\ninputs: {up to: 2}"


def runs_of(job: PieceJob) -> list[tuple[str, str]]:
    return [(machine.name, word) for piece in job.work for machine in piece.programs for word in piece.words]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 10, 100, 1_000])
def test_jobs_are_all_runs_in_order_and_none_is_too_large(size: int) -> None:
    spec = read(MIXED, file="spec.yaml")
    found = list(spec.jobs(size))
    assert [job.number for job in found] == list(range(len(found)))
    assert all(1 <= sum(piece.runs for piece in job.work) <= size for job in found)
    want = [(m.name, word) for p in spec.pieces() for m in p.programs for word in p.words]
    assert [run for job in found for run in runs_of(job)] == want
    assert len(want) == 3 + 7 + 64 * 3


def test_a_spec_without_runs_has_no_jobs() -> None:
    assert list(read("machines: [chapter]\ninputs: []", file="spec.yaml").jobs()) == []


# ── splits ──────────────────────────────────────────────────────────────────────────────────────────────────
def splitting(by: str = "run", seed: int = 0, **shares: float) -> Splitting:
    return Splitting(seed, by, tuple((shares or {"train": 0.8, "test": 0.2}).items()))


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(0, 9), st.sampled_from(["run", "machine", "input"]))
def test_splits_have_their_shares(seed: int, by: str) -> None:
    split = splitting(by, seed, train=0.5, validation=0.3, test=0.2)
    found = Counter(split.of(f"m{n}", f"w{n}") for n in range(2_000))
    for name, share in split.splits:
        assert abs(found[name] - share * 2_000) < 5 * math.sqrt(2_000 * share * (1 - share))


def test_what_decides_on_a_split() -> None:
    names = [f"m{n}" for n in range(50)]
    assert len({splitting("input").of(m, "w") for m in names}) == 1
    assert len({splitting("machine").of("m", w) for w in names}) == 1
    assert len({splitting("run").of("m", w) for w in names}) == 2
    assert splitting("run", 1).of("m", "w") == splitting("run", 1).of("m", "w")
    assert any(splitting("run", 1).of(m, "w") != splitting("run", 2).of(m, "w") for m in names)


def test_the_split_of_a_run_is_the_same_in_every_version() -> None:
    found = ["".join(splitting(by, 5).of("m", "1" * n)[1] for n in range(20)) for by in ("run", "input")]
    assert found == ["errerrrrrrrrrrrrrrre", "rrrrreeerrerrrerrrre"]  # t(r)ain, t(e)st


def test_a_split_without_a_share_stays_empty() -> None:
    assert {splitting(none=0.0, all=1.0, rest=0.0).of(f"m{n}", "") for n in range(300)} == {"all"}


def test_a_spec_knows_all_its_machines() -> None:
    spec: MachineSpec = read(MIXED, file="spec.yaml")
    assert [len(machines) for machines in spec.machines] == [2, 64]


# ── Tree normal form: every run from the blank tape has one machine in the list, and as many as others have counted.
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
