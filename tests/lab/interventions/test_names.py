"""Each variable has its names in weights, in the table and in labels, and all of them can be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tm2tfr
from tests.cli.test_commands import failed
from tests.cli.test_commands import tm2tfr as command
from tm2tfr.api.interventions import bases
from tm2tfr.base.errors import UsageError
from tm2tfr.lab.labels.hooks import columns_in_weights
from tm2tfr.lab.labels.runs import LabelledRuns

COLUMNS = {
    "chapter": {"q": "e_q", "token": "e_x", "answer": "e_y", "h_before": "h_{i-1}", "b(j*)": "e_b(j*-1)"},
    "full-adder": {"bit": "x", "next": "y", "x_a": "x_a", "t011": "t011"},
    "running-parity": {"token": "token", "state": "value s333"},
    "ends-in-110": {"prev Q[1]": "is s4"},
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
    assert (said["y"]["columns"], said["y"]["since"]) == (["next"], {"layer": 0, "part": "feed_forward"})
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
        fixed = isinstance(places, str) or base.of_subspace(places[0]) in {*base.model.fixed, *unset}
        assert said.startswith(f"{column}: {column} cannot be set: ") == fixed
        assert (column in taken) == (not fixed)
    assert {**taken, **COLUMNS[subject]} == taken
