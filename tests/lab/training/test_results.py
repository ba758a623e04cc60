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
    for path in HERE.glob("*.jsonl"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    first, *others = made.records("table-1")
    changed = {**first, "exact_match": 0.123}
    text = "".join(json.dumps(each) + "\n" for each in (changed, *others))
    (tmp_path / "table-1.jsonl").write_text(text, encoding="utf-8")
    before, made.HERE = made.tables(), tmp_path
    after = made.tables()
    assert "0.123" in after["table-1"]
    assert {name for name in after if after[name] != before[name]} == {"table-1"}


def test_the_best_runs_are_on_the_page_and_in_the_figures(tmp_path: Path) -> None:
    """As they would be with the records of another grid, of 1,000 examples and 24 bits."""
    made = results()
    for path in HERE.glob("*.jsonl"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    run = made.records("table-1-16")[0]
    other = {**run, "data": {**run["data"], "regime": "strong", "bits": 24, "examples": 1000}, "exact_match": 0.75}
    (tmp_path / "table-1-new.jsonl").write_text(json.dumps(other) + "\n", encoding="utf-8")
    made.HERE, made.FIGURE, made.FIGURES_3_AND_4 = tmp_path, tmp_path / "noise.svg", tmp_path / "figures-3-4.svg"
    table = made.tables()["best"]
    assert "n = 24 |" in table
    assert "**0.7500** (mean 0.7500, 1 run) |" in table
    assert "![Figures 3 and 4](figures-3-4.svg)" in table
    assert made.varied(made.of_table_1())


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*.jsonl")))
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
