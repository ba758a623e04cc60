"""Bodies of requests: how long one may take, how large it may be, and how much all of them may hold."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tm2tfr.web.playground import guard, server
from tm2tfr.web.playground.guard import MOST_BODY, MOST_IN_ALL, MOST_OF_CLIENT, Bodies, Guard
from tm2tfr.web.playground.workers import Workers


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

    monkeypatch.setattr(guard, "BODY_SECONDS", 0.1)
    assert _asked(slow, {}) == (408, {"error": "the request did not arrive within 0.1 seconds: send it again"})


def test_whoever_goes_away_before_the_end_is_answered_nothing_else() -> None:
    async def gone() -> Any:
        return {"type": "http.disconnect"}

    assert _asked(gone, {}) == (400, {"error": "the request is incomplete: send it again"})


class Sent:
    """A request whose body comes in parts; `read` are the bytes of it that were asked for."""

    def __init__(self, *parts: bytes, length: int | None = None) -> None:
        self.parts = list(parts)
        self.read = 0
        headers = [(b"content-type", b"application/json")]
        headers += [] if length is None else [(b"content-length", str(length).encode())]
        self.request = Request({"type": "http", "method": "POST", "path": "/", "headers": headers}, self._receive)

    async def _receive(self) -> Any:
        part = self.parts.pop(0)
        self.read += len(part)
        return {"type": "http.request", "body": part, "more_body": bool(self.parts)}


TOO_LARGE = "the request is larger than 8 MiB: use a shorter source"
OWN = "requests of this client hold 16 MiB already: wait for one of the answers, then ask again"
ALL = "requests hold 32 MiB already: close other pages of the playground, or ask again in some seconds"
MEGABYTES = [b" " * (1 << 20)] * (MOST_BODY >> 20)


def test_a_body_that_is_too_large_is_not_read_to_its_end() -> None:
    async def asked() -> None:
        found = Bodies()
        told, counted = Sent(*MEGABYTES, b" ", length=MOST_BODY + 1), Sent(*MEGABYTES, b" ", *MEGABYTES)
        for sent in (told, counted):
            with pytest.raises(HTTPException) as caught:
                async with found.of(sent.request, "a"):
                    pass
            assert (caught.value.status_code, caught.value.detail) == (413, TOO_LARGE)
        assert (told.read, counted.read) == (0, MOST_BODY + 1)
        assert dict(found.held) == {}

    asyncio.run(asked())


@pytest.mark.parametrize("length", [None, 1])
def test_bodies_of_a_client_and_of_all_are_counted_until_they_are_let_go(length: int | None) -> None:
    async def held(stack: AsyncExitStack, found: Bodies, client: str) -> None:
        data = await stack.enter_async_context(found.of(Sent(*MEGABYTES).request, client))
        assert len(data) == MOST_BODY

    async def refused(found: Bodies, client: str) -> tuple[int, str]:
        with pytest.raises(HTTPException) as caught:
            async with found.of(Sent(b" ", length=length).request, client):
                pass
        return caught.value.status_code, caught.value.detail

    async def asked() -> None:
        found = Bodies()
        async with AsyncExitStack() as stack:
            for client in ("a", "a", "b"):
                await held(stack, found, client)
            assert await refused(found, "a") == (429, OWN)
            await held(stack, found, "c")
            assert await refused(found, "d") == (503, ALL)
            assert dict(found.held) == {"a": MOST_OF_CLIENT, "b": MOST_BODY, "c": MOST_BODY}
            assert found.held.total() == MOST_IN_ALL
        assert dict(found.held) == {}
        async with found.of(Sent(b"{}").request, "d") as data:
            assert bytes(data) == b"{}"

    asyncio.run(asked())
