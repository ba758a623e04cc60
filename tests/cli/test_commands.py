"""The commands as a user meets them: what they print, what they write, how they exit."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tm2tfr.cli import main
from tm2tfr.transformer.storage import load as load_weights
from tm2tfr.transformer.storage import save
from tm2tfr.transformer.weights import matrices, replaced

ROOT = Path(__file__).parents[2]


class _Stream(io.TextIOWrapper):
    """A standard stream that goes nowhere else, as a pipe has it."""

    def __init__(self, text: str = "") -> None:
        super().__init__(io.BytesIO(text.encode()), encoding="utf-8")

    def said(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode().replace("\r\n", "\n")  # type: ignore[attr-defined,no-any-return]


def tm2tfr(*arguments: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, which is quicker, with streams and a working directory of its own."""
    given, out, err = _Stream(stdin), _Stream(), _Stream()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.chdir(cwd)
        for name, stream in (("stdin", given), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as end:
            main(arguments)
    code = end.value.code
    assert isinstance(code, int)
    return subprocess.CompletedProcess(arguments, code, out.said(), err.said())


def tm2tfr_alone(*arguments: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "tm2tfr", *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", input=stdin, check=False)


def tm2tfr_here(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    """Run the command line in this process, where what it imports may be imported already; its exit code and lines."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return int(end.value.code or 0), printed.out.splitlines()


def failed(code: int, done: subprocess.CompletedProcess[str]) -> str:
    """Return what a failed command said, after checking that it said it properly."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    return done.stderr


@pytest.mark.slow
def test_the_chapters_table_is_the_published_one(tmp_path: Path) -> None:
    done = tm2tfr_alone("table", "--input", "11", "--format", "csv", cwd=tmp_path)
    assert done.stdout == (ROOT / "traces" / "chapter.csv").read_text(encoding="utf-8")
    assert done.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "dense", "exact", "fast"])
def test_activation_vectors(engine: str, tmp_path: Path) -> None:
    done = tm2tfr("trace", "--input", "11", "--at", "6", "--engine", engine, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *_, last = done.stdout.splitlines()
    assert last.split() == ["A(5)", "e_a", "=", "x"]


def test_check_prints_one_object_a_run(tmp_path: Path) -> None:
    done = tm2tfr("check", "chapter", "--input", "11", "--input", "111", "--format", "json", cwd=tmp_path)
    first, second = map(json.loads, done.stdout.splitlines())
    assert first == {
        "machine": "chapter",
        "input": "11",
        "outcome": "accept",
        "steps": 6,
        "tokens": 9,
        "T": 6,
        "agrees": True,
        "compared": 63,
        "final_tape": "_x",
        "ones": 1,
        "engine": "dense",
        "dtype": "float64",
        "certified": True,
    }
    assert (second["outcome"], second["agrees"]) == ("reject", True)


@pytest.mark.slow
def test_a_run_beyond_its_certificate_is_said_to_be(tmp_path: Path) -> None:
    asked = ("check", "busy-beaver-5", "--input", "", "--engine", "dense", "--dtype", "float32", "--max-steps", "2000")
    done = tm2tfr(*asked, "--format", "json", cwd=tmp_path)
    assert done.returncode == 0
    assert (json.loads(done.stdout)["agrees"], json.loads(done.stdout)["certified"]) == (True, False)
    assert done.stderr.startswith("warning: this run agrees, but nothing proves that all such runs do: dense in float32")
    assert tm2tfr(*asked[:4], "--max-steps", "1000", cwd=tmp_path).stderr == ""


def test_changed_weights_are_called_unproved_unless_a_run_fails(tmp_path: Path) -> None:
    asked = ("check", "chapter", "--set", "layers.4.heads.0.query[h,0]=-2", "--max-steps", "60", "--input", "")
    done = tm2tfr(*asked, "--input", "1", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("warning: this run agrees")) == (0, 1)
    remedy = "see tm2tfr certify changed.safetensors, after tm2tfr compile chapter --set … -o changed.safetensors"
    assert done.stderr.endswith(f"these weights cannot be certified: {remedy}\n")
    failed = tm2tfr(*asked, "--input", "11", cwd=tmp_path)
    assert (failed.returncode, failed.stderr) == (1, "")


def test_a_failed_run_that_holds_no_rows_says_where_it_stopped(tmp_path: Path) -> None:
    done = tm2tfr(
        "trace", "left-edge", "--input", "11", "--left-boundary", "chapter", "--quiet", "--engine", "fast", cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == ["left-edge on '11'", "stopped at position 5, the first that differs"]


def test_a_machine_without_examples_has_none_to_fail(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(
        "blank: _\nstart state: A\ninput: 1\ntable:\n  A:\n    1: {write: 1, R}\n", encoding="utf-8"
    )
    done = tm2tfr("check", "r.yaml", cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "ok    '1'            halt    1 step, 4 tokens, 28 cells agree",
        "r: 1 run, 28 cells compared, all agree",
    ]
    assert done.returncode == 0
    assert "example" not in json.loads(tm2tfr("check", "r.yaml", "--format", "json", cwd=tmp_path).stdout)


def test_an_example_that_is_wrong_or_cut_off_fails(tmp_path: Path) -> None:
    text = (ROOT / "machines" / "parity.yaml").read_text(encoding="utf-8")
    wrong = text.replace("outcome: accept", "outcome: reject", 1)
    done = tm2tfr("check", "-", cwd=tmp_path, stdin=wrong)
    assert (done.returncode, "the example says outcome 'reject', the simulator 'accept'" in done.stdout) == (1, True)
    done = tm2tfr("check", "chapter", "--max-steps", "3", cwd=tmp_path)
    assert done.returncode == 1
    assert "the example says accept, but the run was cut off after 3 steps: raise --max-steps" in done.stdout


def test_a_machine_after_explain_is_no_layer(tmp_path: Path) -> None:
    done = tm2tfr("compile", "--explain", "1RB1LB_1LA1RZ", cwd=tmp_path)
    assert (done.returncode, "layer 6: transition" in done.stdout) == (0, True), done.stderr


def test_a_limit_is_not_a_rejection(tmp_path: Path) -> None:
    done = tm2tfr("check", "never-halts", "--input", "", "--max-steps", "50", "--format", "json", cwd=tmp_path)
    run = json.loads(done.stdout)
    assert (run["outcome"], run["steps"], run["tokens"], run["T"], run["agrees"]) == ("limit", 50, 51, None, True)
    assert done.returncode == 0


def test_weights_run_without_the_machine_file(tmp_path: Path) -> None:
    assert tm2tfr("compile", "power-of-two", "-o", "p.safetensors", cwd=tmp_path).returncode == 0
    done = tm2tfr("trace", "p.safetensors", "--input", "11", cwd=tmp_path)
    assert "check: 70 cells compared with the simulator, all agree" in done.stdout
    assert tm2tfr("check", "p.safetensors", cwd=tmp_path).returncode == 0


def test_sabotaged_weights_fail_the_check_and_name_the_layer(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    tm2tfr("compile", "chapter", "-o", str(path), cwd=tmp_path)
    decoder = load_weights(path)
    query = matrices(decoder)["layers.4.heads.0.query"]
    row, column, value = next(iter(query.entries()))
    save(replaced(decoder, {"layers.4.heads.0.query": query.with_entry(row, column, -value)}), path)
    done = tm2tfr("trace", str(path), "--input", "1111", "--max-steps", "60", cwd=tmp_path)
    assert done.returncode == 1
    assert "cause: layer 4 (read tape), attention" in done.stdout
    assert "head 'latest write' attended to position" in done.stdout
    assert "its query or key weights are wrong" in done.stdout
    assert failed(1, tm2tfr("check", str(path), "--input", "1111", cwd=tmp_path)) == ""


def test_exercise_8_3(tmp_path: Path) -> None:
    done = tm2tfr("check", "left-edge", "--left-boundary", "chapter", "--input", "11", cwd=tmp_path)
    assert done.returncode == 1
    assert "Exercise 8.3: token 4" in done.stdout


@pytest.mark.slow
def test_float32_past_its_precision_says_rounding(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("blank: _\nstart state: A\ntable:\n  A:\n    _: {write: 1, R}\n", encoding="utf-8")
    done = tm2tfr("check", "r.yaml", "--input", "", "--dtype", "float32", "--max-steps", "3000", cwd=tmp_path)
    assert done.returncode == 1
    assert "rounding: the true scores differ by" in done.stdout
    assert tm2tfr("check", "r.yaml", "--input", "", "--max-steps", "3000", cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_a_machine_from_standard_input(tmp_path: Path) -> None:
    text = (ROOT / "machines" / "parity.yaml").read_text(encoding="utf-8")
    done = tm2tfr_alone("check", "-", cwd=tmp_path, stdin=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].endswith("all agree")


def test_a_program_from_standard_input(tmp_path: Path) -> None:
    (tmp_path / "helper.rasp").write_text("next = indices + 1;\n", encoding="utf-8")
    done = tm2tfr("trace", "-", "--input", "ab", cwd=tmp_path, stdin='# alphabet: ab\nload "helper";\ny = next * 2;\n')
    assert (done.returncode, done.stderr) == (0, "")
    assert "y = 24" in done.stdout.splitlines()
    wrong = failed(2, tm2tfr("trace", "-", cwd=tmp_path, stdin="x = agregate(tokens);\n"))
    assert wrong.startswith("<stdin>:1:5: there is no variable 'agregate'")


def test_graph_prints_dot_and_machines_lists_them(tmp_path: Path) -> None:
    assert tm2tfr("graph", cwd=tmp_path).stdout.startswith("digraph")
    listed = tm2tfr("list", "machines", "--format", "json", cwd=tmp_path).stdout.splitlines()
    assert "chapter" in [json.loads(line)["name"] for line in listed]


@pytest.mark.slow
def test_convert_there_and_back(tmp_path: Path) -> None:
    assert tm2tfr("convert", "palindromes", "-o", "p.tm", cwd=tmp_path).stderr.splitlines() == [
        "note: states are renamed: 'accept' to 'halt-accept', 'reject' to 'halt-reject', 'first' to '0'",
        "wrote p.tm",
    ]
    assert tm2tfr("convert", "p.tm", "-o", "p.jff", cwd=tmp_path).stderr == "wrote p.jff\n"
    done = tm2tfr("check", "p.jff", "--input", "abba", "--input", "ab", cwd=tmp_path)
    assert [line.split()[2] for line in done.stdout.splitlines()[:2]] == ["accept", "reject"]
    assert done.returncode == 0
    text = (tmp_path / "p.jff").read_text(encoding="utf-8")
    assert "start state: 0\n" in tm2tfr("convert", "-", "--from", "jflap", cwd=tmp_path, stdin=text).stdout


def test_bbchallenge_text_is_a_machine(tmp_path: Path) -> None:
    done = tm2tfr("trace", "1RB1LB_1LA1RZ", cwd=tmp_path)
    assert "simulator: halt after 6 steps, 4 cells visited, final tape '1111'" in done.stdout
    assert tm2tfr("convert", "1RB1LB_1LA1RZ", "--to", "bbchallenge", cwd=tmp_path).stdout == "1RB1LB_1LA1RZ\n"


def test_weights_of_an_imported_machine_know_it(tmp_path: Path) -> None:
    assert tm2tfr("compile", "1RB1LB_1LA1RZ", "-o", "w.safetensors", cwd=tmp_path).returncode == 0
    assert "all agree" in tm2tfr("trace", "w.safetensors", cwd=tmp_path).stdout
    assert tm2tfr("convert", "w.safetensors", "--to", "bbchallenge", cwd=tmp_path).stdout == "1RB1LB_1LA1RZ\n"


def test_long_runs_are_elided_unless_all_is_asked_for(tmp_path: Path) -> None:
    short = tm2tfr("trace", "busy-beaver-4", cwd=tmp_path).stdout
    whole = tm2tfr("trace", "busy-beaver-4", "--all", cwd=tmp_path).stdout
    assert "⋮ (" in short
    assert "⋮" not in whole
    assert len(whole.splitlines()) > 109 > len(short.splitlines())


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = f"set -o pipefail; '{sys.executable}' -m tm2tfr table busy-beaver-2x4 --max-steps 3000 | head -1"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
