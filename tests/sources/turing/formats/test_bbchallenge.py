"""bbchallenge text: what it means, in a file and as an argument, and what is said when it is wrong."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from tests.sources.turing.formats.reading import read
from tm2tfr.base.errors import NotFoundError
from tm2tfr.sources.turing import library
from tm2tfr.sources.turing.formats import bbchallenge
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine, Rule

CASES = json.loads((Path(__file__).parents[3] / "cases" / "busy-beavers.json").read_text(encoding="utf-8"))
BB2 = {
    ("A", "0"): Rule("B", "1", 1),
    ("A", "1"): Rule("B", "1", -1),
    ("B", "0"): Rule("A", "1", -1),
    ("B", "1"): Rule("Z", "1", 1),
}


@pytest.mark.parametrize(
    "text",
    ["1RB1LB_1LA1RZ", "1RB1LB_1LA1RZ\n", "1RB 1LB  1LA 1RZ", "1RB 1LB_1LA 1RZ", "1RB1LB 1LA1RZ", "1RB 1LB\n1LA 1RZ\n\n"],
)
def test_the_ways_to_write_it(text: str) -> None:
    for format in ("bbchallenge", None):
        machine = read(text, format)
        assert dict(machine.transitions) == BB2
        assert (machine.start, machine.blank, machine.tape, machine.states) == ("A", "0", "two-way", ("A", "B", "Z"))
        assert (machine.tape_alphabet, machine.decides) == (("0", "1"), False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_published_busy_beavers(case: dict[str, object]) -> None:
    machine = library.load(str(case["machine"]))
    assert machine.name == case["machine"]
    if int(str(case.get("steps", 10**9))) > 1_000_000:
        return
    found = result(machine)
    assert found.outcome == "halt"
    shipped = [name for name in library.shipped() if dict(library.load(name).transitions) == dict(machine.transitions)]
    assert result(library.load(shipped[0])) == found


def test_a_step_into_z_counts_and_an_undefined_cell_is_no_step() -> None:
    assert (result(read("1RZ---")).steps, result(read("1RZ---")).tape) == (1, "1")
    assert (result(read("------", "bbchallenge")).steps, result(read("---0RA_------")).outcome) == (0, "halt")
    undefined = read("1RB---_1LA---")
    assert (undefined.missing_rules, result(undefined).steps) == ((("A", "1"), ("B", "1")), 2)


def test_any_letter_past_the_last_row_halts() -> None:
    assert result(read("1RB1LB_1LA1RC")) == result(read("1RB1LB_1LA1RZ"))
    assert read("1RC1RZ_1LA1RH").halting_states == {"C", "H", "Z"}


def test_as_an_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert dict(library.load("1RB1LB_1LA1RZ").transitions) == BB2
    with pytest.raises(NotFoundError):
        library.load(Path("1RB1LB_1LA1RZ"))
    for other in ("1RB", "1RB1LB_1LA1R", "1rb1lb_1la1rz", "AAA_BBB", "------"):
        with pytest.raises(NotFoundError):
            library.load(other)
    Path("1RB1LB_1LA1RZ").write_text("0RZ1RZ", encoding="utf-8")  # a file goes first
    assert len(library.load("1RB1LB_1LA1RZ").transitions) == 2


def test_machines_with_one_symbol_or_no_rule_are_known_by_their_text() -> None:
    rules = [None, *product("AZ", "0", (-1, 1))]
    for states, symbols in ((1, 1), (2, 1), (1, 2)):
        keys = list(product("AB"[:states], "01"[:symbols]))
        for chosen in product(rules, repeat=len(keys)):
            transitions = {key: Rule(*rule) for key, rule in zip(keys, chosen, strict=True) if rule is not None}
            text = bbchallenge.write(Machine(transitions=transitions, start="A", blank="0", states=(*"ABZ",))).text
            assert bbchallenge.looks_like(text), text
            assert bbchallenge.write(read(text)).text == text


def test_out() -> None:
    written = bbchallenge.write(library.load("busy-beaver-4"))
    assert written.text == "1RB1LB_1LA0LC_1RZ1LD_1RD0RA\n"
    for case in CASES:
        assert bbchallenge.write(library.load(case["machine"])).text.strip().replace("1RZ", "1RH") == str(
            case["machine"]
        ).replace("1RZ", "1RH")


def test_names_are_changed_and_it_is_said() -> None:
    rules = {("go", " "): Rule("on", "x", 1), ("on", " "): Rule("end", "x", -1), ("on", "x"): Rule("stop", "y", 0)}
    machine = Machine(transitions=rules, start="on", blank=" ", input_alphabet=("x",), name="m")
    written = bbchallenge.write(machine)
    assert written.text == "1LZ2RZ---_1RA------\n"
