"""Jobs in worker processes on this machine, each with a pipe of its own: whatever becomes of one, the others go on.

`concurrent.futures` is not used: its workers share one pipe, so that one that is killed while it writes leaves the others
waiting for ever, and all that are running are lost with it.
"""

from __future__ import annotations

import pickle
import signal
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, cast

from tm2tfr.dataset.jobs import Job
from tm2tfr.errors import DatasetError, Tm2tfrError, first_line

LIVES = 4
"""A job is given up when this many workers have died with it."""

_CONTEXT = get_context("spawn")
"""Every worker is a fresh interpreter: a fork of this one would inherit the locks that its threads hold."""

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


def _serve(pipe: Connection, task: _Task, how: Any) -> None:
    """Do the jobs that come, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
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
