"""Bodies and connections of requests: how long one may take, how large it may be, and how many there may be."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, suppress
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tm2tfr.web.playground import guard, server
from tm2tfr.web.playground import server as connections
from tm2tfr.web.playground.guard import HEADERS, MOST_BODY, MOST_IN_ALL, MOST_OF_CLIENT, Bodies, Guard
from tm2tfr.web.playground.server import Playground, playground
from tm2tfr.web.playground.workers import Workers


# ── bodies of requests: how long one may take, how large it may be, and how much all of them may hold
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


# ── connections of the server: one that says half a header, or never ends its body, is closed; too many are told so
@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Playground]:
    """A server without processes, in a thread; it has little patience, and takes four connections."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(connections, "REST_SECONDS", 0.3)
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 4)
    monkeypatch.setattr(guard, "MOST_BODY", 1 << 20)
    servers: list[server._Server] = []
    monkeypatch.setattr(server._Server, "__init__", _noting(servers))
    found = playground(0, workers=Workers(size=0))
    ready = threading.Event()
    thread = threading.Thread(target=found.run, args=(ready.set,))
    thread.start()
    assert ready.wait(20)
    yield found
    servers[0].should_exit = True
    thread.join(20)
    assert not thread.is_alive()


def _noting(servers: list[server._Server]) -> object:
    plain = server._Server.__init__

    def noted(self: server._Server, config: object) -> None:
        servers.append(self)
        plain(self, config)  # type: ignore[arg-type]

    return noted


def _connected(found: Playground) -> socket.socket:
    return socket.create_connection(found.listening.getsockname(), timeout=10)


def _header(found: Playground, more: str = "", method: str = "GET", path: str = "/") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: {found.guard.hosts[0]}\r\n{more}\r\n".encode()


def _heard(client: socket.socket) -> bytes:
    """What the server says until it closes the connection."""
    said = b""
    with suppress(ConnectionError):
        while more := client.recv(1 << 16):
            said += more
    return said


def _answered(client: socket.socket) -> bytes:
    """A response of JSON, after which the connection is kept."""
    said = b""
    while not said.endswith(b"}"):
        more = client.recv(1 << 16)
        assert more
        said += more
    return said


@pytest.mark.slow
def test_half_a_header_is_not_waited_for(serving: Playground) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(_connected(serving)) for _ in range(4)]
        for client, half in zip(clients, (b"", b"G", b"GET / HTTP/1.1\r\nHost: x", b"GET / HTTP/1.1\r\n"), strict=True):
            client.sendall(half)
        assert [_heard(client) for client in clients] == [b"", b"", b"", b""]
    with _connected(serving) as client:  # the second request of a connection that is kept
        client.sendall(_header(serving, path="/nothing"))
        assert _answered(client).startswith(b"HTTP/1.1 404 ")
        time.sleep(0.5)  # between two requests, there is more time
        client.sendall(_header(serving, path="/nothing"))
        assert _answered(client).startswith(b"HTTP/1.1 404 ")
        client.sendall(b"GET /")
        assert _heard(client) == b""


@pytest.mark.slow
def test_what_comes_a_little_at_a_time_is_not_waited_for_either(serving: Playground) -> None:
    with _connected(serving) as client:
        start = time.monotonic()
        with suppress(ConnectionError):
            for sign in _header(serving, "X: " + "x" * 1000):
                client.sendall(bytes([sign]))
                time.sleep(0.02)
        assert time.monotonic() - start < 10


def test_too_many_connections_are_told_so(serving: Playground) -> None:
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(_connected(serving))
        with _connected(serving) as client:
            client.sendall(_header(serving))
            header, _, body = _heard(client).partition(b"\r\n\r\n")
    lines = header.decode().lower().split("\r\n")
    assert lines[0] == "http/1.1 503 service unavailable"
    assert {"content-type: application/json", "connection: close"} <= set(lines)
    assert {f"{name}: {value}".lower() for name, value in HEADERS.items()} <= set(lines)
    assert json.loads(body) == {
        "error": "there are too many connections: close other pages of the playground, and ask again"
    }


@pytest.mark.slow
@pytest.mark.parametrize(("token", "status"), [(True, 413), (False, 403)])
def test_a_body_without_end_is_not_read_for_long(serving: Playground, token: bool, status: int) -> None:
    shown = f"X-Tm2tfr-Token: {serving.guard.token}\r\n" if token else ""
    more = f"{shown}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    with _connected(serving) as client:
        client.sendall(_header(serving, more, "POST", "/api/answer"))
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        heard: list[bytes] = []
        listening = threading.Thread(target=lambda: heard.append(_heard(client)))
        listening.start()
        start = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() - start < 10:
                client.sendall(chunk)
        assert time.monotonic() - start < 10
        listening.join(10)
    assert heard[0].startswith(f"HTTP/1.1 {status} ".encode())


def test_a_request_for_which_there_is_no_room_is_told_when_to_ask_again(
    serving: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MOST_OF_CLIENT", 1 << 20)
    shown = f"X-Tm2tfr-Token: {serving.guard.token}\r\nX-Tm2tfr-Page: one\r\n"

    def post(length: int) -> bytes:
        more = f"{shown}Content-Type: application/json\r\nContent-Length: {length}\r\n"
        return _header(serving, more, "POST", "/api/answer")

    with _connected(serving) as first, _connected(serving) as second:
        first.sendall(post(1 << 20) + b" " * (1 << 20))  # it waits, since this server has no processes
        waiting = b""
        while not waiting.endswith(b'{"before":0}'):
            second.sendall(_header(serving, shown, path="/api/waiting"))
            waiting = _answered(second)
        second.sendall(post(1))
        header, _, body = _answered(second).partition(b"\r\n\r\n")
    lines = header.decode().lower().split("\r\n")
    assert lines[0] == "http/1.1 429 too many requests"
    assert "retry-after: 5" in lines
    assert json.loads(body)["error"] == (
        "requests of this client hold 1 MiB already: wait for one of the answers, then ask again"
    )
