"""The bodies of requests, each read within a size limit, and all together within a memory limit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

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
