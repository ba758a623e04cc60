"""The processes that compute answers: a few, each for one request at a time, ended and replaced when one takes too long.

No client has all of them. What it asks beyond its share waits for its own requests to end; processes that are free go to
the client that has the fewest, and among equals in turns, so that many requests of one client do not delay the others.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.web.playground.worker import frame

SECONDS = {"answer": 10.0, "export": 30.0}
"""Kind of job -> the time limit in seconds."""
START = 60.0
"""The time limit for the start of a process, in seconds."""
MOST_WAITING = 8
"""The most requests of one client that wait for a process."""
MOST_WAITING_IN_ALL = 32
"""The most requests of all clients that wait for a process."""


class TooSlow(Tm2tfrError):  # noqa: N818  (the words for a user are its message)
    """A job that took too long, or that ended its process."""


class Busy(Tm2tfrError):  # noqa: N818
    """A request for which there is no room.

    Args:
        message: what is full, and what to do.
        status: of the response: 429 if the client itself takes the room, 503 if all clients together do.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Reply:
    """The reply of a worker: the status of the response, the name of the file if it is one, and the body."""

    status: int
    body: bytes
    name: str = ""


@dataclass(eq=False)
class _Worker:
    """A process with the task that starts it."""

    process: Process
    ready: bool = False

    async def reply(self, job: bytes, body: bytes | bytearray, seconds: float) -> Reply:
        """Return the reply to a job about the body of a request.

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
            self.process.stdin.write(frame(job) + len(body).to_bytes(4, "big"))
            self.process.stdin.write(body)  # by itself: joined to its length, it would be copied
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
        """Kill the process."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


def _seen(task: asyncio.Task[Reply]) -> None:
    """Retrieve the exception of an abandoned task, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


@dataclass(eq=False)
class Workers:
    """Processes for requests.

    Args:
        size: their number.
        seconds: kind of job -> its time limit, in seconds.
    """

    size: int = 3
    seconds: Mapping[str, float] = field(default_factory=lambda: dict(SECONDS))
    _idle: list[_Worker] = field(default_factory=list)
    _working: dict[_Worker, str] = field(default_factory=dict)  # -> the client
    _waiting: dict[str, list[asyncio.Future[_Worker]]] = field(default_factory=dict)  # client -> ..., in turns
    _abandoned: dict[_Worker, asyncio.Task[Reply]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _all: set[_Worker] = field(default_factory=set)
    _stopped: bool = False

    @property
    def share(self) -> int:
        """The most processes that work for one client: all but one."""
        return max(1, self.size - 1)

    async def start(self) -> None:
        """Start the processes; they need not be ready yet."""
        for _ in range(self.size):
            self._idle.append(await self._spawned())

    async def stop(self) -> None:
        """End all processes."""
        self._stopped = True
        for waiting in [each for queue in self._waiting.values() for each in queue]:
            waiting.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # a process that is being started is ended, too
        await asyncio.gather(*(worker.end() for worker in self._all))

    def admit(self, client: str) -> None:
        """Raise Busy if another request of `client` could not even wait."""
        if len(self._queue(client)) >= MOST_WAITING:
            what = f"{MOST_WAITING} requests of this client are waiting already"
            raise Busy(f"{what}: wait for one of the answers, then ask again", 429)
        if sum(len(self._queue(each)) for each in self._waiting) >= MOST_WAITING_IN_ALL:
            what = f"{MOST_WAITING_IN_ALL} requests are waiting already"
            raise Busy(f"{what}: close other pages of the playground, or ask again in some seconds", 503)

    def before(self, client: str) -> int | None:
        """Return the number of requests whose turn comes before the newest one of `client`; None if it has none waiting."""
        queues = {each: len(queue) for each in self._waiting if (queue := self._queue(each))}
        if client not in queues:
            return None
        order, own = list(queues), queues[client] - 1
        earlier = order[: order.index(client)]
        return own + sum(min(queues[each], own + (each in earlier)) for each in order if each != client)

    async def ask(self, kind: str, body: bytes | bytearray, client: str = "") -> Reply:
        """Return the reply to a request. If this is cancelled, the work continues until another request needs the process.

        Args:
            kind: of job: ``answer`` or ``export``.
            body: the request, as JSON.
            client: who asks.

        Raises:
            TooSlow: if it takes too long, or ends its process.
            Busy: if there are too many requests.
        """
        self.admit(client)
        seconds = self.seconds[kind]
        job = json.dumps({"do": kind, "seconds": int(seconds) + 5}).encode("ascii")
        worker = await self._taken(client)
        task = asyncio.create_task(self._worked(worker, job, body, seconds))
        task.add_done_callback(_seen)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                self._abandoned[worker] = task
                self._make_room()
            raise

    async def _worked(self, worker: _Worker, job: bytes, body: bytes | bytearray, seconds: float) -> Reply:
        kept = False
        try:
            reply = await worker.reply(job, body, seconds)
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

    async def _taken(self, client: str) -> _Worker:
        """Return an idle process as soon as it is the turn of `client`."""
        waiting: asyncio.Future[_Worker] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, []).append(waiting)
        self._hand_out()
        self._make_room()
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled():
                self._give(waiting.result())
            raise

    def _queue(self, client: str) -> list[asyncio.Future[_Worker]]:
        """Return the waiting requests of a client, the oldest first, without those just cancelled."""
        return [each for each in self._waiting.get(client, ()) if not each.done()]

    def _running(self, client: str) -> int:
        return list(self._working.values()).count(client)

    def _next(self) -> str | None:
        """Return the client whose turn it is; None if none waits that has less than its share."""
        for client in list(self._waiting):
            if not self._queue(client):
                del self._waiting[client]
        below = (client for client in self._waiting if self._running(client) < self.share)
        return min(below, key=self._running, default=None)

    def _hand_out(self) -> None:
        """Assign idle processes to waiting requests."""
        while self._idle and (client := self._next()) is not None:
            worker = self._idle.pop()
            if worker.process.returncode is not None:
                self._replace(worker)  # it was ended, but not by what it computed
                continue
            oldest, *rest = self._queue(client)
            del self._waiting[client]
            if rest:
                self._waiting[client] = rest  # behind all others
            self._working[worker] = client
            oldest.set_result(worker)

    def _make_room(self) -> None:
        """Cancel the oldest abandoned job, if a waiting request can then be assigned."""
        for client in self._waiting:
            below = self._running(client) < self.share
            for worker, task in self._abandoned.items():
                if self._queue(client) and (below or self._working[worker] == client):
                    del self._abandoned[worker]
                    task.cancel()
                    return

    def _give(self, worker: _Worker) -> None:
        self._working.pop(worker, None)
        self._idle.append(worker)
        self._hand_out()

    def _replace(self, worker: _Worker) -> None:
        async def replaced() -> None:
            await worker.end()
            self._all.discard(worker)
            if not self._stopped:
                self._idle.insert(0, await self._spawned())  # taken last, since it has yet to start
                self._hand_out()

        self._working.pop(worker, None)
        task = asyncio.get_running_loop().create_task(replaced())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._hand_out()  # its client has less than its share now

    async def _spawned(self) -> _Worker:
        found = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        variables = {**os.environ, **found, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        module = ["-P", "-m", "tm2tfr.web.playground.worker"]  # -P: nothing is imported from the current folder
        process = await asyncio.create_subprocess_exec(
            sys.executable, *module, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=variables
        )
        worker = _Worker(process)
        self._all.add(worker)
        return worker
