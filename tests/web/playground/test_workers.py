"""The processes that compute answers: one that takes too long, or dies, is replaced, and every client gets its turn."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from tests.web.playground.hostile import ENDLESS
from tm2tfr.web.playground.query import shipped_text
from tm2tfr.web.playground.workers import MOST_WAITING, MOST_WAITING_IN_ALL, Busy, Reply, TooSlow, Workers, _Worker

GOOD = json.dumps({"source": shipped_text("chapter"), "input": "11"}).encode()
SLOW = json.dumps({"source": ENDLESS}).encode()


@pytest.mark.slow
def test_work_that_takes_too_long_is_ended_and_its_process_replaced() -> None:
    async def asked() -> None:
        workers = Workers(size=1, seconds={"answer": 1.0})
        await workers.start()
        with pytest.raises(TooSlow) as caught:
            await workers.ask("answer", SLOW)
        assert str(caught.value) == (
            "this takes longer than 1 seconds: use fewer states, gates or steps, a shorter input, or the command line"
        )
        workers.seconds = {"answer": 60.0}
        assert json.loads((await workers.ask("answer", GOOD)).body)["page"]["data"]["runs"][0]["answer"] == "accept"
        (idle,) = workers._all
        idle.process.kill()  # by the system, say: no source is to blame
        await idle.process.wait()
        assert (await workers.ask("answer", GOOD)).status == 200
        dying = asyncio.create_task(workers.ask("answer", SLOW))
        await asyncio.sleep(0.2)
        (worker,) = workers._all
        worker.process.kill()
        with pytest.raises(TooSlow, match="^computing this ended its process, probably since it needs too"):
            await dying
        assert (await workers.ask("answer", GOOD)).status == 200  # its process is there again
        waiting = [asyncio.create_task(workers.ask("answer", SLOW if n == 0 else GOOD)) for n in range(MOST_WAITING + 1)]
        await asyncio.sleep(0.1)
        with pytest.raises(Busy):
            await workers.ask("answer", GOOD)
        waiting[0].cancel()  # nobody waits for the endless one: it is ended, since others wait
        for task in waiting[1:]:
            assert (await task).status == 200
        await workers.stop()
        assert all(worker.process.returncode is not None for worker in workers._all)

    asyncio.run(asked())


def test_whoever_just_went_away_takes_nobodys_place() -> None:
    async def asked() -> None:
        workers = Workers(size=0)
        waiting = [asyncio.create_task(workers.ask("answer", GOOD)) for _ in range(MOST_WAITING)]
        await asyncio.sleep(0)
        newest = asyncio.create_task(workers.ask("answer", GOOD))
        waiting[0].cancel()
        done, _ = await asyncio.wait({*waiting, newest}, timeout=0.1)
        assert done == {waiting[0]}
        assert workers.before("") == MOST_WAITING - 1
        await workers.stop()
        await asyncio.gather(*waiting, newest, return_exceptions=True)

    asyncio.run(asked())


def test_a_process_that_ends_while_it_starts_is_not_blamed_on_the_source() -> None:
    async def asked() -> None:
        workers = Workers(size=1)
        await workers.start()
        asking = asyncio.create_task(workers.ask("answer", b'{"source": ""}'))
        await asyncio.sleep(0)
        (worker,) = workers._all
        worker.process.kill()
        with pytest.raises(TooSlow, match="^the process that computes answers ended while it started: ask again$"):
            await asking
        await workers.stop()

    asyncio.run(asked())


class Played:
    """Workers whose processes are played: each job is a name, and ends when the test says so."""

    def __init__(self, size: int) -> None:
        self.workers = Workers(size=size)
        self.workers._spawned = self._spawned  # type: ignore[method-assign]
        self.workers._idle = [self._worker() for _ in range(size)]
        self.started: list[str] = []
        self.ended: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}

    def _worker(self) -> _Worker:
        return _Played(process=_Process(), played=self)  # type: ignore[arg-type]

    async def _spawned(self) -> _Worker:
        return self._worker()

    async def ask(self, name: str) -> asyncio.Task[Reply]:
        """Ask for the job of a name, whose first letter is the client."""
        self.ends[name] = asyncio.Event()
        task = asyncio.create_task(self.workers.ask("answer", name.encode(), name[0]))
        await _settled()
        return task

    async def end(self, name: str) -> None:
        """End a job that runs."""
        self.ends[name].set()
        await _settled()


@dataclass(eq=False)
class _Played(_Worker):
    played: Any = None

    async def reply(self, job: bytes, body: bytes | bytearray, seconds: float) -> Reply:
        name = body.decode()
        self.played.started.append(name)
        try:
            await self.played.ends[name].wait()
        except asyncio.CancelledError:
            self.played.ended.append(name)
            raise
        return Reply(200, b"")


class _Process:
    returncode = None

    def kill(self) -> None:
        """There is nothing to end."""

    async def wait(self) -> None:
        """It has ended."""


async def _settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_client_has_its_share_and_the_others_get_their_turns() -> None:
    async def asked() -> None:
        played = Played(3)
        for name in ("a1", "a2", "a3", "a4", "a5"):
            await played.ask(name)
        assert played.started == ["a1", "a2"]  # one process is left for others
        assert played.workers.before("a") == 2
        for name in ("b1", "b2", "c1"):
            await played.ask(name)
        assert played.started == ["a1", "a2", "b1"]
        assert [played.workers.before(client) for client in "abcd"] == [4, 1, 2, None]
        await played.end("a1")
        assert played.started[3:] == ["c1"]  # it has none yet; of the others, a and b have one each
        await played.end("c1")
        assert played.started[4:] == ["a3"]
        await played.end("b1")
        assert played.started[5:] == ["b2"]
        await played.end("b2")
        assert played.started[6:] == []  # a has its share
        await played.end("a2")
        await played.end("a3")
        assert played.started[6:] == ["a4", "a5"]
        assert [played.workers.before(client) for client in "abc"] == [None, None, None]

    asyncio.run(asked())


def test_work_that_was_abandoned_is_ended_where_that_lets_a_request_go_on() -> None:
    async def asked() -> None:
        played = Played(3)
        (await played.ask("a1")).cancel()
        (await played.ask("a2")).cancel()
        await played.ask("b1")
        assert played.ended == []  # there was a process for it
        await played.ask("b2")
        assert played.ended == ["a1"]
        assert played.started == ["a1", "a2", "b1", "b2"]
        await played.ask("b3")
        assert played.ended == ["a1"]  # b has its share
        await played.ask("a3")
        assert played.ended == ["a1", "a2"]
        assert played.started[4:] == ["a3"]

    asyncio.run(asked())


def test_what_cannot_even_wait_is_told_so() -> None:
    async def asked() -> None:
        played = Played(0)
        clients = "abcd"[: MOST_WAITING_IN_ALL // MOST_WAITING]
        for client in clients:
            for n in range(MOST_WAITING):
                await played.ask(f"{client}{n}")
        own = f"{MOST_WAITING} requests of this client are waiting already: wait for one of the answers, then ask again"
        all = (
            f"{MOST_WAITING_IN_ALL} requests are waiting already: "
            "close other pages of the playground, or ask again in some seconds"
        )
        for client, status, said in (("a", 429, own), ("e", 503, all)):
            with pytest.raises(Busy, match=f"^{said}$") as caught:
                await played.workers.ask("answer", b"", client)
            assert caught.value.status == status
        await played.workers.stop()

    asyncio.run(asked())


LIMITED = """
from tm2tfr.web.playground import worker
worker._limit()
try:
    bytearray(3 << 30)
except MemoryError:
    print("no memory")
try:
    with open("written", "w") as file:
        file.write("x")
except OSError:
    print("no file")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="these limits are those of Linux: run it there")
def test_a_process_has_limits(tmp_path: Any) -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("no memory\nno file\n", "")
    assert [path.stat().st_size for path in tmp_path.iterdir()] in ([], [0])
