"""The page about what was learned says what the records of the runs say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from tests.recordings import recorded_text

HERE = Path(__file__).parents[3] / "docs" / "learned"
pytestmark = pytest.mark.skipif(
    not HERE.exists(), reason="the documentation is not here: run the tests in a copy of the source"
)


def results() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results", HERE / "results.py")
    if spec is None or spec.loader is None:
        raise ImportError(HERE)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_tables_are_those_of_the_records() -> None:
    text = (HERE / "index.md").read_text(encoding="utf-8")
    assert results().page(text) == text


def test_a_changed_record_changes_the_page(tmp_path: Path) -> None:
    made = results()
    for name in made.GRIDS:
        lines = (HERE / f"{name}.jsonl").read_text(encoding="utf-8")
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    first, *others = made.records("table-1")
    changed = {**first, "exact_match": 0.123}
    text = "".join(json.dumps(each) + "\n" for each in (changed, *others))
    (tmp_path / "table-1.jsonl").write_text(text, encoding="utf-8")
    before, made.HERE = made.tables(), tmp_path
    after = made.tables()
    assert "0.123" in after["table-1"]
    assert {name for name in after if after[name] != before[name]} == {"table-1"}


@pytest.mark.parametrize("name", ["table-1", "table-1-16", "longer", "control", "weak-16", "section-6", "noise"])
def test_every_run_of_a_grid_has_its_record(name: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")
    recorded_text(HERE / f"{name}.jsonl", f"train it, and run 'python docs/learned/results.py collect FOLDER {name}'")
    from tm2tfr.lab.training.grid import load_grid
    from tm2tfr.lab.training.record import model_options, plain

    made = [
        json.dumps([plain(model_options(run["model"])), run["options"], run["data"]["bits"], run["data"]["regime"]])
        for run in results().records(name)
    ]
    asked = [
        json.dumps([plain(run.model), plain(run.options), run.task.bits, run.task.regime or "strong"])
        for run in load_grid(HERE / f"{name}.yaml").runs
    ]
    assert sorted(made) == sorted(asked)
    assert all(run["ended"] != "interrupted" for run in results().records(name))
