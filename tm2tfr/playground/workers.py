"""The processes that compute answers: a few, each for one request at a time, ended and replaced when one takes too long."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tm2tfr.errors import Tm2tfrError
from tm2tfr.playground.worker import frame

SECONDS = {"answer": 10.0, "export": 30.0}
"""The longest that a job may take."""
START = 60.0
"""The longest that a process may take to start, in seconds."""
MOST_WAITING = 8
"""The most requests that wait for a process; when there are more, the oldest is given up."""


class TooSlow(Tm2tfrError):  # noqa: N818  (the words for a user are its message)
    """A job that took too long, or that ended its process."""


class Superseded(Tm2tfrError):  # noqa: N818
    """A request that was given up for newer ones."""


@dataclass(frozen=True)
class Reply:
    """What a worker says: the status of the response, the name of a file if it is one, and the body."""

    status: int
    body: bytes
    name: str = ""


@dataclass(eq=False)
class _Worker:
    """A process with the task that starts it."""

    process: Process
    ready: bool = False

    async def reply(self, job: bytes, seconds: float) -> Reply:
        """Return the reply to a job.

        Raises:
            TimeoutError: if it takes longer than `seconds`.
            EOFError, OSError: if the process ends.
        """
        if not self.ready:
            async with asyncio.timeout(START):
                await self._received()
            self.ready = True
        if self.process.stdin is None:
            raise EOFError
        async with asyncio.timeout(seconds):
            self.process.stdin.write(frame(job))
            await self.process.stdin.drain()
            return await self._received()

    async def _received(self) -> Reply:
        stream = self.process.stdout
        if stream is None:
            raise EOFError
        head, body = [await stream.readexactly(int.from_bytes(await stream.readexactly(4), "big")) for _ in range(2)]
        found = json.loads(head)
        return Reply(int(found.get("status", 200)), body, str(found.get("name", "")))

    async def end(self) -> None:
        """End the process, whatever it does."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


def _seen(task: asyncio.Task[Reply]) -> None:
    """Look at the end of work that nobody waits for any more, so that nobody is told of it."""
    if not task.cancelled():
        task.exception()


@dataclass(eq=False)
class Workers:
    """Processes for requests.

    Args:
        size: their number.
        seconds: kind of job -> the longest that one may take, in seconds.
    """

    size: int = 2
    seconds: Mapping[str, float] = field(default_factory=lambda: dict(SECONDS))
    _idle: list[_Worker] = field(default_factory=list)
    _waiting: deque[asyncio.Future[_Worker]] = field(default_factory=deque)
    _abandoned: dict[_Worker, asyncio.Task[Any]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _all: set[_Worker] = field(default_factory=set)
    _stopped: bool = False

    async def start(self) -> None:
        """Start the processes; they need not be ready yet."""
        for _ in range(self.size):
            self._idle.append(await self._spawned())

    async def stop(self) -> None:
        """End all processes."""
        self._stopped = True
        for waiting in self._waiting:
            waiting.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # a process that is being started is ended, too
        await asyncio.gather(*(worker.end() for worker in self._all))

    async def ask(self, kind: str, request: Any) -> Reply:
        """Return the reply to a request. If this is cancelled, the work goes on until another request needs the process.

        Args:
            kind: of job: ``answer`` or ``export``.
            request: as plain data.

        Raises:
            TooSlow: if it takes too long, or ends its process.
            Superseded: if there are too many newer requests.
        """
        seconds = self.seconds[kind]
        job = json.dumps({"do": kind, "request": request, "seconds": int(seconds) + 5}).encode("ascii")
        worker = await self._taken()
        task = asyncio.create_task(self._worked(worker, job, seconds))
        task.add_done_callback(_seen)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                self._abandoned[worker] = task
                self._make_room()
            raise

    async def _worked(self, worker: _Worker, job: bytes, seconds: float) -> Reply:
        kept = False
        try:
            reply = await worker.reply(job, seconds)
            kept = True
            return reply
        except TimeoutError:
            what = f"this takes longer than {seconds:g} seconds"
            raise TooSlow(f"{what}: use fewer states, gates or steps, a shorter input, or the command line") from None
        except (EOFError, OSError):
            if not worker.ready:
                raise TooSlow("the process that computes answers ended while it started: ask again") from None
            what = "computing this ended its process, probably since it needs too much memory"
            raise TooSlow(f"{what}: use fewer states, gates or steps, or the command line") from None
        finally:
            self._abandoned.pop(worker, None)
            if kept:
                self._give(worker)
            else:
                self._replace(worker)

    async def _taken(self) -> _Worker:
        """Return a process that nobody uses, as soon as there is one."""
        while self._idle:
            worker = self._idle.pop()
            if worker.process.returncode is None:
                return worker
            self._replace(worker)  # it was ended, but not by what it computed
        waiting: asyncio.Future[_Worker] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        if len(self._waiting) > MOST_WAITING:
            oldest = self._waiting.popleft()
            if not oldest.done():  # whoever waits for it may have gone away a moment ago
                oldest.set_exception(Superseded("there are newer requests: ask again"))
        self._make_room()
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._give(waiting.result())
            elif waiting in self._waiting:
                self._waiting.remove(waiting)
            raise

    def _make_room(self) -> None:
        """End the oldest work that nobody waits for, if somebody waits for a process."""
        if self._waiting and self._abandoned:
            worker, task = next(iter(self._abandoned.items()))
            del self._abandoned[worker]
            task.cancel()

    def _give(self, worker: _Worker) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(worker)
                return
        self._idle.append(worker)

    def _replace(self, worker: _Worker) -> None:
        async def replaced() -> None:
            await worker.end()
            self._all.discard(worker)
            if not self._stopped:
                self._give(await self._spawned())

        task = asyncio.get_running_loop().create_task(replaced())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _spawned(self) -> _Worker:
        found = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        variables = {**os.environ, **found, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        module = ["-P", "-m", "tm2tfr.playground.worker"]  # -P: nothing is imported from the current folder
        process = await asyncio.create_subprocess_exec(
            sys.executable, *module, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=variables
        )
        worker = _Worker(process)
        self._all.add(worker)
        return worker
