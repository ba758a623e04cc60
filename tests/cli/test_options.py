"""Counts and seeds as people write them, and options of soft attention."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tm2tfr as library
from tests.cli.lines import EVERY, said
from tests.cli.test_commands import tm2tfr, tm2tfr_here
from tm2tfr.cli import main
from tm2tfr.cli.options import whole_number
from tm2tfr.lab.softness import figure_1
from tm2tfr.transformer.storage import dumps, loads
from tm2tfr.transformer.weights import matrices


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("10000", 10_000),
        ("10_000", 10_000),
        ("1,000,000", 1_000_000),
        ("1e6", 10**6),
        ("1E+6", 10**6),
        ("1.5e3", 1500),
        ("2.50e1", 25),
        ("-3", -3),
        ("007", 7),
    ],
)
def test_how_people_write_counts(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", "1.5", "1,5", "1,00,000", "1_", "_1", "1.55e1", "1e-3", "e6", "0x10", "1 000", "٣", "--1"]
)
def test_what_is_not_a_count(text: str) -> None:
    assert whole_number(text) is None


def test_every_whole_number_of_the_command_line_is_a_count() -> None:
    parsers = [
        p.type_descriptor.parameter_info.parser
        for command in EVERY
        for p in command.params
        if p.type_descriptor.annotation is int
    ]
    assert len(parsers) >= 16
    assert {parser.__name__ for parser in parsers} == {"count"}


def test_no_value_is_read_by_typer_itself() -> None:
    """Pydantic would read it, which takes longer than a short run."""
    read = {
        str(p.type_descriptor.annotation) for c in EVERY for p in c.params if not p.type_descriptor.parameter_info.parser
    }
    assert read == {"<class 'str'>", "list[str]", "<class 'bool'>", "typing.Any"}


def test_a_run_of_1e2_steps(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "trace", "never-halts", "--input", "", "--quiet", "--max-steps", "1e2")
    assert (code, lines[:2]) == (
        0,
        ["never-halts on ''", "no verdict within the limit of --max-steps, 101 positions processed"],
    )


# ── seeds: one range and one message in every command that takes one ────────────────────────────────────────
LINES = (
    "check binary-adder --random 1",
    "check parity --random 1",
    "check reverse --random 1",
    "check since-b --random 1",
    "intervene running-parity --random 1",
    "labels parity --random 1 -o labels",
    "disguise parity -o hidden.safetensors --key key.json",
    "check parity --universal 8,4 -i 1",
)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("seed", ["123456789012345678901234567890", "-1", "x"])
def test_what_is_no_seed(line: str, seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *line.split(), "--seed", seed).endswith(
        f": --seed: '{seed}' is not a seed: use a whole number from 0 to 1e18"
    )


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_the_largest_seed_is_taken(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _ = tm2tfr_here(capsys, *line.split(), "--seed", "1e18")
    assert code == 0


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
