"""Who may ask: the page that this server sent, at its own address, with the token; everybody else is refused.

A page elsewhere can make a browser send requests here. It cannot read the token; its requests tell where they come from
(``Origin``, ``Sec-Fetch-Site``); and a name of its own that it lets point to this computer (DNS rebinding) is not the
``Host`` that this server has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest

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
