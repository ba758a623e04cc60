"""Which requests are answered: those of the page that this server sent, with the token; and how large they may be.

A page elsewhere can make a browser send requests here. It cannot read the token; its requests tell where they come from
(``Origin``, ``Sec-Fetch-Site``); and a name of its own that it lets point to this computer (DNS rebinding) is not the
``Host`` that this server has.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hmac import compare_digest

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""The headers of every response."""
TOKEN = "x-tm2tfr-token"


@dataclass(frozen=True)
class Denial:
    """Why a request is refused: the status of the response, and the words."""

    status: int
    why: str


@dataclass(frozen=True)
class Guard:
    """What is checked of each request.

    Args:
        port: where the server listens.
        token: what the page has to show.
    """

    port: int
    token: str

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of this server."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def refusal(self, method: str, path: str, headers: Mapping[str, list[str]]) -> Denial | None:
        """Return why a request is refused; None: it is not.

        Args:
            headers: name, in small letters -> its values.
        """
        if len(headers.get("host", [])) != 1 or headers["host"][0].lower() not in self.hosts:
            return Denial(403, f"this is not the address of the playground: open http://{self.hosts[0]}/")
        allowed = {f"http://{host}" for host in self.hosts}
        if any(origin.lower() not in allowed for origin in headers.get("origin", [])):
            return Denial(403, "requests from other pages are refused: use the playground's own page")
        page = method in ("GET", "HEAD") and path == "/"
        sites = {site.lower() for site in headers.get("sec-fetch-site", [])}
        if not page and not sites <= {"same-origin", "none"}:
            return Denial(403, "requests from other pages are refused: use the playground's own page")
        if path.startswith("/api/"):
            shown = headers.get(TOKEN, [])
            if len(shown) != 1 or not compare_digest(shown[0].encode(), self.token.encode()):
                return Denial(403, "the token is missing or wrong: open the address that the terminal shows")
        return None


# ── The bodies of requests, each read within a size limit, and all together within a memory limit.
MOST_BODY = 8 << 20
"""The largest body of a request, in bytes: a source of a million characters, each as an escape of JSON."""
MOST_OF_CLIENT = 2 * MOST_BODY
"""The most bytes of bodies that are held for one client."""
MOST_IN_ALL = 4 * MOST_BODY
"""The most bytes of bodies that are held for all clients."""
BODY_SECONDS = 10.0
"""The time limit for the arrival of a body, in seconds."""


@dataclass(eq=False)
class Bodies:
    """The bodies in memory, from their first byte until the request is answered or its client disconnects.

    Args:
        held: client -> the bytes of its bodies.
    """

    held: Counter[str] = field(default_factory=Counter)

    @asynccontextmanager
    async def of(self, request: Request, client: str) -> AsyncIterator[bytearray]:
        """Hold the body of a request, as it came.

        Raises:
            HTTPException: if it is not JSON by its type, is too large, takes too long to arrive, or is more than there is
                room for.
        """
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "a request must be JSON: send it with Content-Type: application/json")
        self._check(int(request.headers.get("content-length", 0)), client, 0)  # before a byte of it is read
        data = bytearray()
        try:
            await self._read(request, client, data)
            yield data
        finally:
            self.held[client] -= len(data)
            if not self.held[client]:
                del self.held[client]

    async def _read(self, request: Request, client: str, data: bytearray) -> None:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in request.stream():
                    self._check(len(chunk), client, len(data))
                    self.held[client] += len(chunk)
                    data += chunk
        except TimeoutError:
            what = f"the request did not arrive within {BODY_SECONDS:g} seconds"
            raise HTTPException(408, f"{what}: send it again") from None
        except ClientDisconnect:
            raise HTTPException(400, "the request is incomplete: send it again") from None

    def _check(self, more: int, client: str, before: int) -> None:
        """Raise HTTPException if there is no room for `more` bytes of a body of which `before` are held."""
        if before + more > MOST_BODY:
            raise HTTPException(413, f"the request is larger than {MOST_BODY >> 20} MiB: use a shorter source")
        if self.held[client] + more > MOST_OF_CLIENT:
            what = f"requests of this client hold {MOST_OF_CLIENT >> 20} MiB already"
            raise HTTPException(429, f"{what}: wait for one of the answers, then ask again")
        if self.held.total() + more > MOST_IN_ALL:
            what = f"requests hold {MOST_IN_ALL >> 20} MiB already"
            raise HTTPException(503, f"{what}: close other pages of the playground, or ask again in some seconds")
