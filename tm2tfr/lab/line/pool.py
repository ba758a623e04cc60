"""Workers: this process, processes on this machine, or a Dask cluster.

A job is a pure function of its arguments, and workers return their results: they need no common file system. If a worker
dies, another one repeats its jobs. Results come in the order of the jobs.
"""

from __future__ import annotations

import logging
import pickle
import signal
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar, cast

from tm2tfr._version import __version__
from tm2tfr.base.errors import DatasetError, Tm2tfrError, first_line, required
from tm2tfr.runs.choose import cores
from tm2tfr.runs.plan import is_count

# ── Jobs and their results: functions of the request alone, not of the worker or of the time.
_Work = TypeVar("_Work")
_Options = TypeVar("_Options")
_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Job(Generic[_Work]):
    """The work that becomes one shard, and its number, from 0."""

    number: int
    work: _Work


Task = Callable[[Job[_Work], _Options], _Made]
"""A pure function of a job and of options that all jobs share; every process finds it by its name."""


def cut(items: Sequence[_Item], size: int) -> Iterator[Job[Sequence[_Item]]]:
    """Yield jobs of `size` items each, in order; the last job may have fewer."""
    for number, start in enumerate(range(0, len(items), size)):
        yield Job(number, items[start : start + size])


def versions(packages: tuple[str, ...] = ("numpy", "numba", "pyarrow")) -> dict[str, str]:
    """Return the versions of everything that the bytes of a folder, or what these packages make, depend on."""
    return dict(_versions(packages))


@cache
def _versions(packages: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = {"tm2tfr": __version__, "python": ".".join(map(str, sys.version_info[:2]))}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return tuple(found.items())


def stem(number: int, shards: int) -> str:
    """Return the name of the files of a shard, without an ending: ``00003-of-00040``."""
    return f"{number:05}-of-{shards:05}"


@dataclass
class Made:
    """The result of a job.

    Args:
        number: the number of the job.
        files: place in the folder -> content.
        versions: those of the worker's software.
    """

    number: int
    files: dict[str, bytes] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def counts(self) -> Mapping[str, object]:
        """The shard's record in the manifest, beside its number and its files, as plain data."""
        return {}

    @property
    def rows(self) -> int:
        """The number of rows made, for progress."""
        return 0

    @property
    def failed(self) -> bool:
        """Whether something is wrong with the job, so that it becomes no shard, and the line stops."""
        return False


AHEAD = 4
"""The number of jobs that may be pending per worker: more would only fill the memory."""
SMALLER = "use fewer workers, or smaller shards"
LIVES = 4
"""A job is given up when this many workers have died with it."""
PATIENCE = 30.0
"""Seconds without an answer of a cluster, or without any worker in it, after which we give up."""
TICK = 0.005
"""Seconds between two checks whether a job of a cluster is done."""


@contextmanager
def pool(workers: int | None, scheduler: str | None, jobs: int) -> Iterator[Pool]:
    """Yield a pool for `jobs` jobs: `workers` processes on this machine, by default one per core, or a Dask cluster.

    Raises:
        DatasetError: for an invalid number of workers; if Dask is missing where it is needed, or the cluster fails.
    """
    if workers is not None and not is_count(workers, 1):
        raise DatasetError(f"workers must be a number of processes, not {workers!r}: use 1 or more, or None")
    if scheduler is None:
        yield Pool(min(workers or cores(), max(1, jobs)))
        return
    dask = _dask()
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        try:
            client = stack.enter_context(dask.Client(scheduler, set_as_default=False, timeout=PATIENCE))
        except (OSError, ValueError) as error:
            what = f"{scheduler}: this scheduler cannot be reached ({error})"
            raise DatasetError(f"{what}: use the address that it prints, such as tcp://127.0.0.1:8786") from error
        yield Cluster(client, max(1, len(client.scheduler_info(n_workers=-1)["workers"])))


class Pool:
    """Does jobs on this machine: with one worker in this process, otherwise in as many others.

    Each process has a pipe of its own: whatever becomes of one, the others go on. `concurrent.futures` is not used: its
    workers share one pipe, so that one that is killed while it writes leaves the others waiting for ever, and all jobs that
    are being done are lost with it.

    Args:
        ahead: the most jobs that are begun before their turn; by default `AHEAD` for each worker.
    """

    def __init__(self, workers: int = 1, ahead: int | None = None) -> None:
        self.workers, self.ahead = workers, AHEAD * workers if ahead is None else ahead

    def map(self, task: Task[_Work, _Options, _Made], jobs: Iterable[Job[_Work]], options: _Options) -> Iterator[_Made]:
        """Yield ``task(job, options)`` for each job in order. Closing the generator ends the workers.

        Raises:
            DatasetError: if workers keep dying with one job, if there are none, or if the cluster is lost.
        """
        if self.workers == 1:
            yield from (task(job, options) for job in jobs)
            return
        coming, done, again = enumerate(jobs), dict[int, _Outcome](), deque[_Place]()
        idle, busy = [_Worker(task, options) for _ in range(self.workers)], dict[Connection, _Worker]()
        deaths = Counter[int]()
        turn = begun = 0
        try:
            while True:
                while idle and (again or begun < turn + self.ahead):
                    place = again.popleft() if again else next(coming, None)
                    if place is None:
                        break
                    begun = max(begun, place[0] + 1)
                    worker = idle.pop()
                    busy[worker.pipe] = worker
                    worker.take(place)
                if turn in done:
                    outcome = done.pop(turn)
                    turn += 1
                    if outcome.error is not None:
                        raise outcome.error
                    yield outcome.result
                    continue
                if not busy:
                    return
                for worker, answer in _answers(busy):
                    number = worker.place[0]
                    if answer is not None:
                        done[number] = answer
                        idle.append(worker)
                        continue
                    deaths[number] += 1
                    if deaths[number] == LIVES:
                        raise worker.blamed()
                    again.append(worker.place)
                    idle.append(_Worker(task, options))
        finally:
            for worker in (*idle, *busy.values()):
                worker.kill()


# ── processes on this machine; none outlives its pool, nor this process, since a worker ends when its pipe is closed
_CONTEXT = get_context("spawn")
"""Every worker is a fresh interpreter: a fork of this one would inherit the locks that its threads hold."""

_MASKS = hasattr(signal, "pthread_sigmask")
_Place = tuple[int, Job[Any]]
"""A job, after its place in their order."""


class _Outcome(NamedTuple):
    """The result of a job, or the error that it raised."""

    result: Any = None
    error: Exception | None = None


class _Worker:
    """A process that does one job at a time, as this one sees it."""

    def __init__(self, task: Callable[[Any, Any], object], options: object) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, task, options), daemon=True)
        with _deaf():
            self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        self.ready = self.dead = False
        self.place: _Place = -1, Job(-1, None)

    def take(self, place: _Place) -> None:
        """Give it a job; if it has died, its `answer` will say so."""
        self.place = place
        with suppress(OSError):
            self.pipe.send(place[1])

    def answer(self) -> _Outcome | None:
        """Return the outcome of its job; None if it has only started, or if it is `dead`."""
        try:
            outcome = self.pipe.recv()
        except (EOFError, OSError):
            self.dead = True
            self.kill()
            return None
        self.ready = True
        return cast("_Outcome | None", outcome)

    def blamed(self) -> DatasetError:
        """Return the error for a job with which workers keep dying, of which this is the last."""
        if not self.ready:
            what = "the worker processes end before they have started"
            return DatasetError(f"{what}: in a script, call this below: if __name__ == '__main__':, or use --workers 1")
        what = "one job killed several workers, perhaps for lack of memory"
        return DatasetError(f"{what}: {SMALLER} (job {self.place[1].number})")

    def kill(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _answers(busy: dict[Connection, _Worker]) -> Iterator[tuple[_Worker, _Outcome | None]]:
    """Wait for workers, and yield those that are idle again, each with the outcome of its job, or None if it died."""
    for ready in wait(list(busy)):
        worker = busy[cast("Connection", ready)]
        outcome = worker.answer()
        if outcome is not None or worker.dead:
            del busy[worker.pipe]
            yield worker, outcome


@contextmanager
def _deaf() -> Iterator[None]:
    """Let the processes that are started here not hear Ctrl-C, which is for this one, from their first moment on."""
    if not _MASKS:
        yield
        return
    resource_tracker.ensure_running()  # otherwise it is started with the first of them, and lifts the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, task: Callable[[Any, Any], object], options: object) -> None:
    """Do the jobs that come, until the pipe ends."""
    if not _MASKS:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        pipe.send(None)
        while True:
            pipe.send(_carried_out(task, pipe.recv(), options))


def _carried_out(task: Callable[[Any, Any], object], job: Job[object], options: object) -> _Outcome:
    try:
        return _Outcome(task(job, options))
    except Exception as error:  # noqa: BLE001  (raised when the result is used)
        return _Outcome(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """Return an error as it can be sent: itself if it arrives as it is."""
    with suppress(Exception):
        if str(pickle.loads(pickle.dumps(error))) == str(error):
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
            return error
    return DatasetError(error.typed if isinstance(error, Tm2tfrError) else f"a worker process failed ({first_line(error)})")


class Cluster(Pool):
    """Runs jobs on the `workers` of a Dask cluster."""

    def __init__(self, client: Any, workers: int) -> None:
        super().__init__(workers)
        self._client = client

    def map(self, task: Task[_Work, _Options, _Made], jobs: Iterable[Job[_Work]], options: _Options) -> Iterator[_Made]:
        """Yield ``task(job, options)`` for each job in order. Closing the generator cancels the rest."""
        futures = (self._client.submit(task, job, options, pure=False) for job in jobs)
        waiting = deque(islice(futures, self.ahead))
        try:
            while waiting:
                yield self._result(waiting[0])
                waiting.popleft().release()
                waiting.extend(islice(futures, 1))
        finally:
            self._client.cancel(list(waiting))

    def _result(self, future: Any) -> Any:
        dask = _dask()
        try:
            self._wait(future)
            return future.result()
        except dask.KilledWorker as error:
            what = "one job killed several workers, perhaps for lack of memory"
            raise DatasetError(f"{what}: {SMALLER} ({error})") from error
        except (dask.CancelledError, OSError) as error:
            what = f"lost the connection to the cluster ({type(error).__name__})"
            raise DatasetError(f"{what}: start it again, and resume with --resume") from error

    def _wait(self, future: Any) -> None:
        """Wait until a job is done, as long as there are workers.

        Dask's own wait with a timeout cancels the job it waits for, even in the middle of a transfer.
        """
        looked = seen = time.monotonic()
        while not future.done():
            time.sleep(TICK)
            now = time.monotonic()
            if now - looked < 1.0:
                continue
            looked = now
            if self._client.scheduler_info(n_workers=-1)["workers"]:
                seen = now
            elif now - seen > PATIENCE:
                what = f"the cluster has had no worker for {PATIENCE:.0f} seconds"
                raise DatasetError(f"{what}: start some with: dask worker ADDRESS")


def _dask() -> ModuleType:
    return required("a cluster needs Dask", ["distributed"], "cluster", otherwise="omit --scheduler", error=DatasetError)[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from reporting workers that come and go."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
