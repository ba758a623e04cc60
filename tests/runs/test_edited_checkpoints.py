"""Checkpoints that somebody edited: refused, or without consequence; never a crash, and never "agrees" for another word."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli.test_commands import tm2tfr
from tests.runs.test_universal import in_the_prompt
from tests.strategies import tries
from tm2tfr.base.errors import CheckpointError, Tm2tfrError
from tm2tfr.engines.fast import session
from tm2tfr.runs import recording as checkpoint
from tm2tfr.runs.plan import RunOptions
from tm2tfr.runs.recording import in_blocks
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.universal.program import AnyMachine
from tm2tfr.transformer.weights import Decoder

EDITS = tries(250)
READ_BY_STRAIGHT_LINES = {f"engine.{name}" for name in ("sums", "span", "group_position", "group_token", "group_value")}
NUMBERS = (-(2**63), -(2**31), -9, -2, -1, 0, 1, 2, 7, 63, 2**20, 2**31 - 1, 2**40, 2**63 - 1)
FLOATS = (-np.inf, -1e308, -1.0, 0.0, 0.5, 3.0, 2.0**60, 1e308, np.inf, np.nan)
TYPES = ("bool", "int8", "int32", "int64", "uint64", "float32", "float64", ">i4", ">i8", "complex128", "U3", "S2")


class Case(NamedTuple):
    """A run that is saved after `first` steps and goes on to `last`; another word of the same length."""

    machine: str
    word: str
    other: str
    first: int
    last: int
    universal: bool = False
    compared: bool = True
    straight: bool = False

    @property
    def edits(self) -> int:
        """The edits of each array, each with the digest made anew; weights of a universal decoder take longer to plan."""
        return EDITS // 3 if self.universal else EDITS


CASES = {
    "palindromes": Case("palindromes", "abba" * 5, "abba" * 4 + "abab", 150, 900),
    "universal": Case("chapter", "1" * 4, "1" * 3, 30, 400, universal=True),
    "without-a-machine": Case("palindromes", "abba" * 5, "abba" * 4 + "abab", 150, 900, compared=False),
    "straight-line": Case("palindromes", "abba" * 5, "abba" * 4 + "abab", 150, 900, straight=True),
}


@cache
def subject_of(case: Case) -> tuple[Decoder, AnyMachine]:
    machine = load(case.machine)
    if case.universal:
        universal, decoder = in_the_prompt(machine)
        return decoder, universal
    return compile_machine(machine), machine


def carried_out(case: Case, word: str, steps: int, **files: Any) -> dict[str, Any]:
    decoder, machine = subject_of(case)
    trace = in_blocks(decoder, word, machine if case.compared else None, RunOptions(max_steps=steps, **files))
    return trace.as_dict()


def edited(array: NDArray[Any], chance: random.Random) -> NDArray[Any]:
    """Return the array with other values, of another type, or of another shape."""
    array, kind = array.copy(), chance.randrange(8)
    if kind < 4:
        values = np.array(FLOATS if array.dtype.kind == "f" else NUMBERS, dtype=float if array.dtype.kind == "f" else int)
        info = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
        wild = values if info is None else values.clip(info.min, info.max)
        flat = array.reshape(-1)
        places = [chance.randrange(len(flat)) for _ in range(chance.choice((1, 3, 40)))] if len(flat) else []
        flat[places if kind < 3 else slice(None)] = chance.choice(wild.tolist())
        return array
    if kind == 4:
        with np.errstate(all="ignore"):
            return array.astype(chance.choice(TYPES))
    if kind == 5:
        return array[None] if array.ndim == 0 or chance.random() < 0.3 else array.reshape(-1)[: chance.randrange(9)]
    if kind == 6 and array.ndim:
        more = [chance.randrange(3) for _ in array.shape]
        return np.asfortranarray(np.pad(array, [(0, extra) for extra in more]))
    return array[..., :-1] if array.ndim else np.zeros((), dtype=array.dtype)


def outcomes(case: Case, path: str, name: str) -> Counter[str]:
    """Return how often a run that is resumed from an edited array is refused, goes on as it should, or differs.

    In a process of its own: what compiled code does with a wrong index, only a process that dies can tell.
    """
    if case.straight:
        session.SPECIALISE_AFTER, session.MOST_PATIENCE = 0, 1
    about, arrays = checkpoint.load(Path(path))
    want, found = carried_out(case, case.word, case.last), Counter[str]()
    edit, chance = Path(path).with_name(f"{name}.npz"), random.Random(name)
    for n in range(case.edits):
        changed = {**arrays, "engine.more" if n == 0 else name: edited(arrays[name], chance)}
        if n == 1:
            del changed[name]
        checkpoint.save(edit, about, changed)
        try:
            got = carried_out(case, case.word, case.last, resume=edit)
        except Tm2tfrError as error:
            found["refused" if str(edit) in str(error) or "too large" in str(error) else f"{error}"] += 1
            continue
        if got | {"scanned": ()} == want | {
            "scanned": ()
        }:  # a wrong number can make a head be scanned, with the same answers
            found["same"] += 1
        else:
            found["agrees" if case.compared and got["agrees"] else "differs"] += 1
    return found


@pytest.fixture(params=CASES)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Case, Path]:
    case = CASES[request.param]
    carried_out(case, case.word, case.first, checkpoint=tmp_path / "run.npz")
    return case, tmp_path / "run.npz"


@pytest.mark.slow
def test_each_array_is_checked_before_compiled_code_reads_it(saved: tuple[Case, Path]) -> None:
    case, path = saved
    arrays = [name for name in checkpoint.load(path)[1] if not case.straight or name in READ_BY_STRAIGHT_LINES]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as worker:  # broken if its process dies
        found = {name: worker.submit(outcomes, case, str(path), name).result() for name in arrays}
    assert {outcome for counted in found.values() for outcome in counted} <= {"refused", "same", "differs"}
    assert all(counted["refused"] > case.edits // 5 for counted in found.values()), found


@pytest.mark.slow
def test_an_edit_without_a_new_digest_is_refused(saved: tuple[Case, Path]) -> None:
    _, path = saved
    about, arrays = checkpoint.load(path)
    with np.load(path) as archive:
        text = archive[checkpoint.ABOUT]
    chance, same = random.Random(1), 0
    for name in arrays:
        for _ in range(9):
            changed = {**arrays, name: edited(arrays[name], chance)}
            np.savez(path, allow_pickle=False, **changed, **{checkpoint.ABOUT: text})
            if equal(changed[name], arrays[name]):
                same += 1
                assert checkpoint.load(path)[0] == about
                continue
            with pytest.raises(CheckpointError, match="it is not a checkpoint, or was changed or damaged: start the run"):
                checkpoint.load(path)
    assert same < 3 * len(arrays)


def equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


# ── another word ────────────────────────────────────────────────────────────────────────────────────────────
def with_about(path: Path, changes: Mapping[str, Any]) -> None:
    about, arrays = checkpoint.load(path)
    checkpoint.save(path, replace(about, **changes), arrays)


def test_another_input_is_refused_even_with_a_new_digest(tmp_path: Path) -> None:
    case, path = CASES["palindromes"], tmp_path / "run.npz"
    for last in (150, 900):
        carried_out(case, case.word, last, checkpoint=path)
        with_about(path, {"input": case.other})
        asked = ("check", "palindromes", "--input", case.other, "--engine", "fast", "--resume", path.name)
        done = tm2tfr(*asked, cwd=tmp_path)
        what = "array engine.tokens: its tokens do not begin with those of the input: it was changed or damaged"
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"{path.name}: {what}: start the run again with --checkpoint\n"
        path.unlink()


def test_the_tokens_of_another_run_are_refused(tmp_path: Path) -> None:
    """The word is replaced in the tokens as well: the simulator's run on it has other tokens."""
    case, path = CASES["palindromes"], tmp_path / "run.npz"
    carried_out(case, case.word, case.last, checkpoint=path)
    about, arrays = checkpoint.load(path)
    numbers = subject_of(case)[0].numbers
    arrays["engine.tokens"][: len(case.other)] = [numbers[token] for token in case.other]
    checkpoint.save(path, replace(about, input=case.other), arrays)
    with pytest.raises(CheckpointError, match=r"run\.npz: array engine\.tokens: the tokens after position \d+ are not the"):
        carried_out(case, case.other, case.last, resume=path)


@pytest.mark.parametrize("rows", [0, 151, 173, 10**30, -1, True, "12", 1.5])
def test_a_wrong_number_of_rows_is_refused(rows: Any, tmp_path: Path) -> None:
    case, path, out = CASES["palindromes"], tmp_path / "run.npz", tmp_path / "rows.csv"
    carried_out(case, case.word, case.first, checkpoint=path, out=out)
    with_about(path, {"rows": rows})
    known = type(rows) is int and rows >= 0
    what = f"it counts {rows:,} rows in the file, but the run has 171" if known else "it is not a checkpoint, or was"
    with pytest.raises(CheckpointError, match=what):
        carried_out(case, case.word, case.last, resume=path, out=out)


@pytest.mark.parametrize(
    "text",
    [b"[]", b"7", b'"x"', b"null", b"{}", b"[" * 100_000, b"\xff", b"", json.dumps({"program": []}).encode()],
    ids=lambda text: text[:9].decode(errors="replace"),
)
def test_what_a_checkpoint_says_about_itself_may_be_anything(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    np.savez(path, **{checkpoint.ABOUT: np.frombuffer(text, dtype=np.uint8)})
    with pytest.raises(CheckpointError, match="it is not a checkpoint, or was changed or damaged"):
        checkpoint.load(path)


def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    """A megabyte of it could unpack to more than there is memory."""
    case, path = CASES["palindromes"], tmp_path / "run.npz"
    carried_out(case, case.word, case.first, checkpoint=path)
    with np.load(path) as archive:
        np.savez_compressed(path, **archive)
    with pytest.raises(CheckpointError, match="it is not a checkpoint, or was changed or damaged"):
        checkpoint.load(path)
