"""Interventions on runs of RASP programs: s-ops by what they are made of, as far as weights read them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import tm2tfr
from tests.lab.interventions.agreeing import EACH, agreeing, differing, moved, subject, without
from tests.strategies import tries
from tm2tfr.api.interventions import intervene_many
from tm2tfr.base.errors import CompileError, UsageError
from tm2tfr.lab.interventions.tried import Tried


@pytest.mark.slow
def test_an_s_op_that_is_set_is_seen_by_what_reads_it() -> None:
    found = tm2tfr.intervene(subject("dyck-1"), "(())", {("mean balance", 2): "4/3"})
    assert (found.settings[0].variable, found.agrees) == ("mean balance", True)
    token = tm2tfr.intervene(subject("reverse"), "abcab", {("tokens", 0): "c"})
    assert (token.agrees, token.first) == (True, 4)
    assert [answers[0] for answers in token.expected.answers] == ["b", "a", "c", "b", "c"]


@pytest.mark.slow
def test_what_occurs_in_no_run_is_not_compared_and_said() -> None:
    found = tm2tfr.intervene(subject("dyck-1"), "(())", {("found by is_lost.(up_to_self and …)", 0): 1})
    assert found.agrees
    assert all("as in no run" in why or "comes together in no run" in why for why in found.explained)


def test_of_steps_that_change_the_difference_alone_is_shown() -> None:
    changes = {
        value: str(tm2tfr.intervene(subject("histogram"), "§abca", {("mean frac_with_0", 1): value})).splitlines()[-2]
        for value in (Fraction(1, 4), Fraction(1, 2))
    }
    assert changes == {
        Fraction(1, 4): "cells that change: mean frac_with_0@1: 1/3 → 1/4, steps of frac_with_0@1: no longer 9/32..5/16",
        Fraction(1, 2): "cells that change: mean frac_with_0@1: 1/3 → 1/2, steps of frac_with_0@1: also 3/8..7/16",
    }


@pytest.mark.slow
def test_an_answer_that_is_not_known_is_not_said_to_be_as_expected() -> None:
    found = tm2tfr.intervene(subject("running-parity"), "00001011", {("state", 3): None})
    assert (found.agrees, found.known, found.first, found.causal) == (True, False, None, False)
    assert found.expected.answers[3] != found.patched_answers[3]  # what stands there is a placeholder
    lines = str(found).splitlines()
    assert lines[3].split() == ["3", "0", "→", "0", "0", "→", "?", "0", "→", "⟨⟩"]
    assert lines[9:] == [
        "changes no answer that is known: the expected answer at 3 is not known",
        "cells that change: state@3: 0 → ⊥",
        "not compared: state has no value at 3 then, as in no run",
        "the patched weights (dense) do what is expected elsewhere; "
        "the expected answer at 3 is not known, and not compared",
    ]
    expected = found.as_dict()["expected"]
    assert (expected["answers"][2:5], expected["unknown"]) == ([["0"], [None], ["1"]], [{"position": 3, "outputs": [0]}])
    tried = Tried("running-parity", "dense")
    tried.add(found)
    assert str(tried).splitlines() == [
        "running-parity: 1 random interventions, no run was compared in full: none has expected answers that are all known",
        "  1 are left out: the expected answers are not known, and not compared; the first: state has no value at 3 then, "
        "as in no run",
    ]


@pytest.mark.slow
def test_rows_with_answers_that_are_not_known_are_left_out(tmp_path: Path) -> None:
    """Of 200, the weights answer something else than the placeholder in 40."""
    tried = intervene_many(subject("reverse"), 200, seed=1, folder=tmp_path / "data")
    assert (tried.number, tried.left_out, tried.causal, tried.explained, tried.agrees) == (200, 49, 93, 0, True)
    assert str(tried).splitlines()[:3] == [
        "reverse: 200 random interventions, the patched weights (dense) do what is expected in all 151 whose answers are "
        "known",
        "  93 change an answer, 58 do not",
        "  49 are left out: the expected answers are not known, and not compared",
    ]
    lines = (tmp_path / "data" / "00000-of-00001.jsonl").read_text(encoding="utf-8").splitlines()
    letters = set(subject("reverse").decoder.vocabulary)
    assert len(lines) == 151
    assert {answer for line in lines for answer in json.loads(line)["expected_answers"]} <= letters
    counts = json.loads((tmp_path / "data" / "manifest.json").read_text(encoding="utf-8"))["shards"]["00000-of-00001"]
    assert counts["counts"] == {
        "interventions": 200,
        "drawn": 200,
        "left_out": 49,
        "unknown": 49,
        "causal": 93,
        "explained": 0,
    }
    card = (tmp_path / "data" / "README.md").read_text(encoding="utf-8")
    assert "\n151 random interventions with a known answer, made by" in card
    assert (
        "93 of them change an answer. 49 more were drawn and are left out: their expected answers are not known. " in card
    )
    again = intervene_many(subject("reverse"), 200, seed=1, folder=tmp_path / "data", resume=True)
    assert (again.number, again.left_out, again.reused) == (200, 49, 200)


@pytest.mark.slow
def test_rows_with_unknown_answers_are_kept_with_a_mask_if_asked_for(tmp_path: Path) -> None:
    tried = intervene_many(subject("reverse"), 60, seed=1, folder=tmp_path / "all", keep_unknown=True)
    without = intervene_many(subject("reverse"), 60, seed=1, folder=tmp_path / "known")
    assert (tried.number, tried.left_out, tried.unknown) == (60, 0, without.left_out)
    assert without.left_out > 0
    assert str(tried).splitlines()[2] == (
        f"  {tried.unknown} are kept, with null in the place of what is not known: the expected answers are not known, and "
        "not compared"
    )
    folders = [(tmp_path / name / "00000-of-00001.jsonl").read_text(encoding="utf-8") for name in ("all", "known")]
    every, known = ([json.loads(line) for line in text.splitlines()] for text in folders)
    assert len(every) == 60
    assert [row for row in every if all(row["known"])] == known
    for row in every:
        assert [answer is not None for answer in row["expected_answers"]] == row["known"]
    card = (tmp_path / "all" / "README.md").read_text(encoding="utf-8")
    assert "\n60 random interventions, made by" in card
    assert f"Of {tried.unknown} the expected answer is not known at every position: `known` says where it is;" in card


@pytest.mark.slow
def test_the_first_position_that_differs_is_one_that_is_known(tmp_path: Path) -> None:
    """Of two outputs of sort, one may be known where the other is not: such a position is not known, and not the first."""
    tried = intervene_many(subject("sort"), 120, seed=1, folder=tmp_path / "all", keep_unknown=True)
    text = (tmp_path / "all" / "00000-of-00001.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert (len(rows), tried.agrees, tried.unknown > 10) == (120, True, True)
    for row in rows:
        pairs = enumerate(zip(row["base_answers"], row["expected_answers"], row["known"], strict=True))
        assert row["first"] == next((i for i, (before, after, known) in pairs if known and before != after), None)
        assert (row["first"] is None) == (row["why"] is not None)
    assert tried.causal == sum(row["first"] is not None for row in rows)


def test_a_mean_that_is_always_the_same_has_no_steps(tmp_path: Path) -> None:
    """The weights know the aggregate by whether its selector finds a position; a subspace without labels is nothing."""
    path = tmp_path / "same.rasp"
    text = 'f = select(tokens, "b", ==);\ny = aggregate(f, 1 if tokens == "a" else 0, 5);\nz = 2 * y + indices;\n'
    path.write_text(f"# alphabet: ab\n{text}", encoding="utf-8")
    tried = intervene_many(subject(path), 40)
    assert (tried.number, tried.left_out, tried.agrees) == (40, 0, True)
    assert tm2tfr.explain(path).by_name["y"].formula == 'y = aggregate(f, 1 if (tokens == "a") else 0, 5)'
    assert tm2tfr.explain(path).by_name["mean y"].formula == 'mean of (1 if (tokens == "a") else 0) over f'
    made = tm2tfr.make_labels(path, tmp_path / "labels", inputs=["abba", "aa"], workers=1)
    assert made.folder is not None


@pytest.mark.slow
def test_a_selector_that_compares_nothing_selects_all_positions(tmp_path: Path) -> None:
    """At this length, `neg` has too many combinations of values for an exact analysis, so a subspace says what is found."""
    path = tmp_path / "negative.rasp"
    count = 'aggregate(prevs, indicator(tokens == "{}"))'.format
    lines = [
        "# alphabet: (){}",
        "# length: 6",
        "prevs = select(indices, indices, <=);",
        *(f"{name} = {count(start)} - {count(end)};" for name, (start, end) in {"a": "()", "b": "{}"}.items()),
        "neg = a < 0 or b < 0;",
        "has_neg = aggregate(full_s, indicator(neg));",
        "z = has_neg == 0;",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = tm2tfr.intervene(subject(path), "({)}", {("indicator(neg)", 1): "1"})
    assert {cells["found by full_s (depth 2)"] for cells in found.expected.cells} == {1}
    assert (found.agrees, found.known, found.first, found.explained) == (True, True, 0, ())
    assert [answers[-1] for answers in found.expected.answers] == ["1/4"] * 4
    assert intervene_many(subject(path), 40, words=["({)}", "(){}"]).number == 40


def test_weights_without_layers_have_no_variable_to_draw(tmp_path: Path) -> None:
    path = tmp_path / "half.rasp"
    path.write_text("# alphabet: ab\nv = indices * (1 / 2);\n", encoding="utf-8")
    with pytest.raises(UsageError, match="^half: there is no variable that can be set"):
        intervene_many(path, 3, seed=0, folder=tmp_path / "out")


@pytest.mark.slow
def test_what_cannot_be_set_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="steps of balance cannot be set: it is computed from the mean, which can be set"):
        tm2tfr.intervene(subject("dyck-1"), "(())", {("steps of balance", 0): 1})
    with pytest.raises(UsageError, match="position cannot be set: it says where a position is"):
        tm2tfr.intervene(subject("histogram"), "abc", {("position", 0): "1"})
    with pytest.raises(UsageError, match="mean balance@0: mean balance is a number, not 'x': use for example 1/2"):
        tm2tfr.intervene(subject("dyck-1"), "(())", {("mean balance", 0): "x"})
    with pytest.raises(CompileError, match="as in weights for any length: compile it without unbounded=True"):
        tm2tfr.intervene(tm2tfr.Subject.of("length", options={"unbounded": True}), "aab", {("tokens", 0): "a"})


@pytest.mark.slow
@pytest.mark.parametrize("program", ["dyck-1", "histogram", "running-maximum", "binary-addition"])
def test_patched_weights_do_what_the_program_says(program: str) -> None:
    tried = agreeing(subject(program), EACH * 5 // 4)
    assert tried.causal > 5


@pytest.mark.slow
def test_so_do_exact_ones_and_sabotaged_ones_are_found() -> None:
    agreeing(subject("reverse"), tries(60), engine="exact")
    assert differing(subject("histogram"), 3, words=["abca", "aab", "cabb"]) >= 2


@pytest.mark.slow
def test_what_is_expected_is_not_read_off_the_weights() -> None:
    other, wrong = moved(subject("histogram"), tries(12), ["abca", "bb"])
    assert (other, wrong > 0) == (0, True)


# ── Interventions on runs of formulas and attention programs: what weights claim, as equations.
@pytest.mark.slow
def test_a_subformula_that_is_set_is_seen_by_what_reads_it() -> None:
    found = tm2tfr.intervene(subject("since-b"), "aaca", {("is !s2 s3", 3): 1})
    assert (found.agrees, found.explained) == (True, ())
    counted = tm2tfr.intervene(subject("two-to-three"), "aabb", {("number s2", 4): 3})
    assert (counted.agrees, counted.first) == (True, 4)
    assert [answers[0] for answers in counted.expected.answers] == ["F", "F", "F", "F", "T"]
    assert counted.patched_answers[4][0] == "T"


@pytest.mark.slow
def test_bos_stays_where_it_is_and_means_are_not_set() -> None:
    found = tm2tfr.intervene(subject("since-b"), "aab", {("token", 0): "a"})
    assert found.agrees
    assert "BOS and EOS are where they are in every run" in found.explained
    with pytest.raises(UsageError, match="a head brings, before it is rounded: set '.*since Q.b.'$"):
        tm2tfr.intervene(subject("since-b"), "aab", {("at since s5: is s3", 1): 1})
    with pytest.raises(UsageError, match="mean of Q.a. cannot be set: it is a mean over positions: set 'count.Q.a..'$"):
        tm2tfr.intervene(subject("two-to-three"), "aab", {("mean of Q[a]", 1): 1})
    with pytest.raises(UsageError, match="token@1: 'BOS' is not a value of token"):
        tm2tfr.intervene(subject("since-b"), "aab", {("token", 1): "BOS"})


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["since-b", "dyck-1-by-counting", "flip-flops", "every-a-answered", "hop-1"])
def test_patched_weights_do_what_their_claims_say(formula: str) -> None:
    assert agreeing(subject(formula), EACH).causal > 1


@pytest.mark.slow
def test_so_do_exact_ones_and_sabotaged_ones_of_formulas_are_found() -> None:
    agreeing(subject("two-to-three"), tries(60), engine="exact")
    assert differing(subject("dyck-1-by-counting"), 3, words=["(())", "()()", "())("]) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "words"), [("since-b", ["acbc", "bba"]), ("dyck-1-by-counting", ["(())", "())("])])
def test_what_is_expected_of_formulas_is_not_read_off_the_weights(formula: str, words: list[str]) -> None:
    other, wrong = moved(subject(formula), tries(12), words)
    assert (other, wrong > 0) == (0, True)


def test_weights_that_are_wrong_without_any_intervention_are_found() -> None:
    bad = without(subject("since-b"), "layers.2.heads.0.output")
    found = tm2tfr.intervene(bad, "acbc", {("token", 1): "b"})
    assert not found.agrees
    assert "without any intervention, the weights (dense) already differ from the reference:" in str(found)
    assert "position 3: (Q[a] | Q[b]) since Q[b] should be T, is F" in found.broken
    assert found.without.answers[3][0] == "T"
