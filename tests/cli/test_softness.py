"""``--attention softmax`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tm2tfr as library
from tests.cli.test_commands import tm2tfr
from tm2tfr.cli import main
from tm2tfr.lab.softness import figure_1
from tm2tfr.transformer.storage import dumps, loads
from tm2tfr.transformer.weights import matrices


def test_the_weight_file_keeps_the_weighting(tmp_path: Path) -> None:
    done = tm2tfr("compile", "chapter", "--attention", "softmax", "--length", "50", "-o", "s.safetensors", cwd=tmp_path)
    assert done.returncode == 0
    decoder = library.load_weights(tmp_path / "s.safetensors")
    assert decoder == library.soften("chapter", length=50)
    assert decoder.soft
    assert loads(dumps(decoder)) == decoder
    largest = matrices(decoder)["layers.4.heads.0.query"].values.max()
    assert largest == 2 / float(decoder.provenance["temperature"])
    done = tm2tfr("trace", "s.safetensors", "--input", "11", cwd=tmp_path)
    assert "engine: dense, float64, 9 positions; softmax at temperature 3.0517578125e-05" in done.stdout
    assert "check: 63 cells compared with the simulator, all agree" in done.stdout
    assert "soft attention has no certificate: see tm2tfr soften" in done.stderr
    refused = tm2tfr("certify", "s.safetensors", cwd=tmp_path)
    assert refused.returncode == 1
    assert "head 'cell h' is not future-masked average-hard attention: mask 'future', weighting 'softmax'" in refused.stdout


def test_the_temperature_is_for_the_length_of_each_run(tmp_path: Path) -> None:
    done = tm2tfr("check", "palindromes", "--attention", "softmax", "--format", "json", cwd=tmp_path)
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [run["agrees"] for run in runs] == [True] * len(runs)
    longest, shortest = max(runs, key=lambda r: r["tokens"]), min(runs, key=lambda r: r["tokens"])
    assert longest["temperature"] < shortest["temperature"]
    assert {run["attention"] for run in runs} == {"softmax"}
    assert {run["certified"] for run in runs} == {False}


def test_a_temperature_too_high_fails_the_check(tmp_path: Path) -> None:
    done = tm2tfr("check", "--input", "11", "--attention", "softmax", "--temperature", "2^-2", cwd=tmp_path)
    assert done.returncode == 1
    assert "soft attention: 0.279 of the weight went to other positions: use a lower temperature" in done.stdout
    assert tm2tfr("trace", "--attention", "softmax", "--temperature", "0.03", "-i", "11", cwd=tmp_path).returncode == 0


def test_activation_vectors_of_a_soft_run(tmp_path: Path) -> None:
    done = tm2tfr("trace", "--at", "6", "-i", "11", "--attention", "softmax", "--temperature", "0.03", cwd=tmp_path)
    assert (done.returncode, "activation vectors at position 6" in done.stdout) == (0, True)


def test_a_figure_is_measured_under_its_older_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figure_1, "CASES", figure_1.CASES[:1])
    printed = []
    for line in (["figure-1", "--length", "8"], ["soften", "--figure", "1", "--length", "8"]):
        with pytest.raises(SystemExit):
            main(line)
        printed.append(capsys.readouterr())
    assert printed[0].out == printed[1].out != ""
    assert (printed[0].err, printed[1].err) == ("warning: figure-1 is now called soften --figure 1\n", "")
