"""Connections of the server: one that says half a header, or never ends its body, is closed; too many are told so."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from tm2tfr.web.playground import guard, server
from tm2tfr.web.playground import server as connections
from tm2tfr.web.playground.guard import HEADERS
from tm2tfr.web.playground.server import Playground, playground
from tm2tfr.web.playground.workers import Workers


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
