"""Tables of the universal decoder: the machine's description in the prompt is one line, or rows like any other."""

from __future__ import annotations

import csv
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import tm2tfr
from tests.html import Cells
from tests.installed import NO_LATEX
from tests.tables.test_latex import compiled
from tm2tfr.runs.comparison import Divergence, Trace
from tm2tfr.sources.turing.spec import Machine, Rule
from tm2tfr.tables.table import table

EVERY = tm2tfr.Universal(states=8, symbols=4)
GAP = "⋮ (31 tokens of the machine's description)"


@cache
def chapter() -> Trace:
    return tm2tfr.check(EVERY.holding(tm2tfr.load("chapter")), "11", engine="dense")


@cache
def spaced() -> Trace:
    """A machine whose blank is a space, and whose states have commas, arrows and underscores."""
    rules = {("a,b", "x"): Rule("→_", " ", +1), ("→_", "x"): Rule("a,b", "|", -1), ("a,b", " "): Rule("→_", "|", 0)}
    machine = Machine(name="spaced", transitions=rules, start="a,b", blank=" ", accept=(), input="xx")
    return tm2tfr.check(EVERY.holding(machine), engine="dense")


def test_the_text_has_one_line_for_the_description() -> None:
    assert table(chapter(), "text").splitlines() == [
        " i  tape      x          q   b   m  h  a  y",
        "───────────────────────────────────────────────────",
        f"  {GAP}",
        "31            1          ⊥   ⊥   0  0  1  1",
        "32            1          ⊥   ⊥   0  0  1  1",
        "33            BOS        ⊥   ⊥   0  0  1  (q0,1,0)",
        "34  [1]1 _ …  (q0,1,0)   q0  1   0  0  1  (q1,_,+1)",
        "35   _[1]_ …  (q1,_,+1)  q1  _  +1  1  1  (q2,x,+1)",
        "36   _ x[_]…  (q2,x,+1)  q2  x  +1  2  _  (q4,_,-1)",
        "37   _[x]_ …  (q4,_,-1)  q4  _  -1  1  x  (q4,x,-1)",
        "38  [_]x _ …  (q4,x,-1)  q4  x  -1  0  _  (q1,_,+1)",
        "39   _[x]_ …  (q1,_,+1)  q1  _  +1  1  x  ACC",
    ]


def test_a_description_is_no_tape_and_counts_for_nothing() -> None:
    assert (chapter().lead, chapter().input, chapter().T) == (31, "11", 6)
    alone = tm2tfr.run(EVERY.holding(tm2tfr.load("chapter")), "11", engine="dense")
    assert (alone.lead, alone.input, alone.T, table(alone, "text")) == (31, "11", 6, table(chapter(), "text"))


def test_other_formats_for_people_say_so_as_well() -> None:
    tex = r"\multicolumn{9}{l}{$\vdots$ (31 tokens of the machine's description)} \\"
    assert table(chapter(), "latex").splitlines()[5] == tex
    assert table(chapter(), "markdown").splitlines()[2].startswith("| ⋮ | (31 tokens of the machine's description) |")
    assert Cells(table(chapter(), "html")).rows[1] == [GAP]


def test_the_description_is_shown_where_it_is_asked_for() -> None:
    lines = table(chapter(), "text", description=True).splitlines()
    assert len(lines) == 2 + 40
    assert lines[2:5] == [
        " 0            one-way     ⊥   ⊥   0  0  _  one-way",
        " 1            q0,1        ⊥   ⊥   0  0  _  q0,1",
        " 2            →(q1,_,+1)  ⊥   ⊥   0  0  _  →(q1,_,+1)",
    ]
    tex = table(chapter(), "latex", description=True).splitlines()
    assert [line.split(" & ")[2] for line in tex[5:8]] == [
        r"$\texttt{one-{}way}$",
        r"$q_{0}, 1$",
        r"$\to$ $(q_{1}, \_, +1)$",
    ]
    assert tex[9].split(" & ")[2] == r"$\to$ REJ"


def test_programs_get_every_row() -> None:
    rows = list(csv.reader(table(chapter(), "csv").splitlines()))
    assert [row[1] for row in rows[1:4]] == ["one-way", "q0,1", "→(q1,_,+1)"]
    assert len(rows) == 1 + 40 == 1 + len(table(chapter(), "jsonl").splitlines())


def test_elided_rows_are_counted_after_the_description() -> None:
    lines = table(chapter(), "text", elide=3).splitlines()
    assert [line.split("  ")[0].strip() or line.strip() for line in lines[2:]] == [GAP, "31", "32", "⋮ (6 rows)", "39"]


def test_a_difference_in_the_description_is_shown() -> None:
    right = chapter()
    wrong = [row._replace(a="x") if row.i == 9 else row for row in right.rows]
    gap = Divergence(position=9, column="a", expected="_", found="x", expected_row=None, found_row=wrong[9], cause=None)
    lines = table(replace(right, rows=tuple(wrong), expected=right.rows, divergence=gap), "text").splitlines()
    assert lines[2] == "  ⋮ (6 tokens of the machine's description)"
    assert lines[6] == "▸ 9            q1,_        ⊥   ⊥   0  0  !x≠_  q1,_"
    assert lines[10] == "  ⋮ (18 tokens of the machine's description)"
    assert lines[11].lstrip().startswith("31")


def test_spaces_in_rules_are_visible() -> None:
    rows = [line.split() for line in table(spaced(), "text", description=True).splitlines()[2:9]]
    assert [row[1] for row in rows] == ["two-way", "a,b,x", "→(→_,␣,+1)", "→_,x", "→(a,b,|,-1)", "a,b,␣", "→(→_,|,0)"]
    assert spaced().agrees


@pytest.mark.skipif(not shutil.which("pdflatex"), reason=NO_LATEX)
def test_the_latex_compiles(tmp_path: Path) -> None:
    tables = [table(trace, "latex", description=True) for trace in (chapter(), spaced())]
    assert "Missing character" not in compiled("\n\n".join([*tables, table(chapter(), "latex")]), tmp_path, "pdflatex")


# ── where a head looks ──────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_a_map_begins_with_bos() -> None:
    held = EVERY.holding(tm2tfr.load("chapter"))
    found = tm2tfr.attention_of(held, "11", head="rule for q, a")
    assert found.text().splitlines() == [
        "layer 6 (find rule), head 'rule for q, a'",
        "34 (q0,1,0)   ··░·····░·······░·····░···░·······",
        "35 (q1,_,+1)  ··█································",
        "36 (q2,x,+1)  ········█···························",
        "37 (q4,_,-1)  ··················█··················",
        "38 (q4,x,-1)  ····························█·········",
        "39 (q1,_,+1)  ······························█········",
        "40 ACC        ············█···························",
        "weights: · 0, ░ up to 1/4, ▒ up to 1/2, ▓ up to 3/4, █ up to 1",
    ]
    whole = tm2tfr.attention_of(held, "11", head="rule for q, a", prompt=True)
    assert (found.first, found.weights.shape, whole.weights.shape) == (33, (7, 40), (40, 40))
    assert (whole.weights[33:] == found.weights).all()
    keys = tm2tfr.attention_of(held, "11", head="last key", prompt=True)
    assert [int(row.argmax()) for row in keys.weights[:9]] == [0, 1, 1, 3, 3, 5, 5, 7, 7]


def test_a_map_of_one_machine_has_every_row() -> None:
    assert tm2tfr.attention_of("chapter", "11", head="latest write").weights.shape == (9, 9)
