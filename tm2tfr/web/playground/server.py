"""The local web application around `answer`, on the loopback address alone; `tm2tfr.web.playground` says what it takes."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tm2tfr.base.errors import NotFoundError, UsageError
from tm2tfr.contract.shown import PlainData
from tm2tfr.web.playground.answer import empty, said
from tm2tfr.web.playground.guard import HEADERS, Bodies, Guard
from tm2tfr.web.playground.query import formats, shipped, shipped_text
from tm2tfr.web.playground.worker import encoded
from tm2tfr.web.playground.workers import Busy, TooSlow, Workers

# ── Connections that nobody can keep open for good, and that are answered in JSON where there are too many.
#
# uvicorn has a limit of its own on the time between two requests, and none on the time in which one arrives.
HEADER_SECONDS = 10.0
"""The longest that the header of a request may take to arrive, from the connection or its first byte on."""
REST_SECONDS = 1.0
"""The longest that the rest of a body is read, and thrown away, after the response."""
MOST_CONNECTIONS = 512
"""The most connections that are served at once: more than a browser has, whatever page is open in it."""


class Connection(H11Protocol):
    """A connection of uvicorn's that ends when its request does not arrive in time."""

    busy: ASGIApp
    """The application that answers when there are too many connections; it closes them."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first header."""
        super().connection_made(transport)
        self._end_in(HEADER_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Read on, and begin to wait, or stop waiting, for the rest of a header."""
        if len(self.connections) > MOST_CONNECTIONS:
            self.app = self.busy
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            if self._deadline is None:
                self._end_in(HEADER_SECONDS)
        elif self.cycle is None or not self.cycle.response_complete:
            self._go_on()

    def on_response_complete(self) -> None:
        """Go on to the next request; where this one is still being sent, only for a moment."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._end_in(REST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._go_on()
        super().connection_lost(exc)

    def _end_in(self, seconds: float) -> None:
        self._go_on()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _go_on(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def connections(busy: ASGIApp) -> type[Connection]:
    """Return the class of connections for ``uvicorn.Config(http=…)``, with what answers where there are too many."""
    return type("Connection", (Connection,), {"busy": staticmethod(busy)})


HOST = "127.0.0.1"
"""The only address that the server listens on."""
PORT = 8465
"""The default port."""
CLIENT = "x-tm2tfr-page"
"""The header that identifies a page: each is a client with a share of processes and memory."""
AGAIN_SECONDS = 5
"""The seconds after which a request that found the queue full may be sent again."""
_CLIENT = re.compile("[A-Za-z0-9_-]{0,64}")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class Playground:
    """A server that is bound to its port and not started yet.

    Args:
        listening: its socket.
        guard: who may ask.
        app: what answers.
        given: whether the page is to open with a source that was named.
    """

    listening: socket.socket
    guard: Guard
    app: ASGIApp
    given: bool = False

    @property
    def address(self) -> str:
        """The address of the page, with the token, and, for a given source, a fragment that makes the page load it."""
        return f"http://{self.guard.hosts[0]}/?token={self.guard.token}{'#given' if self.given else ''}"

    def run(self, started: Callable[[], None]) -> None:
        """Serve until Ctrl-C or a signal ends it.

        Args:
            started: called when requests are answered.
        """
        busy = _error(503, "there are too many connections: close other pages of the playground, and ask again")
        busy.headers["Connection"] = "close"
        config = uvicorn.Config(
            self.app,
            log_level="critical",
            access_log=False,
            server_header=False,
            ws="none",
            http=connections(_Guarded(busy, self.guard)),
            lifespan="on",
            timeout_keep_alive=30,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=1 << 16,
            proxy_headers=False,
        )
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it would tell of processes that were ended
        server = _Server(config)
        server.after = started
        with suppress(KeyboardInterrupt):
            server.run(sockets=[self.listening])


class _Server(uvicorn.Server):
    """A server that says when it has started."""

    after: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.after()


def playground(port: int = PORT, *, workers: Workers | None = None, given: PlainData | None = None) -> Playground:
    """Return the server, bound to `port` of the loopback address; 0 is any port that is free.

    Args:
        given: what the page opens with, see `tm2tfr.web.playground.query.opening_source`.

    Raises:
        UsageError: if the port is in use, or may not be used.
    """
    if not 0 <= port <= 65535:
        raise UsageError(f"{port} is not a port: use 1 to 65535, or 0 for any that is free")
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if sys.platform != "win32":  # there, it would let two servers have one port
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen(128)
    except OSError as error:
        found.close()
        remedy = (
            f"stop what uses it, or use another one, --port {port + 1 if port < 65535 else 0}, or any free one, --port 0"
        )
        raise UsageError(f"port {port} of {HOST} cannot be used ({error.strerror}): {remedy}") from None
    guard = Guard(found.getsockname()[1], secrets.token_urlsafe(24))
    return Playground(found, guard, application(guard, workers or Workers(), given), given is not None)


def application(guard: Guard, workers: Workers, given: PlainData | None = None) -> ASGIApp:
    """Return the application that answers requests which pass `guard`; `workers` compute, `given` is the opening source."""

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await workers.start()
        yield
        await workers.stop()

    bodies = Bodies()

    async def answer(request: Request) -> Response:
        return await _computed(request, workers, bodies, "answer")

    async def export(request: Request) -> Response:
        return await _computed(request, workers, bodies, "export")

    async def waiting(request: Request) -> Response:
        return _json({"before": workers.before(_client(request))})

    async def opening(_: Request) -> Response:
        if given is None:
            return _error(404, "the server was started without a source: choose one under 'all sources'")
        return _json(given)

    routes = [
        Route("/", _page),
        Route("/assets/{name}", _asset),
        Route("/api/given", opening),
        Route("/api/formats", _formats),
        Route("/api/shipped", _listed),
        Route("/api/shipped/{name}", _shipped),
        Route("/api/waiting", waiting),
        Route("/api/answer", answer, methods=["POST"]),
        Route("/api/export", export, methods=["POST"]),
    ]
    handlers: Any = {HTTPException: _refused, Busy: _busy, Exception: _failed}
    return _Guarded(Starlette(routes=routes, lifespan=life, exception_handlers=handlers), guard)


class _Guarded:
    """An application behind a guard, with the headers of every response."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *(pair for pair in more if pair[0] not in given)]}
            await send(message)

        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        refusal = self._guard.refusal(scope["method"], scope["path"], headers)
        app = self._app if refusal is None else _error(refusal.status, refusal.why)
        await app(scope, receive, sent)


# ── requests ────────────────────────────────────────────────────────────────────────────────────────────────
async def _computed(request: Request, workers: Workers, bodies: Bodies, kind: str) -> Response:
    """Return the reply to a job. A job whose client disconnects is abandoned."""
    client = _client(request)
    workers.admit(client)  # before its body takes memory
    async with bodies.of(request, client) as body:
        gone = asyncio.create_task(_gone(request))
        work = asyncio.create_task(workers.ask(kind, body, client))
        await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if not work.done():
            work.cancel()
            raise HTTPException(499, "nobody waits for this any more")
    try:
        reply = work.result()
    except TooSlow as error:
        return _error(422, str(error)) if kind == "export" else _json(empty([said(str(error))]))
    if reply.name:
        headers = {"Content-Disposition": f'attachment; filename="{reply.name}"'}
        return Response(reply.body, media_type="application/octet-stream", headers=headers)
    return Response(reply.body, reply.status, media_type="application/json")


def _client(request: Request) -> str:
    """Return the client of a request, by its header; requests without the header share one client.

    Raises:
        HTTPException: if the header is not a valid name.
    """
    said = request.headers.get(CLIENT, "")
    if _CLIENT.fullmatch(said) is None:
        what = "the header X-Tm2tfr-Page must be up to 64 letters, digits, - and _"
        raise HTTPException(400, f"{what}: use for example page-1, or omit it")
    return said


async def _gone(request: Request) -> None:
    """Return when the client has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        continue


async def _page(_: Request) -> Response:
    return Response(_assets()["index.html"].read_bytes(), media_type=_TYPES[".html"])


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    found = _assets()
    if name not in found:
        return _error(404, f"there is no file {name[:60]!r}")
    kind = _TYPES.get(f".{name.rpartition('.')[2]}", "application/octet-stream")
    return Response(found[name].read_bytes(), media_type=kind)


@cache
def _assets() -> dict[str, Traversable]:
    """Return the files of the page by name: its own, and those that it shares with the explorer's page."""
    folders = (files("tm2tfr.web.explorer").joinpath("assets"), files(__package__).joinpath("assets"))
    return {each.name: each for folder in folders for each in folder.iterdir() if each.is_file()}


async def _formats(_: Request) -> Response:
    return _json(formats())


async def _listed(_: Request) -> Response:
    return _json(await asyncio.to_thread(shipped))


async def _shipped(request: Request) -> Response:
    try:
        return PlainTextResponse(await asyncio.to_thread(shipped_text, request.path_params["name"]))
    except NotFoundError as error:
        return _error(404, str(error))


# ── what is answered ────────────────────────────────────────────────────────────────────────────────────────
def _json(value: object, status: int = 200) -> Response:
    return Response(encoded(value), status, media_type="application/json")


def _error(status: int, why: str) -> Response:
    response = _json({"error": why}, status)
    if status in (429, 503):
        response.headers["Retry-After"] = str(AGAIN_SECONDS)
    return response


async def _refused(_: Request, error: Exception) -> Response:
    status, why = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    known = {404: "there is nothing at this address", 405: "this address takes no such request"}
    return _error(status, known.get(status, why))


async def _busy(_: Request, error: Exception) -> Response:
    return _error(error.status if isinstance(error, Busy) else 503, str(error))


async def _failed(_: Request, error: Exception) -> Response:
    return _error(500, f"internal error: {type(error).__name__}: this is a bug, please report it")
