"""Running jobs: in this process, in worker processes on this machine, or on the workers of a Dask cluster.

A job is a pure function of its arguments, and workers return their results: they need no common file system. If a worker
dies, another one repeats its jobs. Results come in the order of the jobs.
"""

from __future__ import annotations

import logging
import pickle
import signal
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, TypeVar, cast

from tm2tfr.base.errors import DatasetError, Tm2tfrError, first_line, required
from tm2tfr.lab.datasets.jobs import Job
from tm2tfr.runs.choose import cores

# ── Jobs in worker processes on this machine, each with a pipe of its own: whatever becomes of one, the others go on.
#
# `concurrent.futures` is not used: its workers share one pipe, so that one that is killed while it writes leaves the
# others waiting for ever, and all that are running are lost with it.
LIVES = 4
"""A job is given up when this many workers have died with it."""

_CONTEXT = get_context("spawn")
"""Every worker is a fresh interpreter: a fork of this one would inherit the locks that its threads hold."""

_MASKS = hasattr(signal, "pthread_sigmask")

_Task = Callable[[Job, Any], Any]
"""A function of a job and of what all jobs have in common, to be found by its name in every process."""


class _Given(NamedTuple):
    """A job, and its place in their order."""

    place: int
    job: Job


class _Outcome(NamedTuple):
    """The result of a job, or the error that it raised."""

    result: Any = None
    error: Exception | None = None


class Processes:
    """Runs jobs in `workers` processes, at most `ahead` of them before their turn; a context manager.

    Closing kills the processes: none outlives its pool, nor this process, since a worker ends when its pipe is closed.
    """

    def __init__(self, task: _Task, how: Any, workers: int, ahead: int) -> None:
        self._ahead = ahead
        self._task, self._how = task, how
        self._idle = [_Worker(task, how) for _ in range(workers)]
        self._busy: dict[Connection, _Worker] = {}
        self._again: deque[_Given] = deque()
        self._deaths: Counter[int] = Counter()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in (*self._idle, *self._busy.values()):
            worker.kill()

    def results(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """Yield the result of each job, in their order.

        Raises:
            DatasetError: if workers keep dying with one job, or do not start.
        """
        coming, done = map(_Given._make, enumerate(jobs)), dict[int, _Outcome]()
        turn = given = 0
        while True:
            while self._idle and (self._again or given < turn + self._ahead):
                next_one = self._again.popleft() if self._again else next(coming, None)
                if next_one is None:
                    break
                given = max(given, next_one.place + 1)
                self._hand_out(next_one)
            if turn in done:
                outcome = done.pop(turn)
                turn += 1
                if outcome.error is not None:
                    raise outcome.error
                yield outcome.result
            elif self._busy:
                done |= self._collected()
            else:
                return

    def _hand_out(self, given: _Given) -> None:
        worker = self._idle.pop()
        self._busy[worker.pipe] = worker
        worker.take(given)

    def _collected(self) -> dict[int, _Outcome]:
        """Wait for workers, and return what they have finished, by place; the jobs of those that died are done again."""
        found: dict[int, _Outcome] = {}
        for ready in wait(list(self._busy)):
            worker = self._busy[cast("Connection", ready)]
            outcome = worker.answer()
            if isinstance(outcome, _Outcome):
                found[worker.given.place] = outcome
                self._idle.append(self._busy.pop(worker.pipe))
            elif worker.dead:
                del self._busy[worker.pipe]
                self._idle.append(_Worker(self._task, self._how))
                self._blame(worker)
                self._again.append(worker.given)
        return found

    def _blame(self, worker: _Worker) -> None:
        place = worker.given.place
        self._deaths[place] += 1
        if self._deaths[place] < LIVES:
            return
        if not worker.ready:
            what = "the worker processes end before they have started"
            raise DatasetError(f"{what}: in a script, call this below: if __name__ == '__main__':, or use --workers 1")
        what = "one job killed several workers, perhaps for lack of memory"
        raise DatasetError(f"{what}: lower 'shard size' or 'max steps' (job {worker.given.job.number})")


class _Worker:
    """A process that does one job at a time, as this one sees it."""

    def __init__(self, task: _Task, how: Any) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, task, how), daemon=True)
        with _deaf():
            self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        self.ready = self.dead = False
        self.given = _Given(-1, Job(-1, ()))

    def take(self, given: _Given) -> None:
        """Give it a job; if it has died, its `answer` will say so."""
        self.given = given
        with suppress(OSError):
            self.pipe.send(given.job)

    def answer(self) -> _Outcome | None:
        """Return what it has to say: the outcome of its job, or nothing: that it has started, or that it is `dead`."""
        try:
            said = self.pipe.recv()
        except (EOFError, OSError):
            self.dead = True
            self.kill()
            return None
        self.ready = True
        return cast("_Outcome | None", said)

    def kill(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


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


def _serve(pipe: Connection, task: _Task, how: Any) -> None:
    """Do the jobs that come, until the pipe ends."""
    if not _MASKS:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        pipe.send(None)
        while True:
            pipe.send(_carried_out(task, pipe.recv(), how))


def _carried_out(task: _Task, job: Job, how: Any) -> _Outcome:
    try:
        return _Outcome(task(job, how))
    except Exception as error:  # noqa: BLE001  (it is raised where the result is asked for)
        return _Outcome(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """Return an error as it can be sent: itself if it arrives as it is."""
    with suppress(Exception):
        if str(pickle.loads(pickle.dumps(error))) == str(error):
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
            return error
    return DatasetError(str(error) if isinstance(error, Tm2tfrError) else f"a worker process failed ({first_line(error)})")


AHEAD = 4
"""The number of jobs that may be pending per worker: more would only fill the memory."""
PATIENCE = 30.0
"""Seconds without an answer, or without any worker, after which we give up."""
TICK = 0.005
"""Seconds between two checks whether a job is done."""

_Done = TypeVar("_Done")
_How = TypeVar("_How")
Task = Callable[[Job, _How], _Done]


@contextmanager
def pool(workers: int | None, scheduler: str | None, jobs: int) -> Iterator[Pool]:
    """Yield a pool for `jobs` jobs: `workers` processes on this machine, by default one per core, or a Dask cluster.

    Raises:
        DatasetError: if Dask is missing where it is needed, or the cluster cannot be reached.
    """
    if scheduler is None:
        yield Pool(min(workers or cores(), max(1, jobs)))
        return
    dask: Any = _dask()
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        try:
            client = stack.enter_context(dask.Client(scheduler, set_as_default=False, timeout=PATIENCE))
        except (OSError, ValueError) as error:
            what = f"{scheduler}: this scheduler cannot be reached ({error})"
            raise DatasetError(f"{what}: use the address that it prints, such as tcp://127.0.0.1:8786") from error
        yield Cluster(client, max(1, len(client.scheduler_info(n_workers=-1)["workers"])))


class Pool:
    """Runs jobs on this machine: with one worker in this process, otherwise in as many others."""

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def map(self, task: Task[_How, _Done], jobs: Iterable[Job], how: _How) -> Iterator[_Done]:
        """Yield ``task(job, how)`` for each job, in their order; the caller may stop at a failure.

        Raises:
            DatasetError: if workers keep dying, if there are none, or if the cluster is lost.
        """
        if self._workers == 1:
            yield from (task(job, how) for job in jobs)
            return
        with Processes(task, how, self._workers, AHEAD * self._workers) as crew:
            yield from crew.results(jobs)


class Cluster(Pool):
    """Runs jobs on the `workers` of a Dask cluster."""

    def __init__(self, client: Any, workers: int) -> None:
        super().__init__(workers)
        self._client = client

    def map(self, task: Task[_How, _Done], jobs: Iterable[Job], how: _How) -> Iterator[_Done]:
        """Yield ``task(job, how)`` for each job, as every pool does."""
        coming = iter(jobs)
        waiting = deque(self._submitted(task, job, how) for job in islice(coming, AHEAD * self._workers))
        try:
            while waiting:
                yield self._result(waiting[0])
                waiting.popleft().release()
                waiting.extend(self._submitted(task, job, how) for job in islice(coming, 1))
        finally:
            self._client.cancel(list(waiting))

    def _submitted(self, task: Task[_How, _Done], job: Job, how: _How) -> Any:
        return self._client.submit(task, job, how, pure=False)

    def _result(self, future: Any) -> Any:
        dask: Any = _dask()
        try:
            self._wait(future)
            return future.result()
        except dask.KilledWorker as error:
            what = "one job killed several workers, perhaps for lack of memory"
            raise DatasetError(f"{what}: lower 'shard size' or 'max steps' ({error})") from error
        except (dask.CancelledError, OSError) as error:
            what = f"lost the connection to the cluster ({type(error).__name__})"
            raise DatasetError(f"{what}: start it again, and resume a data set with --resume") from error

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


def _dask() -> Any:
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
