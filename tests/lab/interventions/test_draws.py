"""Random interventions that change an answer, and those that set every variable equally often."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.cli.test_commands import failed
from tests.cli.test_commands import tm2tfr as command
from tests.lab.interventions.agreeing import subject
from tm2tfr.api.interventions import bases, intervene_many
from tm2tfr.base.errors import InputError, UsageError
from tm2tfr.contract.modelled import CausalRun
from tm2tfr.lab.interventions import draws, pairs
from tm2tfr.lab.interventions.draws import Drawn, Draws


def rows_of(folder: Path) -> list[dict[str, Any]]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl")))
    return [json.loads(line) for text in texts for line in text.splitlines()]


@pytest.mark.slow
def test_effective_interventions_change_an_answer_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = subject("chapter")
    tried = intervene_many(found, 30, seed=1, effective=True, folder=tmp_path / "whole")
    rows = rows_of(tmp_path / "whole")
    assert (len(rows), tried.number, tried.causal, tried.agrees) == (30, 30, 30, True)
    for row in rows:
        assert row["base_answers"] != row["expected_answers"]
        assert row["base_answers"][: row["first"]] == row["expected_answers"][: row["first"]]
    manifest = json.loads((tmp_path / "whole" / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["effective"], manifest["balanced"]) == (True, [])
    assert manifest["shards"]["00000-of-00001"]["counts"]["drawn"] == tried.drawn > 60
    assert f"\n  {tried.drawn} were drawn to get them\n" in str(tried)
    assert f"{tried.drawn} were drawn to get them" in (tmp_path / "whole" / "README.md").read_text(encoding="utf-8")
    # the rows do not depend on how many are made at once, and a resumed folder is the same
    monkeypatch.setattr(pairs, "SHARD", 8)
    intervene_many(found, 30, seed=1, effective=True, folder=tmp_path / "shards")
    assert rows_of(tmp_path / "shards") == rows
    whole = {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()}
    (tmp_path / "shards" / "00001-of-00004.jsonl").unlink()
    again = intervene_many(found, 30, seed=1, effective=True, folder=tmp_path / "shards", resume=True)
    assert (again.reused, again.drawn, again.causal) == (22, tried.drawn, 30)
    assert {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()} == whole


@pytest.mark.slow
def test_balanced_interventions_set_each_variable_equally_often(tmp_path: Path) -> None:
    tried = intervene_many(subject("chapter"), 45, seed=2, balanced=True, effective=True, folder=tmp_path / "data")
    rows = rows_of(tmp_path / "data")
    first = Counter(row["variables"][0] for row in rows)
    assert dict(first) == tried.each == dict.fromkeys(tried.balanced, 3)
    assert len(first) == 15
    assert all(row["first"] is not None for row in rows)
    # a square is set with its root, and counts as this one
    together = {(name, f"{name}^2") if name in ("h", "h_{i-1}") else (name,) for name in first}
    assert {tuple(row["variables"]) for row in rows} == together
    manifest = json.loads((tmp_path / "data" / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["balanced"], manifest["unbalanced"]) == (list(tried.balanced), {})
    assert "\n  15 variables, each set in 3 of them" in str(tried)


@pytest.mark.slow
def test_variables_without_effect_are_left_out_with_the_reason() -> None:
    tried = intervene_many("chapter", 14, words=[""], balanced=True, effective=True)
    assert tried.each == dict.fromkeys(tried.balanced, 2)
    assert tried.unbalanced["h"] == "none of 300 random settings changes an answer"
    assert set(tried.balanced) | set(tried.unbalanced) == {
        name
        for name in bases("chapter", engine="dense", dtype=None, max_positions=40)("").model.variables
        if "^2" not in name
    }
    assert "\n  not set: h: none of 300 random settings changes an answer" in str(tried)
    unset = intervene_many("since-b", 4, balanced=True)
    assert [why for name, why in unset.unbalanced.items() if "seen by" in name] == [
        "it is what a head brings, before it is rounded: set '(Q[a] | Q[b]) since Q[b]'"
    ]


@pytest.mark.slow
def test_balanced_interventions_have_known_answers_unless_others_are_asked_for() -> None:
    found = subject("reverse")
    tried = intervene_many(found, 60, seed=1, balanced=True)
    assert (tried.unknown, tried.left_out, tried.number) == (0, 0, 60)
    assert tried.drawn > 60
    assert "were drawn to get them: of the others not all answers are known" in str(tried)
    kept = intervene_many(found, 60, seed=1, balanced=True, keep_unknown=True)
    assert (kept.drawn, kept.left_out) == (60, 0)
    assert kept.unknown > 0


def test_a_program_that_no_intervention_changes_is_refused() -> None:
    always = tm2tfr.Subject.of(tm2tfr.formula("Q[a] | !Q[a]", alphabet="a"))
    with pytest.raises(UsageError) as refused:
        intervene_many(always, 5, effective=True)
    assert str(refused.value) == (
        "Q[a] | !Q[a]: none of 300 random interventions changes an answer: omit effective, or use other inputs"
    )
    with pytest.raises(
        UsageError, match="no variable has 3 settings among 300 random ones, each of which changes an answer"
    ):
        intervene_many(always, 5, effective=True, balanced=True)


def test_a_program_whose_answers_are_all_unknown_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiled source has this property: the runs that interventions must come to are replaced."""
    why = {0: {0: "nothing says how y is known at 0"}}

    def unknown(drawn: Sequence[Drawn]) -> list[CausalRun]:
        return [replace(each.base.run, unanswered=why) for each in drawn]

    monkeypatch.setattr(draws, "expected_runs", unknown)
    with pytest.raises(UsageError) as refused:
        intervene_many(subject("reverse"), 5, effective=True)
    assert str(refused.value) == (
        "reverse: each of 300 random interventions has expected answers that are unknown, for example since nothing says "
        "how y is known at 0: use other inputs, or set variables by name"
    )


def test_the_first_draw_that_is_as_required_is_taken() -> None:
    base = bases(subject("full-adder"), engine="dense", dtype=None, max_positions=40)
    draws = Draws(["000", "011", "110"], base, 7, effective=True)
    for number, taken in enumerate(draws.taken(range(12))):
        for attempt in range(taken.draws):
            drawn = draws.draw(number, attempt)
            expected = drawn.base.expected([drawn.settings])[0]
            assert draws.as_required(drawn, expected) == (attempt == taken.draws - 1)
        assert taken.drawn.settings == drawn.settings
    plain = Draws(["000", "011", "110"], base, 7)
    assert [taken.draws for taken in plain.taken(range(5))] == [1] * 5


@pytest.mark.slow
def test_inputs_are_balanced_by_outcome(tmp_path: Path) -> None:
    tried = intervene_many("palindromes", 6, seed=1, balanced_outcomes=True, folder=tmp_path / "data", max_positions=60)
    assert tried.inputs == {"accept": 16, "reject": 16}
    inputs = json.loads((tmp_path / "data" / "manifest.json").read_text(encoding="utf-8"))["inputs"]
    assert inputs == {"listed": False, "seed": 1, "balanced_outcomes": True, "outcomes": {"accept": 16, "reject": 16}}
    assert "The runs are on 32 inputs: 16 accept, 16 reject." in (tmp_path / "data" / "README.md").read_text("utf-8")
    few = intervene_many("full-adder", 4, balanced_outcomes=True)  # of its eight inputs, one has the sum 0
    assert few.inputs == dict.fromkeys(("00", "01", "10", "11"), 1)
    with pytest.raises(InputError, match="binary-increment: all 511 random inputs that were drawn have the outcome halt"):
        intervene_many("binary-increment", 2, balanced_outcomes=True)
    with pytest.raises(UsageError, match="balanced_outcomes is about random inputs: omit it, or the inputs"):
        intervene_many("palindromes", 2, words=["a"], balanced_outcomes=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--effective", "--effective: this is about random interventions: add --random N, or omit it"),
        ("--variables --balanced", "--balanced: --variables sets nothing: omit it"),
        ("--random 3 --balanced-outcomes -i 1", "--balanced-outcomes is about random inputs: omit it, or --input"),
    ],
)
def test_options_that_do_not_apply_are_refused(line: str, message: str, tmp_path: Path) -> None:
    assert message in failed(2, command("intervene", "chapter", *line.split(), cwd=tmp_path))
