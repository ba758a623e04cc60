"""``check`` with many inputs of a machine: what is said is the same in batches and one by one."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import tm2tfr
from tests.cli.test_commands import ROOT, tm2tfr_here
from tests.runs.test_sabotage import sabotages
from tm2tfr.api import checking
from tm2tfr.base.errors import UsageError
from tm2tfr.base.native import folder
from tm2tfr.runs.batches import checked
from tm2tfr.runs.batches.checked import checked_inputs
from tm2tfr.runs.plan import RunOptions
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.storage import save
from tm2tfr.transformer.weights import matrices, replaced

pytest.importorskip("numba", reason="the fast engine needs Numba: pip install 'tm2tfr[fast]'")
OF = "all 31 inputs of up to 4 symbols from a, b"
ALL = f"ok    {OF} (13 accept, 18 reject): 2,632 cells compared with the simulator, all agree"
ACCEPTED = "      accepted: ε, a, b, aa, bb, aaa, aba, bab, bbb, aaaa, abba, baab, bbbb"


@pytest.mark.slow
def test_a_head_that_is_scanned_is_named_as_in_single_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    decoder, path = tm2tfr.compile("palindromes"), "layers.4.heads.0.key"
    matrix = matrices(decoder)[path]
    entries = {(row, column): value for row, column, value in matrix.entries()}
    save(
        replaced(decoder, {path: Matrix.from_entries(matrix.shape, entries | {(2, 0): 2**-9})}), tmp_path / "w.safetensors"
    )
    check = ["check", str(tmp_path / "w.safetensors"), "--engine", "fast"]
    why = "scan: 3 components of its key depend on more than the position; expected none or two"
    note = f"      scanned: layer 4, head 'latest write': {why}"
    for asked in (["--input", "ab"], ["--input", "ab", "--input", "ba"], ["--all-up-to", "2"], ["--random", "2"]):
        code, lines = tm2tfr_here(capsys, *check, *asked)
        assert (code, lines[1::2]) == (0, [note] * (len(lines) // 2))
    code, lines = tm2tfr_here(capsys, *check, "--all-up-to", "2", "--format", "json")
    assert json.loads(lines[0])["scanned"] == [note.removeprefix("      scanned: ")]


def test_without_a_reference_nothing_failed_and_nothing_did_not() -> None:
    ran = tm2tfr.run_batch("palindromes", ["ab"])
    for asked in (lambda: ran.failures, lambda: ran.divergence(0)):
        with pytest.raises(UsageError, match=r"were compared with nothing: use tm2tfr\.check_batch to know which of them"):
            asked()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "dense"])
def test_all_inputs_and_random_ones(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    check = ["check", "palindromes", "--engine", engine]
    assert tm2tfr_here(capsys, *check, "--all-up-to", "4") == (0, [ALL, ACCEPTED])
    few = (
        "9 random inputs of 0 to 40 symbols, seed 2 (8 limit, 1 reject): 1,932 cells compared with the simulator, all agree"
    )
    said = tm2tfr_here(capsys, *check, "--random", "9", "--seed", "2", "--max-steps", "7")
    assert said == (0, [f"ok    {few}"])
    code, lines = tm2tfr_here(capsys, *check, "--all-up-to", "1", "--format", "json")
    ran = {"engine": "fast" if engine == "auto" else "dense", "dtype": "float64"}
    told = {"machine": "palindromes", "runs": 3, "compared": 84, "outcomes": {"accept": 3}, "agrees": True, **ran}
    told |= {"accepted": ["", "a", "b"], "inputs": "all 3 inputs of up to 1 symbol from a, b"}
    assert (code, [json.loads(line) for line in lines]) == (0, [told])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "dense"])
def test_the_first_that_differs_ends_it_with_its_cause(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ["check", "left-edge", "--left-boundary", "chapter", "--engine", engine, "--all-up-to", "4"]
    code, lines = tm2tfr_here(capsys, *wrong)
    assert (code, lines[:3]) == (
        1,
        [
            "FAIL  all 5 inputs of up to 4 symbols from 1: 49 cells compared with the simulator",
            "      1: position 4: h should be 1, is 0",
            "      cause: layer 2 (head position), attention at position 4: h/(i+1) should be 0.2, is 0",
        ],
    )
    code, [line] = tm2tfr_here(capsys, *wrong, "--format", "json")
    assert (code, json.loads(line)["failure"]["divergence"]["position"]) == (1, 4)


@pytest.mark.slow
def test_sabotaged_weights_in_batches_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, differ = tm2tfr.load("chapter"), 0
    for _, broken in random.Random(3).sample(sabotages(tm2tfr.compile(machine), 5), 8):
        words = ["", "1", "11", "111", "1"]
        one = checked_inputs(broken, machine, words, RunOptions(engine="dense", max_steps=20))
        for size in (1, 3, 99):
            monkeypatch.setattr(checked, "AT_ONCE", size)
            many = checked_inputs(broken, machine, words, RunOptions(max_steps=20))
            assert (many.runs, many.cells, many.outcomes, many.agrees) == (one.runs, one.cells, one.outcomes, one.agrees)
            if one.failure is not None and many.failure is not None:
                assert (many.failure.input, many.failure.divergence) == (one.failure.input, one.failure.divergence)
        differ += not one.agrees
    assert differ > 1


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "json"])
def test_listed_inputs_say_the_same_together_and_one_by_one(
    form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [part for word in ("", "1", "111", "1111") for part in ("--input", word)]
    lines = ["check", "left-edge", "--engine", "fast", "--max-steps", "30", "--format", form, *words]
    for more in ([], ["--left-boundary", "chapter"]):
        together = tm2tfr_here(capsys, *lines, *more)
        with monkeypatch.context() as patch:
            patch.setattr(checking, "MOST_ROWS", 70)  # two words at a time
            assert together == tm2tfr_here(capsys, *lines, *more)
            patch.setattr(checking, "together", lambda *_: None)
            assert together == tm2tfr_here(capsys, *lines, *more)
        assert together[0] == bool(more)


@pytest.mark.slow
@pytest.mark.skipif(folder.folder() is None, reason="nothing is kept here: unset TM2TFR_CACHE, on a POSIX system")
def test_a_process_that_finds_its_code_imports_no_numba() -> None:
    tm2tfr.check_batch("palindromes", ["ab", "a"], workers=1)
    code = "import sys, tm2tfr; print(tm2tfr.check_batch('palindromes', ['ab', 'a']), 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, cwd=ROOT)
    assert done.stdout == "<Batch of palindromes: 2 runs, 12 rows, all agree> False\n"
