"""Interventions take every form of a subject; on the command line and as data as well."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import tm2tfr
from tests.cli.test_commands import failed
from tests.cli.test_commands import tm2tfr as command
from tm2tfr.api.interventions import bases
from tm2tfr.base.errors import CompileError, EngineError, InputError, UsageError
from tm2tfr.lab.interventions.files import COLUMNS as COLUMNS_OF_DATA
from tm2tfr.lab.interventions.settings import read_settings
from tm2tfr.lab.labels.hooks import columns_in_weights
from tm2tfr.lab.labels.runs import LabelledRuns

SET = {("state", 5): "q1"}


def test_a_machine_is_given_in_any_form(tmp_path: Path) -> None:
    tm2tfr.save_weights("chapter", tmp_path / "chapter.safetensors")
    forms = ["chapter", tm2tfr.load("chapter"), tm2tfr.compile("chapter"), tmp_path / "chapter.safetensors"]
    found = [tm2tfr.intervene(form, "11", SET).as_dict() for form in (*forms, tm2tfr.Subject.of("chapter"))]
    assert all(each == found[0] for each in found)
    assert found[0]["set"] == [
        {"variable": "e_q", "position": 5, "value": "q1", "before": "q2", "source": None, "source_position": None}
    ]


def test_weights_without_a_source_and_other_engines_are_refused() -> None:
    alone = dataclasses.replace(tm2tfr.compile("chapter"), provenance={})
    with pytest.raises(CompileError, match="no machine is stored with these weights"):
        tm2tfr.intervene(alone, "11", SET)
    with pytest.raises(InputError, match="position 0: '0' is not in the input alphabet"):
        tm2tfr.intervene("chapter", "0110", {("q", 3): "q1"})
    with pytest.raises(EngineError, match="the engine 'fast' cannot be patched: use dense or exact"):
        tm2tfr.intervene("chapter", "11", SET, engine="fast")
    with pytest.raises(EngineError, match="max_positions must be a number of positions, not 0"):
        tm2tfr.intervene("chapter", "11", SET, max_positions=0)
    with pytest.raises(UsageError, match="0 interventions with the seed 0: use whole numbers"):
        tm2tfr.intervene_many("chapter", 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q5", "'q5' does not say what is to be set: write for example 'q@4=q0', or 'q@4 from 11@4'"),
        ("@5=q", "'@5=q' does"),
    ],
)
def test_what_does_not_say_what_is_set_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tm2tfr.intervene("chapter", "11", [text])
    with pytest.raises(UsageError, match="q@5 is set twice: set it once"):
        read_settings(["q@5=a", "q@5 = b"])


@pytest.mark.slow
def test_the_command_says_all_of_it_and_by_its_exit_code_whether_it_agrees(tmp_path: Path) -> None:
    done = command("intervene", "chapter", "--input", "11", "--set", "q@5=q1", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == f"{tm2tfr.intervene('chapter', '11', {('q', 5): 'q1'})}\n"
    said = json.loads(command("intervene", "chapter", "-i", "11", "--set", "q@5=q1", "--json", cwd=tmp_path).stdout)
    assert (said["agrees"], said["first"], said["why"]) == (True, 5, None)
    example = "--set 'turn@2=1', in Python {('turn', 2): '1'}"
    assert f"nothing is set: add for example {example}" in failed(2, command("intervene", "dyck-2", cwd=tmp_path))
    wrong = command("intervene", "chapter", "-i", "11", "--set", "z@5=q1", cwd=tmp_path)
    assert "z@5: chapter has no variable 'z'" in failed(2, wrong)
    assert "-o: this is about random interventions: add --random N" in failed(
        2, command("intervene", "-o", "x", cwd=tmp_path)
    )
    both = command("intervene", "--random", "2", "--set", "q@5=q1", cwd=tmp_path)
    assert "--random draws what is set" in failed(2, both)
    assert "--parquet: this is about a folder: add -o DIR" in failed(
        2, command("intervene", "--random", "2", "--parquet", cwd=tmp_path)
    )


def test_where_cells_are_not_compared_the_summary_does_not_speak_of_them() -> None:
    found = dataclasses.replace(tm2tfr.intervene("chapter", "11", SET), explained=("h at 3 comes together in no run",))
    assert str(found).splitlines()[-2:] == [
        "not compared: h at 3 comes together in no run",
        "the patched weights (dense) do what is expected in every cell that is compared",
    ]


def test_random_ones_are_written_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tm2tfr.lab.interventions import pairs

    monkeypatch.setattr(pairs, "SHARD", 4)
    tried = tm2tfr.intervene_many("chapter", 10, words=["1", "11"], folder=tmp_path / "whole")
    assert (tried.number, tried.agrees, tried.reused) == (10, True, 0)
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    shards = ["00000-of-00003.jsonl", "00001-of-00003.jsonl", "00002-of-00003.jsonl"]
    others = ["README.md", "hooks.json", "hooks.schema.json", "manifest.json", "vocabulary.json"]
    assert names == [*shards, *others]
    whole = {name: (tmp_path / "whole" / name).read_bytes() for name in names}
    assert "| `e_q` | the state | layer 1, feed-forward | " in whole["README.md"].decode()
    assert json.loads(whole["manifest.json"])["variables"]["e_q"]["layer"] == 1
    rows = [json.loads(line) for name in names[:3] for line in whole[name].decode().splitlines()]
    assert len(rows) == 10
    assert list(rows[0]) == list(COLUMNS_OF_DATA)
    (tmp_path / "whole" / names[1]).write_text("damaged")
    again = tm2tfr.intervene_many("chapter", 10, words=["1", "11"], folder=tmp_path / "whole", resume=True)
    assert (again.number, again.reused, again.causal) == (10, 6, tried.causal)


@pytest.mark.slow
def test_parquet_has_the_same_rows(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    tm2tfr.intervene_many("full-adder", 12, folder=tmp_path / "data", parquet=True)
    table = parquet.read_table(tmp_path / "data" / "00000-of-00001.parquet").to_pylist()
    lines = (tmp_path / "data" / "00000-of-00001.jsonl").read_text(encoding="utf-8").splitlines()
    assert table == [json.loads(line) for line in lines]


# ── Each variable has its names in weights, in the table and in labels, and all of them can be used.
COLUMNS = {
    "chapter": {"q": "e_q", "token": "e_x", "answer": "e_y", "h_before": "h_{i-1}", "b(j*)": "e_b(j*-1)"},
    "full-adder": {"bit": "x", "next": "y", "x_a": "x_a", "t011": "t011"},
    "running-parity": {"token": "token", "state": "state"},
    "ends-in-110": {"prev Q[1]": "prev Q[1]"},
}
"""What some columns of labels are called in weights."""


def test_a_variable_is_listed_with_all_its_names() -> None:
    found = tm2tfr.causal_variables("chapter")
    assert [(each.variable.name, each.columns, each.aliases) for each in found.variables][:4] == [
        ("e_x", ("token",), ("x",)),
        ("e_q", ("q",), ("state",)),
        ("e_b", ("b",), ("written",)),
        ("m", ("m",), ("move",)),
    ]
    lines = str(found).splitlines()
    assert lines[0] == "chapter: variables"
    assert lines[2].split() == ["variable", "in", "labels", "in", "tables", "values", "written", "by", "what", "it", "is"]
    assert lines[4].split() == [
        "e_q",
        "q",
        "state",
        "a",
        "label,",
        "or",
        "⊥",
        "layer",
        "1,",
        "feed-forward",
        "the",
        "state",
    ]
    assert lines[-1].startswith("i^2 cannot be set: it says where a position is")


def test_the_command_lists_them_and_nothing_else(tmp_path: Path) -> None:
    done = command("intervene", "full-adder", "--variables", "--json", cwd=tmp_path)
    said = {each["name"]: each for each in json.loads(done.stdout)["variables"]}
    assert (said["y"]["columns"], said["y"]["since"]) == (["next"], {"layer": 1, "part": "feed_forward"})
    assert (said["x_a"]["values"], said["a"]["values"]) == ("a whole number from 0 to 1", "a whole number from 0 on")
    both = command("intervene", "--variables", "--set", "q@5=q1", cwd=tmp_path)
    assert "--set: --variables sets nothing: omit it" in failed(2, both)


@pytest.mark.slow
@pytest.mark.parametrize("subject", COLUMNS)
def test_every_column_of_labels_is_taken_or_answered(subject: str) -> None:
    program, decoder = tm2tfr.load(subject), tm2tfr.compile(subject)
    base = bases(decoder, engine="dense", dtype=None, max_positions=20)(None)
    columns = columns_in_weights(LabelledRuns(decoder, program, "dense", 0).scheme)
    unset = [name for name, variable in base.model.variables.items() if variable.unset]
    taken = {}
    for column, places in columns.items():
        said = ""
        try:
            taken[column] = base.variable(column, column).name
        except UsageError as error:
            said = str(error)
        named = column in base.model.aliases or column in base.model.opposites
        fixed = not named if isinstance(places, str) else base.of_subspace(places[0]) in {*base.model.fixed, *unset}
        assert said.startswith(f"{column}: {column} cannot be set: ") == fixed
        assert (column in taken) == (not fixed)
    assert {**taken, **COLUMNS[subject]} == taken


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["sort", "since-b", "hop-1", "full-adder", "chapter"])
def test_what_is_advised_is_a_variable_of_this_source_that_can_be_set(subject: str) -> None:
    with pytest.raises(UsageError) as error:
        tm2tfr.intervene(subject, None, ["nothing"])
    written, from_another = str(error.value).partition("write for example '")[2].split("', or '")
    assert tm2tfr.intervene(subject, None, [written]).settings
    assert tm2tfr.intervene(subject, None, [from_another.partition("' for the value")[0]]).settings
    with pytest.raises(UsageError) as again:
        tm2tfr.intervene(subject, None, {})
    assert written in str(again.value)


def test_progress_counts_each_intervention_while_a_shard_is_made() -> None:
    seen: list[tuple[int, int, int]] = []
    tm2tfr.intervene_many("chapter", 7, progress=lambda *now: seen.append(now))
    assert seen == [*((0, 1, n) for n in range(1, 8)), (1, 1, 7)]
