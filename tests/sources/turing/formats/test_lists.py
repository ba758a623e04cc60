"""Lists of bbchallenge machines, in the notations in which people have them."""

from __future__ import annotations

import pytest

from tests.sources.turing.formats.reading import fails, read, warned
from tm2tfr.base.text.source import SourceText
from tm2tfr.sources.turing.formats import bbchallenge
from tm2tfr.sources.turing.formats.bbchallenge import is_list, read_list, repeated
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import result

BB2, BB3, ENDLESS = "1RB1LB_1LA1RZ", "1RB1RZ_1LB0RC_1LC1LA", "1RB1LA_1LA1RB"
CSV = f'machine,status,steps\n{BB2},halt,6\n"{BB3}",halt,21\n{ENDLESS},endless,\n'


def texts(text: str) -> list[str]:
    assert is_list(text)
    return [each.text for each in read_list(SourceText(text, "f"))]


@pytest.mark.parametrize(
    "text",
    [
        f"{BB2}\n{BB3}\n",
        f"\n# machines\n{BB2}  # the second\n\n  {BB3}\n",
        f"{BB2} 6 4\n{BB3} 21 5\n",
        f"{BB2},6,4\n{BB3},21,5\n",
        f"{BB2};halt\r\n{BB3};halt\r\n",
        f"no;machine;steps\n1;{BB2};6\n2;{BB3};21\n",
        f'"machine"\t"steps"\n"{BB2}"\t6\n"{BB3}"\t21\n',
        f"1 {BB2}\n2 {BB3}\n",
        f"| {BB2} | 6 |\n| {BB3} | 21 |\n",
        "1RB 1LB  1LA 1RZ\n1RB 1RZ  1LB 0RC  1LC 1LA\n",
        "1RB 1LB   1LA 1RZ   6\n1RB 1RZ   1LB 0RC   1LC 1LA   21\n",
        "B1R B1L A1L Z1R\nB1R Z1R B1L C0R C1L A1L\n",
        " 1 B1R B1L A1L Z1R  4 6 \n 2 B1R Z1R B1L C0R C1L A1L  5 21 \n",
        f"{BB2}\n{BB3}\n{BB2}\n",
        f"6 2 {BB2}\n21 3 {BB3}\n",
        f"{BB2} - ---\n- {BB3} -\n",
        f"tm: {BB2} 6\nsecond {BB3} 21\n",
        "6, 2, 1RB 1LB  1LA 1RZ\n21 3 1RB 1RZ  1LB 0RC  1LC 1LA  halt\n",
    ],
)
def test_the_ways_to_write_a_list(text: str) -> None:
    assert texts(text) == [BB2, BB3]


def test_columns_and_lines_are_kept() -> None:
    found = read_list(SourceText(CSV, "f"))
    assert [(each.line, each.columns) for each in found] == [(2, ("halt", "6")), (3, ("halt", "21")), (4, ("endless",))]
    assert [result(each.machine, max_steps=50).steps for each in found] == [6, 21, 50]
    assert found[0].machine.name == BB2


def test_fields_before_a_machine_are_columns() -> None:
    found = read_list(SourceText(f"37 9 {BB2} halt # the best\n2 {BB3}\nbest {ENDLESS}\n", "f"))
    assert [each.columns for each in found] == [("37", "9", "halt"), (), ("best",)]


def test_an_undefined_cell_may_be_three_dots() -> None:
    assert texts("1RB ...  1LA 0RB\n1RB 1LA  ... ...\n") == ["1RB---_1LA0RB", "1RB1LA_------"]
    assert read("1RB ...  1LA 0RB\n").transitions == read("1RB---_1LA0RB").transitions
    assert bbchallenge.is_argument("1RB ...  1LA 0RB")


def test_one_machine_with_comments_is_a_machine() -> None:
    assert not is_list(f"# a comment\n{BB2}\n# Another_one 2x2\n")
    assert read(f"# a comment\n{BB2} # at the end\n").transitions == read(BB2).transitions
    assert read(f"{BB2}\n# Another_one 2x2\n", "bbchallenge").transitions == read(BB2).transitions


def test_repeated_machines_are_counted() -> None:
    found = read_list(SourceText(f"{BB2}\n{BB3}\n{BB2}\n1RB 1LB  1LA 1RZ\n{BB3}\n", "f"))
    assert [(each.line, each.times) for each in found] == [(1, 3), (2, 2)]
    said = "3 lines of this list repeat a machine, the first time 1RB1LB_1LA1RZ of line 1: each machine is run once"
    assert repeated(found) == said
    assert repeated(read_list(SourceText(f"{BB2}\n{BB3}\n{BB3}\n", "f"))) == (
        "1 line of this list repeats a machine, the first time 1RB1RZ_1LB0RC_1LC1LA of line 2: each machine is run once"
    )
    assert repeated(read_list(SourceText(CSV, "f"))) is None


def test_the_older_notation() -> None:
    five = "B1L C1R C1L B1L D1L E0R A1R D1R H1L A0R"  # Marxen and Buntrock (1990), a mirror image of the machine shipped
    machine = read(f" {five} \n")
    ours = load("busy-beaver-5")
    assert len(machine.transitions) == 10
    assert result(machine, max_steps=10_000).ones == result(ours, max_steps=10_000).ones
    assert texts(f"1 {five}  4098 47176870\n") == ["1LB1RC_1LC1LB_1LD0RE_1RA1RD_1LH0RA"]
    assert load(five).halting_states == {"H"}
    assert texts("1 B1R A2L H1R B1L A1L B1R --- B1R 9 9") == [
        "1RB2LA1RH1LB_1LA1RB---1RB"
    ]  # four symbols, or three: 8 cells


def test_spaced_text_is_an_argument() -> None:
    for text in ("1RB1LB 1LA1RZ", "1RB 1LB  1LA 1RZ", "1RB 1LB   1LA 1RZ", "B1R B1L A1L Z1R"):
        assert bbchallenge.is_argument(text)
        assert load(text).transitions == load(BB2).transitions
    for text in ("1RB", "B1R", "a b c d", "1RB 1L", "B1R B1L A1L", "---", "--- ---"):
        assert not bbchallenge.is_argument(text)


def test_some_rows_look_alike_and_have_no_forgotten_underscore() -> None:
    assert warned("1RA1LA1LA1RZ")[1] == warned("1RB1LZ")[1] == []


def test_a_list_is_no_machine() -> None:
    remedy = "go through it with 'tm2tfr check' or 'tm2tfr sweep', or give one of them"
    for number, text in (
        ("3 machines", CSV),
        ("2 machines", f"{BB2}\n{BB3}\n"),
        ("1 machine", "B1R B1L A1L Z1R\nB1R B1L A1L Z1R\n"),
        ("1 machine", f"{BB2} 6 4\n"),
        ("30 machines", "".join(f"1RB1LB_1LA0L{a}\n1RB1LB_1LA0R{a}\n" for a in "CDEFGHIJKLMNOPQ")),
    ):
        for format in (None, "bbchallenge"):
            if format is None or text != CSV:
                assert fails(text, format) == [f"f: this is a list of {number}: {remedy}"]


@pytest.mark.parametrize(
    "text",
    [
        BB2,
        f"{BB2}\n",
        "1RB 1LB\n1LA 1RZ\n",
        "1RB1LB\n1LA1RZ\n",
        "B1R B1L A1L Z1R\n",
        "0 1 1 r 0\n0 _ _ r halt\n",
        "blank: 0\nstart state: A\nname: 1RB1LB_1LA1RZ\ntable:\n  A:\n",
        f'Lemma one: halts "{BB2}".\nProof.\nsolve.\nQed.\n\nLemma two: halts "{BB3}".\nProof.\nQed.\n',
        "a,b\n1,2\n",
        "",
    ],
)
def test_what_is_no_list(text: str) -> None:
    assert not is_list(text)
