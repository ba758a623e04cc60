"""Connections that nobody can keep open for good, and that are answered in JSON where there are too many.

uvicorn has a limit of its own on the time between two requests, and none on the time in which one arrives.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""The longest that the header of a request may take to arrive, from the connection or its first byte on."""
REST_SECONDS = 1.0
"""The longest that the rest of a body is read, and thrown away, after the response."""
MOST_CONNECTIONS = 512
"""The most connections that are served at once: more than a browser has, whatever page is open in it."""


class Connection(H11Protocol):
    """A connection of uvicorn's that ends when its request does not arrive in time."""

    busy: ASGIApp
    """What answers where there are too many connections; it closes its own."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
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
