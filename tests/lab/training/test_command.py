"""The command ``train``: what it prints, what it refuses, and what Ctrl-C leaves."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.cli.lines import said
from tm2tfr.cli import main

SHORT = ["train", "binary-adder", "--bits", "2", "--width", "16", "--steps", "20", "--evaluate-every", "10"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "-o", "r"], "tm2tfr train: no data to train on: name a spec or a folder, for example binary-adder"),
        ([*SHORT, "-o", "r", "--workers", "2"], "tm2tfr train: --workers is for grids: omit it, or use --grid FILE"),
        ([*SHORT, "-o", "no/r"], "no/r: there is no folder "),
        ([*SHORT, "-o", "file"], "file: there is a file with that name: choose another name for the folder"),
        (
            [*SHORT, "-o", "r", "--grid", "g.yaml"],
            "tm2tfr train: --bits cannot be used with --grid: write it in the grid, as 'bits: …'",
        ),
        (
            [*SHORT, "-o", "r", "--lr", "fast"],
            "tm2tfr train: --lr: 'fast' is not a number: write for example 0.003 or 3e-3",
        ),
        ([*SHORT, "-o", "r", "--config", "[]"], "tm2tfr train: --config: '[]' is not a JSON object: write for example "),
    ],
)
def test_what_is_refused(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert said(capsys, *arguments).startswith(words)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_a_run_and_its_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")
    with pytest.raises(SystemExit) as end:
        main([*SHORT, "-o", str(tmp_path / "r")])
    printed = capsys.readouterr()
    assert (end.value.code, printed.err) == (0, f"wrote {tmp_path / 'r'}\n")
    lines = printed.out.splitlines()
    assert lines[:4] == [
        "binary-adder of 2 bits, strong: 12 training examples, 4 unseen ones",
        "mingpt, 1 layer, 1 head, width 16, sinusoidal positions: 3,616 parameters, 3,392 trained",
        "",
        "steps    loss  exact match  every scored token",
    ]
    assert [line.split()[0] for line in lines[4:6]] == ["10", "20"]
    assert lines[-4].startswith("Exact match ")
    assert lines[-3].startswith("Right tokens: ")
    assert lines[-2] == "Always the most frequent answer: 0.5000 (2 of them)."
    assert lines[-1].startswith("Ended after 20 steps, ")
    assert said(capsys, *SHORT, "-o", str(tmp_path / "r")).endswith("resume it with --resume, or choose another folder")
    with pytest.raises(SystemExit):
        main([*SHORT, "-o", str(tmp_path / "r"), "--resume", "--json"])
    assert capsys.readouterr().out == (tmp_path / "r" / "run.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_ctrl_c_leaves_a_run_that_can_be_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")
    record = tmp_path / "r" / "run.json"

    def press() -> None:
        """Send what Ctrl-C does, as soon as there is a record."""
        while not record.exists():
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    presses = threading.Thread(target=press, daemon=True)
    presses.start()
    with pytest.raises(SystemExit) as end:
        main([*SHORT, "--steps", "1e9", "--evaluate-every", "20", "-o", str(tmp_path / "r")])
    presses.join()
    steps = json.loads(record.read_text(encoding="utf-8"))["steps"]
    heard = capsys.readouterr().err.strip().splitlines()
    assert heard[-1] == f"interrupted after {steps:,} of 1,000,000,000 steps: resume it with --resume"
    assert end.value.code == 130
    assert sorted(each.name for each in (tmp_path / "r").iterdir()) == ["checkpoint.safetensors", "run.json"]


@pytest.mark.slow
def test_a_configuration_that_transformers_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'tm2tfr[hf]'")
    given = ["--model", "gpt2", "--config", '{"n_layer": "x"}', "-o", str(tmp_path / "r")]
    err = said(capsys, *SHORT, *given)
    assert err.startswith("transformers refuses this GPT-2 (")
    assert "n_layer" in err
    assert err.endswith("): change its configuration")
