"""bbchallenge text: what it means, in a file and as an argument, and what is said when it is wrong."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from tests.sources.turing.formats.test_complaints import fails, read, warned
from tm2tfr.base.errors import NotFoundError
from tm2tfr.base.text.source import SourceText
from tm2tfr.sources.turing import library
from tm2tfr.sources.turing.formats import bbchallenge
from tm2tfr.sources.turing.formats.bbchallenge import is_list, read_list, repeated
from tm2tfr.sources.turing.library import load
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


# ── lists of bbchallenge machines, in the notations in which people have them
LISTED_BB2, BB3, ENDLESS = "1RB1LB_1LA1RZ", "1RB1RZ_1LB0RC_1LC1LA", "1RB1LA_1LA1RB"
CSV = f'machine,status,steps\n{LISTED_BB2},halt,6\n"{BB3}",halt,21\n{ENDLESS},endless,\n'


def texts(text: str) -> list[str]:
    assert is_list(text)
    return [each.text for each in read_list(SourceText(text, "f"))]


@pytest.mark.parametrize(
    "text",
    [
        f"{LISTED_BB2}\n{BB3}\n",
        f"\n# machines\n{LISTED_BB2}  # the second\n\n  {BB3}\n",
        f"{LISTED_BB2} 6 4\n{BB3} 21 5\n",
        f"{LISTED_BB2},6,4\n{BB3},21,5\n",
        f"{LISTED_BB2};halt\r\n{BB3};halt\r\n",
        f"no;machine;steps\n1;{LISTED_BB2};6\n2;{BB3};21\n",
        f'"machine"\t"steps"\n"{LISTED_BB2}"\t6\n"{BB3}"\t21\n',
        f"1 {LISTED_BB2}\n2 {BB3}\n",
        f"| {LISTED_BB2} | 6 |\n| {BB3} | 21 |\n",
        "1RB 1LB  1LA 1RZ\n1RB 1RZ  1LB 0RC  1LC 1LA\n",
        "1RB 1LB   1LA 1RZ   6\n1RB 1RZ   1LB 0RC   1LC 1LA   21\n",
        "B1R B1L A1L Z1R\nB1R Z1R B1L C0R C1L A1L\n",
        " 1 B1R B1L A1L Z1R  4 6 \n 2 B1R Z1R B1L C0R C1L A1L  5 21 \n",
        f"{LISTED_BB2}\n{BB3}\n{LISTED_BB2}\n",
        f"6 2 {LISTED_BB2}\n21 3 {BB3}\n",
        f"{LISTED_BB2} - ---\n- {BB3} -\n",
        f"tm: {LISTED_BB2} 6\nsecond {BB3} 21\n",
        "6, 2, 1RB 1LB  1LA 1RZ\n21 3 1RB 1RZ  1LB 0RC  1LC 1LA  halt\n",
    ],
)
def test_the_ways_to_write_a_list(text: str) -> None:
    assert texts(text) == [LISTED_BB2, BB3]


def test_columns_and_lines_are_kept() -> None:
    found = read_list(SourceText(CSV, "f"))
    assert [(each.line, each.columns) for each in found] == [(2, ("halt", "6")), (3, ("halt", "21")), (4, ("endless",))]
    assert [result(each.machine, max_steps=50).steps for each in found] == [6, 21, 50]
    assert found[0].machine.name == LISTED_BB2


def test_fields_before_a_machine_are_columns() -> None:
    found = read_list(SourceText(f"37 9 {LISTED_BB2} halt # the best\n2 {BB3}\nbest {ENDLESS}\n", "f"))
    assert [each.columns for each in found] == [("37", "9", "halt"), (), ("best",)]


def test_an_undefined_cell_may_be_three_dots() -> None:
    assert texts("1RB ...  1LA 0RB\n1RB 1LA  ... ...\n") == ["1RB---_1LA0RB", "1RB1LA_------"]
    assert read("1RB ...  1LA 0RB\n").transitions == read("1RB---_1LA0RB").transitions
    assert bbchallenge.is_argument("1RB ...  1LA 0RB")


def test_one_machine_with_comments_is_a_machine() -> None:
    assert not is_list(f"# a comment\n{LISTED_BB2}\n# Another_one 2x2\n")
    assert read(f"# a comment\n{LISTED_BB2} # at the end\n").transitions == read(LISTED_BB2).transitions
    assert read(f"{LISTED_BB2}\n# Another_one 2x2\n", "bbchallenge").transitions == read(LISTED_BB2).transitions


def test_repeated_machines_are_counted() -> None:
    found = read_list(SourceText(f"{LISTED_BB2}\n{BB3}\n{LISTED_BB2}\n1RB 1LB  1LA 1RZ\n{BB3}\n", "f"))
    assert [(each.line, each.times) for each in found] == [(1, 3), (2, 2)]
    said = "3 lines of this list repeat a machine, the first time 1RB1LB_1LA1RZ of line 1: each machine is run once"
    assert repeated(found) == said
    assert repeated(read_list(SourceText(CSV, "f"))) is None


def test_the_older_notation() -> None:
    five = "B1L C1R C1L B1L D1L E0R A1R D1R H1L A0R"  # Marxen and Buntrock (1990), a mirror image of the machine shipped
    machine = read(f" {five} \n")
    ours = load("busy-beaver-5")
    assert len(machine.transitions) == 10
    assert result(machine, max_steps=10_000).ones == result(ours, max_steps=10_000).ones
    assert load(five).halting_states == {"H"}


def test_spaced_text_is_an_argument() -> None:
    for text in ("1RB1LB 1LA1RZ", "1RB 1LB  1LA 1RZ", "1RB 1LB   1LA 1RZ", "B1R B1L A1L Z1R"):
        assert bbchallenge.is_argument(text)
        assert load(text).transitions == load(LISTED_BB2).transitions
    for text in ("1RB", "B1R", "a b c d", "1RB 1L", "B1R B1L A1L", "---", "--- ---"):
        assert not bbchallenge.is_argument(text)


def test_some_rows_look_alike_and_have_no_forgotten_underscore() -> None:
    assert warned("1RA1LA1LA1RZ")[1] == warned("1RB1LZ")[1] == []


def test_a_list_is_no_machine() -> None:
    remedy = "go through it with 'tm2tfr check' or 'tm2tfr sweep', or give one of them"
    for number, text in (
        ("3 machines", CSV),
        ("2 machines", f"{LISTED_BB2}\n{BB3}\n"),
        ("1 machine", "B1R B1L A1L Z1R\nB1R B1L A1L Z1R\n"),
        ("1 machine", f"{LISTED_BB2} 6 4\n"),
        ("30 machines", "".join(f"1RB1LB_1LA0L{a}\n1RB1LB_1LA0R{a}\n" for a in "CDEFGHIJKLMNOPQ")),
    ):
        for format in (None, "bbchallenge"):
            if format is None or text != CSV:
                assert fails(text, format) == [f"f: this is a list of {number}: {remedy}"]


@pytest.mark.parametrize(
    "text",
    [
        LISTED_BB2,
        f"{LISTED_BB2}\n",
        "1RB 1LB\n1LA 1RZ\n",
        "1RB1LB\n1LA1RZ\n",
        "B1R B1L A1L Z1R\n",
        "0 1 1 r 0\n0 _ _ r halt\n",
        "blank: 0\nstart state: A\nname: 1RB1LB_1LA1RZ\ntable:\n  A:\n",
        f'Lemma one: halts "{LISTED_BB2}".\nProof.\nsolve.\nQed.\n\nLemma two: halts "{BB3}".\nProof.\nQed.\n',
        "a,b\n1,2\n",
        "",
    ],
)
def test_what_is_no_list(text: str) -> None:
    assert not is_list(text)
