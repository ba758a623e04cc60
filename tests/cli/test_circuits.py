"""The commands with circuits: what they print, what they refuse and why, and their exit codes."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

import tm2tfr
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.api.subject import Subject
from tm2tfr.transformer.weights import matrices, replaced


# ── check ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_circuit_without_examples_is_checked_on_all_inputs_or_on_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert tm2tfr_here(capsys, "check", "full-adder") == (
        0,
        ["no examples: all 8 inputs", "full-adder: 8 runs, 16 bits compared, all agree"],
    )
    assert tm2tfr_here(capsys, "check", "parity", "--bits", "10")[1][0] == "no examples: all 1,024 inputs"
    assert tm2tfr_here(capsys, "check", "parity", "--bits", "11") == (
        0,
        [
            "no examples: 100 random inputs of 2^11, seed 0 (more with --random)",
            "parity: 100 runs, 500 bits compared, all agree",
        ],
    )
    code, (line,) = tm2tfr_here(capsys, "check", "parity", "--bits", "11", "--format", "json")
    found = json.loads(line)
    assert (code, found["runs"], found["inputs"], found["seed"], found["agrees"]) == (0, 100, "random", 0, True)
    code, (line,) = tm2tfr_here(capsys, "check", "full-adder", "--format", "json")
    assert (json.loads(line)["inputs"], "seed" in json.loads(line)) == ("all", False)


def test_many_runs_are_written_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, rows = tmp_path / "runs.csv", tmp_path / "runs.jsonl"
    assert tm2tfr_here(capsys, "check", "half-adder", "--all", "-o", str(runs))[0] == 0
    assert runs.read_text(encoding="utf-8").splitlines() == [
        "input,outputs,result,agrees",
        '00,00,"sum = 0, carry = 0",true',
        '01,10,"sum = 1, carry = 0",true',
        '10,10,"sum = 1, carry = 0",true',
        '11,01,"sum = 0, carry = 1",true',
    ]
    assert tm2tfr_here(capsys, "check", "half-adder", "--random", "3", "-o", str(rows))[0] == 0
    (first, *others) = map(json.loads, rows.read_text(encoding="utf-8").splitlines())
    assert (len(others), list(first)) == (2, ["input", "outputs", "result", "agrees"])


def test_the_run_that_differs_is_the_last_one_that_is_written(tmp_path: Path) -> None:
    decoder = tm2tfr.compile("half-adder")
    other = tm2tfr.Circuit(
        name="other",
        inputs=("a", "b"),
        gates=(tm2tfr.Gate("sum", "0110", ("a", "b")), tm2tfr.Gate("carry", "0011", ("a", "b"))),
        outputs=(("sum", "sum"), ("carry", "carry")),
    )
    subject = Subject.of(other)
    found = tm2tfr.check_many(replace(subject, weights=decoder), out=tmp_path / "x.csv")
    assert (found.runs, found.agrees) == (3, False)
    assert [line[-5:] for line in (tmp_path / "x.csv").read_text(encoding="utf-8").splitlines()[1:]] == [
        ",true",
        ",true",
        "false",
    ]


def test_many_inputs_are_checked_in_one_batch_and_reported_as_one_by_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba", reason="the fast engine needs Numba: pip install 'tm2tfr[fast]'")
    words = [part for number in range(20) for part in ("--input", f"{number % 16}+{number % 5}")]
    command = ("check", "binary-adder", "--bits", "4", *words)
    batched = tm2tfr_here(capsys, *command)
    as_json = [json.loads(line) for line in tm2tfr_here(capsys, *command, "--format", "json")[1]]
    monkeypatch.setattr("tm2tfr.api.checking.together", lambda *_: None)
    assert tm2tfr_here(capsys, *command) == batched
    single = [json.loads(line) for line in tm2tfr_here(capsys, *command, "--format", "json")[1]]
    assert [found.pop("engine") for found in as_json] == ["fast"] * 20
    assert [found | {"engine": ""} for found in as_json] == [found | {"engine": ""} for found in single]
    assert (batched[0], len(batched[1])) == (0, 21)


@pytest.mark.slow
def test_sha256_of_bytes_is_hashlibs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messages = [b"", b"0x61", b"\0\n" + bytes(range(200, 253))]
    words = []
    for number, message in enumerate(messages):
        (tmp_path / str(number)).write_bytes(message)
        words += ["--file", str(tmp_path / str(number))]
    code, lines = tm2tfr_here(capsys, "check", "sha256", *words)
    assert code == 0
    assert [line.split(" cells) ")[1].split()[0] for line in lines[:-1]] == [sha256(m).hexdigest() for m in messages]


EXAMPLES = """\
name: pair
inputs: [a, b]
gates: {both: AND a b, one: OR a b}
outputs: [both, one]
examples:
  - {input: 11, outputs: 11}
  - {input: 10, outputs: {both: 0}}
"""


def test_the_examples_of_a_circuit_are_checked_and_one_that_is_not_met_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pair.yaml").write_text(EXAMPLES, encoding="utf-8")
    code, lines = tm2tfr_here(capsys, "check", "pair.yaml")
    assert (code, lines[-1]) == (0, "pair: 2 runs, 52 cells compared, all agree")
    Path("pair.yaml").write_text(EXAMPLES.replace("{both: 0}", "{both: 1}"), encoding="utf-8")
    code, lines = tm2tfr_here(capsys, "check", "pair.yaml")
    assert (code, lines[-2:]) == (
        1,
        ["      the example says both = 1, the evaluator 0", "pair: 2 runs, 52 cells compared, 1 run FAILED"],
    )
    code, lines = tm2tfr_here(capsys, "check", "pair.yaml", "--format", "json")
    assert (code, [json.loads(line)["example"]["met"] for line in lines]) == (1, [True, False])
    assert "certified" not in json.loads(lines[0])  # nothing was proved: see certify


def test_random_inputs_go_by_their_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """A seed is that of the inputs, and of a circuit which takes one: it is never ignored."""
    code, lines = tm2tfr_here(capsys, "check", "full-adder", "--random", "5", "--seed", "2", "--format", "json")
    assert (code, json.loads(lines[0])["seed"], json.loads(lines[0])["runs"]) == (0, 2, 5)
    assert tm2tfr_here(capsys, "check", "random", "--random", "2", "--seed", "7")[0] == 0


@pytest.mark.parametrize(
    ("variant", "path", "words"),
    [
        ("lookup", "layers.1.heads.1.query", ["head 'operand b' attended to positions", "query or key weights are wrong"]),
        ("lookup", "layers.1.feed_forward.output", ["the feed-forward weights of this layer are wrong"]),
        ("lookup", "unembedding", ["the residual stream is right after every layer: the unembedding weights are wrong"]),
        (
            "paper-hard",
            "layers.1.heads.0.query",
            ["head 'operands' attended to position", "its query or key weights"],
        ),
        (
            "paper",
            "layers.1.attention_norm.gain",
            ["its value or output weights are wrong, or the layer norm that they read"],
        ),
        (
            "paper",
            "layers.1.feed_forward_norm.gain",
            ["the feed-forward weights of this layer are wrong, or the layer norm"],
        ),
        ("paper", "norm.gain", ["the unembedding weights are wrong, or the layer norm that they read"]),
    ],
)
def test_sabotaged_weights_of_a_circuit_fail_and_the_cause_names_the_gate(
    variant: str, path: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decoder = tm2tfr.compile("full-adder", variant=variant)
    matrix, file = matrices(decoder)[path], tmp_path / "w.safetensors"
    changed = matrix
    for row, column, value in list(matrix.entries())[-20:]:
        changed = changed.with_entry(row, column, -value)
    tm2tfr.save_weights(replaced(decoder, {path: changed}), file)
    code, lines = tm2tfr_here(capsys, "check", str(file))
    text = " ".join(lines)
    assert (code, "the last run FAILED" in text) == (1, True)
    for word in words:
        assert word in text
    assert re.search(r"position \d answers net \w+: [A-Z]+\(\w+, \w+", text)
    bits = next(line.split()[1].rstrip(":") for line in lines if line.startswith("FAIL"))
    assert tm2tfr_here(capsys, "trace", str(file), "--input", bits)[0] == 1
    assert tm2tfr_here(capsys, "check", str(file), "--input", bits)[0] == 1


# ── tables: nothing is said of a cell of which nothing is known ─────────────────────────────────────────────
@pytest.mark.parametrize("variant", ["lookup", "paper-hard", "paper"])
@pytest.mark.parametrize("format", ["text", "markdown", "latex", "csv", "json", "jsonl", "html"])
def test_no_table_shows_what_the_reference_does_not_say(
    variant: str, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ("table", "full-adder", "--input", "110", "--variant", variant, "--format", format)
    code, lines = tm2tfr_here(capsys, *line)
    assert code == 0
    assert "ANY" not in "\n".join(lines)
    if format == "json":
        found = json.loads("\n".join(lines))
        columns = {"lookup": 10, "paper-hard": 4, "paper": 4}[variant]
        unsaid = 2 * {"lookup": 1, "paper-hard": 2, "paper": 2}[variant]  # at the two positions before the last input
        assert found["compared"] == found["tokens"] * (columns - 1) - unsaid
    if format == "csv":
        rows = list(csv.DictReader(lines))
        assert [row["x"] for row in rows[:3]] == ["1", "1", "0"]
        assert rows[-1]["y"] == "1"


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_the_rows_of_a_circuit_are_recorded(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _ = tm2tfr_here(capsys, "trace", "full-adder", "--input", "110", "-o", f"run.{ending}")
    text = Path(f"run.{ending}").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines())) if ending == "csv" else [*map(json.loads, text.splitlines())]
    assert (code, [str(row["y"]) for row in rows[2:]]) == (0, ["0", "1"])
    assert [row["gate"] for row in rows[2:]] == ["XOR", "MAJ"]


def test_the_rows_of_a_circuit_are_recorded_as_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="no pyarrow here: pip install 'tm2tfr[parquet]'")
    monkeypatch.chdir(tmp_path)
    assert tm2tfr_here(capsys, "trace", "full-adder", "--input", "110", "-o", "run.parquet")[0] == 0
    assert parquet.read_table("run.parquet").column("gate").to_pylist()[2:] == ["XOR", "MAJ"]


# ── vectors, softmax, lists ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("variant", "words"), [("lookup", "x_a = 1.0, x_b = 1.0"), ("paper-hard", "mean = 1.0, one = -0.5, zero = 0.5")]
)
def test_the_vectors_of_a_circuit_at_a_position(variant: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "trace", "full-adder", "-i", "110", "-q", "--at", "2", "--variant", variant)
    at = lines.index("activation vectors at position 2")
    assert code == 0
    assert lines[at + 2].startswith(f"  1 gate    {words}")


def test_a_circuit_under_softmax(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "trace", "full-adder", "-i", "110", "-q", "--attention", "softmax")
    assert (code, lines[2]) == (0, "engine: dense, float64, 4 positions; softmax at temperature 0.015625")
    code, lines = tm2tfr_here(capsys, "trace", "full-adder", "-i", "110", "-q", "--variant", "paper")
    assert (code, lines[2]) == (0, "engine: dense, float64, 7 positions; softmax")  # its weights have no temperature


@pytest.mark.slow
def test_the_lists(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "list", "circuits", "--format", "json")
    found = {each["name"]: each for each in map(json.loads, lines)}
    assert (code, found["binary-adder"]["parameters"]) == (0, {"bits": 8, "order": "paper-2"})
    assert {each["kind"] for each in found.values()} == {"circuit"}
    both = [json.loads(line)["name"] for line in tm2tfr_here(capsys, "list", "--format", "json")[1]]
    assert {"chapter", "full-adder", "sha256"} <= set(both)
    assert not any(line.startswith("full-adder") for line in tm2tfr_here(capsys, "list", "machines")[1])
    code, lines = tm2tfr_here(capsys, "list", "full-adder")
    assert lines[0] == "Circuit full-adder: 3 inputs, 2 gates, 2 outputs"
    assert tm2tfr_here(capsys, *lines[-3].split()[1:])[0] == 0
    code, (line,) = tm2tfr_here(capsys, "list", "full-adder", "--format", "json")
    assert json.loads(line)["kinds"] == {"XOR3": 1, "MAJ": 1}
