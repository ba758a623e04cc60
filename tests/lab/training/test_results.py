"""The page about what was learned says what the records of the runs say."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.recordings import recorded_text
from tm2tfr.cli import main

HERE = Path(__file__).parents[3] / "docs" / "learned"
RECORDS = sorted(str(path.relative_to(HERE).with_suffix("").as_posix()) for path in HERE.rglob("*.jsonl"))
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


def copy_records(folder: Path) -> None:
    for name in RECORDS:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.jsonl").write_text((HERE / f"{name}.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    for name in results().CHOSEN:
        (folder / name).write_text((HERE / name).read_text(encoding="utf-8"), encoding="utf-8")


def test_the_tables_are_those_of_the_records() -> None:
    text = (HERE / "index.md").read_text(encoding="utf-8")
    assert results().page(text) == text


def test_a_changed_record_changes_the_page(tmp_path: Path) -> None:
    made = results()
    copy_records(tmp_path)
    first, *others = made.records("table-1/to-8-bits")
    changed = {**first, "exact_match": 0.123}
    text = "".join(json.dumps(each) + "\n" for each in (changed, *others))
    (tmp_path / "table-1" / "to-8-bits.jsonl").write_text(text, encoding="utf-8")
    before, made.HERE = made.tables(), tmp_path
    after = made.tables()
    assert "0.123" in after["table-1"]
    assert {name for name in after if after[name] != before[name]} == {"table-1"}


def test_the_attention_in_the_page_is_that_of_the_records(tmp_path: Path) -> None:
    made = results()
    run = made.records("figure-2/sines")[0]
    first, *_ = kinds = run["attention"]["heads"][0]["kinds"]
    assert [kind["kind"] for kind in kinds] == ["d (XOR)", "f (AND)", "c (XOR)", "g (AND)", "e (XOR)"]
    table = made.by_kind({"one": [run], "none": []}).splitlines()
    assert table[0] == "| rows | compiled | one | none | untrained | uniform |"
    shares = [f"{first[name]:.2f}" for name in ("operands", "untrained_operands", "uniform_operands")]
    assert table[2] == f"| d (XOR) | 1.00 | {shares[0]} |  | {shares[1]} | {shares[2]} |"
    assert len(table) == 2 + 5 + 1


def test_the_grid_of_table_2_has_all_its_cells() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")
    from tm2tfr.lab.training.grid import load_grid

    runs = load_grid(HERE / "table-2.yaml").runs
    cells = [(run.task.bits, run.task.regime) for run in runs]
    assert cells == [(bits, regime) for bits in (8, 16, 32, 64, 128) for regime in ("weak", "medium", "strong")]
    for run in runs:
        assert (run.model.kind, run.model.pretrained, run.task.intermediates) == ("gpt2/", True, "carries")
        assert (run.task.examples, run.task.test_examples) == (10_000, 10_000)
        assert run.options.steps == 100 * (10_000 // run.options.batch)
    longest = max(4 * bits - 1 for bits, _ in cells)  # a, b, the carries and the sum, but for the last bit
    assert longest <= 1024, "positions of GPT-2"


@pytest.mark.slow
def test_the_commands_of_table_2_print_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The two commands of the page, with a small GPT-2, few bits and few steps."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install 'tm2tfr[hf]'")
    shape = {"n_layer": 1, "n_head": 1, "n_embd": 8, "n_positions": 40, "vocab_size": 5, "bos_token_id": 0}
    monkeypatch.chdir(tmp_path)
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**shape, eos_token_id=0)).save_pretrained("gpt2")
    text = (HERE / "table-2.yaml").read_text(encoding="utf-8")
    for line, shorter in (("bits: [8, 16, 32, 64, 128]", "bits: [2, 3]"), ("steps: 15600", "steps: 2")):
        assert line in text
        text = text.replace(line, shorter)
    Path("table-2.yaml").write_text(text.replace("device: cuda", "device: cpu"), encoding="utf-8")
    with pytest.raises(SystemExit) as end:
        main(["train", "--grid", "table-2.yaml", "-o", "table-2", "--workers", "1"])
    assert end.value.code == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["results.py", "table", "table-2"])
    runpy.run_path(str(HERE / "results.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| | n = 2 | n = 3 |"
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {words}" for words in results().REGIMES.values()]
    assert all(re.fullmatch(r"\| .*( \| [01]\.\d{3}){2} \|", line) for line in lines[2:])


def test_the_best_runs_are_on_the_page_and_in_the_figures(tmp_path: Path) -> None:
    """As they would be with the records of another grid, of 1,000 examples and 48 bits."""
    made = results()
    copy_records(tmp_path)
    run = made.records("table-1/16-bits")[0]
    other = {**run, "data": {**run["data"], "regime": "strong", "bits": 48, "examples": 1000}, "exact_match": 0.75}
    (tmp_path / "table-1" / "new.jsonl").write_text(json.dumps(other) + "\n", encoding="utf-8")
    made.HERE, made.FIGURE, made.FIGURES_3_AND_4 = tmp_path, tmp_path / "noise.svg", tmp_path / "figures-3-4.svg"
    table = made.tables()["best"]
    assert "n = 48 |" in table
    assert "**0.7500** (mean 0.7500, 1 run) |" in table
    assert "![Figures 3 and 4](figures-3-4.svg)" in table
    assert made.varied(made.of_table_1())


@pytest.mark.parametrize("name", RECORDS)
def test_every_run_of_a_grid_has_its_record(name: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")
    recorded_text(HERE / f"{name}.jsonl", f"train it, and run 'python docs/learned/results.py collect FOLDER {name}'")
    from tm2tfr.lab.training.grid import load_grid
    from tm2tfr.lab.training.record import model_options, plain

    made = [
        json.dumps([plain(model_options(run["model"])), run["options"], *map(run["data"].get, ("bits", "regime"))])
        + run["data"]["name"] * ("bits" not in run["data"])
        for run in results().records(name)
    ]
    asked = [
        json.dumps([plain(run.model), plain(run.options), run.task.bits, run.task.regime or "strong"])
        if run.task.adder
        else json.dumps([plain(run.model), plain(run.options), None, None]) + Path(str(run.task.spec)).stem
        for run in load_grid(HERE / f"{name}.yaml").runs
    ]
    assert sorted(made) == sorted(asked)
    assert all(run["ended"] != "interrupted" for run in results().records(name))
