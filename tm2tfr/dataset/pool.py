"""Running jobs: in this process, in worker processes on this machine, or on the workers of a Dask cluster.

A job is a pure function of its arguments, and workers return their results: they need no common file system. If a worker
dies, another one repeats its jobs. Results come in the order of the jobs.
"""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any, TypeVar

from tm2tfr.dataset.jobs import Job
from tm2tfr.errors import DatasetError

HERE = "127.0.0.1"
"""Workers on this machine can be reached only from this machine."""
AHEAD = 4
"""The number of jobs that may be pending per worker: more would only fill the memory."""
PATIENCE = 30.0
"""Seconds without an answer, or without any worker, after which we give up."""
MISSING = "needs Dask: install it with: pip install 'tm2tfr[dataset]', or use --workers 1"
TICK = 0.005
"""Seconds between two checks whether a job is done."""

_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""Run by each worker process first: Ctrl-C is for its parent."""

_Done = TypeVar("_Done")
_How = TypeVar("_How")
Task = Callable[[Job, _How], _Done]


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def pool(workers: int | None, scheduler: str | None, jobs: int) -> Iterator[Pool]:
    """Yield a pool for `jobs` jobs: `workers` processes here (by default one per core, or one without Dask), or a cluster.

    Raises:
        DatasetError: if Dask is missing where it is needed, or the cluster cannot be reached.
    """
    workers = min(workers or (cores() if find_spec("distributed") else 1), max(1, jobs))
    if scheduler is None and workers == 1:
        yield Pool()
        return
    try:
        dask: Any = import_module("distributed")  # optional, and slow to load
    except ImportError as error:
        what = "a cluster" if scheduler else f"to use {workers} cores"
        raise DatasetError(f"{what} {MISSING} ({error})") from error
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        if scheduler is None:
            options: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "processes": True}
            options |= {"host": HERE, "dashboard_address": None, "silence_logs": logging.CRITICAL}
            options |= {"scheduler_kwargs": {"dashboard_address": f"{HERE}:0"}, "preload": [_DEAF]}
            cluster: Any = stack.enter_context(dask.LocalCluster(**options))
            yield Pool(stack.enter_context(dask.Client(cluster, set_as_default=False)), workers)
            return
        try:
            client = stack.enter_context(dask.Client(scheduler, set_as_default=False, timeout=PATIENCE))
        except (OSError, ValueError) as error:
            what = f"{scheduler}: this scheduler cannot be reached ({error})"
            raise DatasetError(f"{what}: use the address that it prints, such as tcp://127.0.0.1:8786") from error
        yield Pool(client, max(1, len(client.scheduler_info(n_workers=-1)["workers"])))


class Pool:
    """Runs jobs; without a `client`, in this process."""

    def __init__(self, client: Any = None, workers: int = 1) -> None:
        self._client, self._ahead = client, AHEAD * workers

    def map(self, task: Task[_How, _Done], jobs: Iterable[Job], how: _How) -> Iterator[_Done]:
        """Yield ``task(job, how)`` for each job, in their order; the caller may stop at a failure.

        Raises:
            DatasetError: if workers keep dying, if there are none, or if the cluster is lost.
        """
        if self._client is None:
            yield from (task(job, how) for job in jobs)
            return
        coming = iter(jobs)
        waiting = deque(self._submitted(task, job, how) for job in islice(coming, self._ahead))
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
        dask: Any = import_module("distributed")
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
