"""Running jobs: in this process, in worker processes on this machine, or on the workers of a Dask cluster.

A job is a pure function of its arguments, and workers return their results: they need no common file system. If a worker
dies, another one repeats its jobs. Results come in the order of the jobs.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any, TypeVar

from tm2tfr.dataset.jobs import Job
from tm2tfr.dataset.processes import Processes
from tm2tfr.errors import DatasetError
from tm2tfr.extras import required
from tm2tfr.runs.cores import cores

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
