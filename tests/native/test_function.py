"""Functions whose machine code is kept: the same results, and code is run only if it was made from just that text."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.cli.test_commands import ROOT
from tm2tfr.base.native import folder, function
from tm2tfr.base.native.function import Caller, KeptFunction, address, description, words
from tm2tfr.base.waiting import COMPILING, noticed

if find_spec("numba") is None:
    pytest.skip("this code is compiled by Numba: install tm2tfr[fast]", allow_module_level=True)
on_posix = pytest.mark.skipif(not folder.POSIX, reason="nothing is kept here: run it on a POSIX system")


class Pair(NamedTuple):
    """Two arrays."""

    first: Any
    second: Any


def summed(pair: Any, mask: Any, rest: Any, factor: Any) -> Any:
    """Add up what there is, with the places as weights, and double the first array."""
    total = 0
    for i in range(pair.first.shape[0]):
        for j in range(pair.first.shape[1]):
            total += (i * 100 + j) * np.int64(pair.first[i, j])
            pair.first[i, j] *= 2.0
    for n in range(len(pair.second)):
        if mask[n]:
            total += np.int64(pair.second[n])
    return total * factor + len(rest[1])


def arguments() -> tuple[Any, ...]:
    first = np.arange(6.0).reshape(2, 3)
    return Pair(first, np.arange(4, dtype=np.int32)), np.array([True, False, True, True]), (first[0], np.zeros(7)), 10


WANTED = 10 * (0 + 1 + 4 + 300 + 404 + 510 + 0 + 2 + 3) + 7


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path))
    return tmp_path / "code"


def made(times: list[int]) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        from numba import njit

        times.append(1)
        done: Callable[..., Any] = njit(summed)
        return done

    return make


def test_what_arguments_are() -> None:
    first, mask, rest, factor = arguments()
    assert description(first) == "tests.native.test_function:Pair(<f8 2, <i4 1)"
    assert [description(a) for a in (mask, rest, factor, True)] == ["|b1 1", "(<f8 1, <f8 1)", "int", "int"]
    assert words((rest[1], 5)) == [rest[1].ctypes.data, 7, 5]
    assert words(first)[1:3] == [2, 3]
    with pytest.raises(TypeError, match="an array must be C-contiguous to be handed to compiled code: copy it"):
        description(first.first[:, :2])
    with pytest.raises(TypeError, match="compiled code takes arrays, tuples and integers, not float"):
        description(1.0)


@pytest.mark.slow
@on_posix
def test_compiled_kept_loaded_and_what_is_not_loaded(cache: Path) -> None:
    times: list[int] = []
    first = KeptFunction("summed", made(times))
    assert not first.kept(*arguments())
    caller = Caller(first)
    given, told = arguments(), list[str]()

    @contextmanager
    def telling(text: str) -> Iterator[None]:
        told.append(text)
        yield
        told.append("ends")

    with noticed(telling):
        assert caller(*given) == WANTED
        assert caller(*arguments()) == WANTED
        assert Caller(KeptFunction("summed", made(times)))(*arguments()) == WANTED
    assert told == [COMPILING, "ends"]  # where it is compiled, not where it is loaded
    given = arguments()
    assert caller(*given) == WANTED
    assert given[0].first.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert caller(*arguments()) == WANTED
    assert caller(*given[:-1], 1) == 2 * 1219 + 5 + 7
    [path] = cache.iterdir()
    content = path.read_bytes()
    assert b"summed" in content
    second = KeptFunction("summed", made(times))
    assert second.kept(*arguments())
    assert Caller(second)(*arguments()) == WANTED
    assert times == [1]

    head = function._MAGIC
    other = content.replace(b"summed", b"sunned")
    inside = other[len(head) + 64 :]
    signed = head + function._digest(inside).encode() + inside
    for damaged in (b"", content[:50], content[:-1], content + b"x", other, signed, content.replace(b"code 1", b"code 2")):
        path.write_bytes(damaged)
        assert not KeptFunction("summed", made(times)).kept(*arguments())
    nonsense = b"3\n{}}" + bytes(100)
    path.write_bytes(head + function._digest(nonsense).encode() + nonsense)
    assert not KeptFunction("summed", made(times)).kept(*arguments())
    assert Caller(KeptFunction("summed", made(times)))(*arguments()) == WANTED  # compiled again, and kept
    assert times == [1, 1]
    assert KeptFunction("summed", made(times)).kept(*arguments())
    path.rename(path.with_name(f"{'0' * 64}.code"))
    assert not KeptFunction("summed", made(times)).kept(*arguments())
    assert not KeptFunction("summed, another version", made(times)).kept(*arguments())


class Checked(KeptFunction):
    """Arguments are looked at as for compiled code, which is only a number here; arrays must be of float64."""

    def code(self, kinds: tuple[object, ...], arguments: tuple[object, ...]) -> Any:
        if not all(description(each).startswith("<f8") for each in arguments):
            raise TypeError("there is no such function")
        return lambda _words: 7


@pytest.mark.parametrize("wrong", [np.zeros((2, 4))[:, ::2], np.zeros((2, 2), dtype=np.float32), 1.5])
def test_a_call_that_is_refused_is_refused_again(wrong: Any) -> None:
    right, caller = np.zeros((2, 2)), Caller(Checked("checked", made([])))
    for _ in range(2):
        with pytest.raises(TypeError):
            caller(right, wrong)
    assert caller(right, right) == 7
    for _ in range(2):
        with pytest.raises(TypeError):
            caller(right, wrong)
    assert caller(right, right) == 7


@pytest.mark.slow
def test_where_nothing_is_kept_results_are_the_same(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_text("a file")
    times: list[int] = []
    assert Caller(KeptFunction("summed", made(times)))(*arguments()) == WANTED
    monkeypatch.setattr(folder, "POSIX", False)
    native = KeptFunction("summed", made(times))
    caller = Caller(native)
    assert [caller(*arguments()), caller(*arguments())] == [WANTED, WANTED]
    assert times == [1, 1]
    assert cache.read_text() == "a file"


CALL = """
import sys
from tests.native.test_function import Caller, KeptFunction, arguments, made
times = []
print(Caller(KeptFunction("summed", made(times)))(*arguments()), len(times), "numba" in sys.modules)
"""


@pytest.mark.slow
@on_posix
def test_several_processes_at_once_and_then_one_without_numba(cache: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CALL]
    several = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(2)]
    assert [process.communicate()[0].split()[0] for process in several] == [str(WANTED)] * 2
    assert len(list(cache.iterdir())) == 1
    alone = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=True)
    assert alone.stdout.split() == [str(WANTED), "0", "False"]


@pytest.mark.parametrize(
    "array",
    [np.zeros(3), np.zeros((2, 3))[1:, ::2], np.zeros(0), np.zeros((3, 2), order="F"), np.array([None, 1]), np.array(1)],
    ids=["plain", "view", "empty", "columns", "objects", "scalar"],
)
def test_the_address_of_an_array_is_what_numpy_says(array: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = array.__array_interface__["data"][0]
    assert address(array) == wanted
    array.setflags(write=False)
    monkeypatch.setattr(function, "_FIELDS", 0)  # as in a Python whose arrays begin differently
    assert address(array) == wanted
