"""The processes that compute answers: one that takes too long, or dies, is replaced, and the newest requests come first."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

from tests.playground.hostile import catastrophes
from tm2tfr.playground import server
from tm2tfr.playground.guard import Guard
from tm2tfr.playground.shipped import shipped_text
from tm2tfr.playground.workers import MOST_WAITING, Superseded, TooSlow, Workers

GOOD = {"source": shipped_text("chapter"), "input": "11"}
ENDLESS = {"source": {what: text for what, _, text in catastrophes()}["RASP length"]}


@pytest.mark.slow
def test_work_that_takes_too_long_is_ended_and_its_process_replaced() -> None:
    async def asked() -> None:
        workers = Workers(size=1, seconds={"answer": 1.0})
        await workers.start()
        with pytest.raises(TooSlow) as caught:
            await workers.ask("answer", ENDLESS)
        assert str(caught.value) == (
            "this takes longer than 1 seconds: use fewer states, gates or steps, a shorter input, or the command line"
        )
        workers.seconds = {"answer": 60.0}
        assert json.loads((await workers.ask("answer", GOOD)).body)["page"]["data"]["runs"][0]["answer"] == "accept"
        (idle,) = workers._all
        idle.process.kill()  # by the system, say: no source is to blame
        await idle.process.wait()
        assert (await workers.ask("answer", GOOD)).status == 200
        dying = asyncio.create_task(workers.ask("answer", ENDLESS))
        await asyncio.sleep(0.2)
        (worker,) = workers._all
        worker.process.kill()
        with pytest.raises(TooSlow, match="^computing this ended its process, probably since it needs too"):
            await dying
        waiting = [asyncio.create_task(workers.ask("answer", ENDLESS if n == 0 else GOOD)) for n in range(MOST_WAITING + 2)]
        await asyncio.sleep(0.1)
        with pytest.raises(Superseded, match="^there are newer requests: ask again$"):
            await waiting[1]
        waiting[0].cancel()  # nobody waits for the endless one: it is ended, since others wait
        for task in waiting[2:]:
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
        await workers.stop()
        await asyncio.gather(*waiting, newest, return_exceptions=True)

    asyncio.run(asked())


def test_a_process_that_ends_while_it_starts_is_not_blamed_on_the_source() -> None:
    async def asked() -> None:
        workers = Workers(size=1)
        await workers.start()
        asking = asyncio.create_task(workers.ask("answer", {"source": ""}))
        await asyncio.sleep(0)
        (worker,) = workers._all
        worker.process.kill()
        with pytest.raises(TooSlow, match="^the process that computes answers ended while it started: ask again$"):
            await asking
        await workers.stop()

    asyncio.run(asked())


LIMITED = """
from tm2tfr.playground import worker
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


def _asked(receive: Any, headers: dict[str, str]) -> tuple[int, Any]:
    """What the application answers to a request whose messages come from `receive`."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    given = {"host": "127.0.0.1:80", "x-tm2tfr-token": "t", "content-type": "application/json", **headers}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/answer",
        "raw_path": b"/api/answer",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "http_version": "1.1",
    }
    app = server.application(Guard(80, "t"), Workers())
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_a_body_that_comes_slowly_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow() -> Any:
        await asyncio.sleep(0.03)
        return {"type": "http.request", "body": b" ", "more_body": True}

    monkeypatch.setattr(server, "BODY_SECONDS", 0.1)
    assert _asked(slow, {}) == (408, {"error": "the request did not arrive within 0.1 seconds: send it again"})


def test_whoever_goes_away_before_the_end_is_answered_nothing_else() -> None:
    async def gone() -> Any:
        return {"type": "http.disconnect"}

    assert _asked(gone, {}) == (400, {"error": "the request is incomplete: send it again"})
