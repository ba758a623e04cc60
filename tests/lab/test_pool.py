"""Worker processes on this machine: what becomes of them, their jobs, and their errors."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tm2tfr.base.errors import DatasetError, Diagnostic, SpecError
from tm2tfr.lab.line.pool import LIVES, Job, Pool

pytestmark = pytest.mark.slow  # every worker imports what it needs anew


def jobs(number: int) -> Iterator[Job[None]]:
    return (Job(n, None) for n in range(number))


def numbered(job: Job[None], size: int) -> tuple[int, bytes]:
    """A result that does not fit into a pipe at once."""
    return job.number, bytes(size)


def test_results_come_in_the_order_of_the_jobs() -> None:
    found = list(Pool(2).map(numbered, jobs(20), 2**20))
    assert [number for number, _ in found] == list(range(20))
    assert {len(data) for _, data in found} == {2**20}
    assert multiprocessing.active_children() == []


def test_without_jobs_nothing_comes() -> None:
    assert list(Pool(2).map(numbered, jobs(0), 1)) == []


def test_only_a_few_jobs_are_taken_before_their_turn() -> None:
    taken: list[int] = []

    def coming() -> Iterator[Job[None]]:
        for job in jobs(100):
            taken.append(job.number)
            yield job

    results = Pool(2, ahead=5).map(numbered, coming(), 1)
    for n in range(10):
        assert next(results)[0] == n
        assert len(taken) <= n + 5 + 1
    results.close()
    assert multiprocessing.active_children() == []


def killing_once(job: Job[None], folder: str) -> int:
    """Kill the own process at every third job, in the first try."""
    mark = Path(folder, str(job.number))
    if job.number % 3 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return job.number


def test_jobs_of_workers_that_die_are_done_by_others(tmp_path: Path) -> None:
    assert list(Pool(2).map(killing_once, jobs(12), str(tmp_path))) == list(range(12))
    assert sorted(int(mark.name) for mark in tmp_path.iterdir()) == [0, 3, 6, 9]
    assert multiprocessing.active_children() == []


def test_workers_that_are_killed_from_outside_lose_nothing() -> None:
    results = Pool(3).map(numbered, jobs(40), 2**22)
    found = [next(results)[0]]
    for _ in range(3):  # in the middle of whatever they do: of a result, too
        child = multiprocessing.active_children()[0]
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        found.append(next(results)[0])
    assert [*found, *(number for number, _ in results)] == list(range(40))


def killing(job: Job[None], folder: str) -> int:
    if job.number == 2:
        Path(folder, str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return job.number


def test_a_job_that_kills_its_workers_is_told_of(tmp_path: Path) -> None:
    results = Pool(2).map(killing, jobs(10), str(tmp_path))
    said = r"^one job killed several workers, perhaps for lack of memory: use fewer workers, or smaller shards \(job 2\)$"
    with pytest.raises(DatasetError, match=said):
        list(results)
    assert len(list(tmp_path.iterdir())) == LIVES
    assert multiprocessing.active_children() == []


def failing(job: Job[None], kind: str) -> int:
    if job.number != 3:
        return job.number
    if kind == "spec":
        raise SpecError([Diagnostic(what="this is wrong", remedy="mend it")])
    raise ZeroDivisionError(kind) if kind == "zero" else UnsentError(lambda: None)


class UnsentError(Exception):
    """Cannot be pickled."""


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        ("zero", ZeroDivisionError, r"^zero\n"),
        ("spec", SpecError, r"^this is wrong: mend it\n"),
        ("odd", DatasetError, r"^a worker process failed \(UnsentError: <function .*\)$"),
    ],
)
def test_the_error_of_a_job_is_raised_in_its_place(kind: str, error: type[Exception], said: str) -> None:
    results = Pool(2).map(failing, jobs(10), kind)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(error, match=said):
        next(results)
    assert multiprocessing.active_children() == []


def masked(job: Job[None], _: None) -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals are masked on POSIX systems alone")
def test_workers_do_not_hear_an_interrupt_and_their_parent_does() -> None:
    assert list(Pool(3).map(masked, jobs(12), None)) == [True] * 12
    assert masked(Job(0, None), None) is False


UNGUARDED = """
from tests.lab.test_pool import jobs, numbered
from tm2tfr.lab.line.pool import Pool
print(list(Pool(2).map(numbered, jobs(3), 1)))
"""


def test_a_script_without_a_guard_is_told_to_have_one(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(UNGUARDED, encoding="utf-8")
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    what = "the worker processes end before they have started: in a script, call this below: if __name__ == '__main__':"
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{what}, or use workers=1" in done.stderr


ORPHANS = """
import os, time
from tests.lab.test_pool import jobs, slow
from tm2tfr.lab.line.pool import Pool

if __name__ == "__main__":
    results = Pool(2).map(slow, jobs(30), 0.2)
    print(*next(results), flush=True)
    print(*next(results), flush=True)
    os.kill(os.getpid(), 9)
"""


def slow(job: Job[None], seconds: float) -> tuple[int, int]:
    time.sleep(seconds)
    return job.number, os.getpid()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are looked for by POSIX's kill")
def test_no_worker_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ORPHANS, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, check=False)
    workers = {int(line.split()[1]) for line in done.stdout.splitlines()}
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 20
    while workers and time.monotonic() < deadline:
        time.sleep(0.1)
        workers = {pid for pid in workers if _lives(pid)}
    assert workers == set()


def _lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
            return False  # dead, and nobody has asked how
        os.kill(pid, 0)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return True
