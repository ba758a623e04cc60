"""The playground's page in a browser, with the server that it asks, in a process of its own."""

from __future__ import annotations

import base64
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TOKEN = "a-token-of-the-tests"
PATIENCE = 60
"""How long anything may take, in seconds: a computer may have much else to do."""
SERVER = """
import socket, sys, uvicorn
from tm2tfr.web.playground.guard import Guard
from tm2tfr.web.playground.server import application
from tm2tfr.web.playground.workers import Workers
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listening.bind(("127.0.0.1", int(sys.argv[1])))
listening.listen()
port = listening.getsockname()[1]
text = "input: ' '\\nblank: _\\nstart state: a\\ntable:\\n  a: {' ': {R: b}}\\n  b:\\n"
given = dict(v=1, name="named", source=text, format=None, input=None, options={})
print(port, flush=True)
app = application(Guard(port, sys.argv[2]), Workers(), given)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listening])
"""
"""A server with a port and a token that are given, so that it can be started again, started with a source that is named."""

HOSTILE = """\
name: '<img src=x onerror=alert(1)>'
description: '<script>alert(2)</script><svg onload=alert(3)>'
blank: _
start state: '<img src=x onerror=alert(4)>'
input alphabet: ['1', '<']
input: '1<1'
table:
  '<img src=x onerror=alert(4)>':
    ['1', '<']: R
    _: {L: '</script><script>alert(5)</script>'}
  '</script><script>alert(5)</script>':
"""


LINKS_AND_HANDLERS = """elements => elements.flatMap(element => [...element.attributes])
  .map(attribute => attribute.name).filter(name => /^on|href$|^src/.test(name))"""
"""The names of attributes that would make something of a text: links, and handlers of events."""


class Serving:
    """A server that can be ended and started again, at the same port."""

    def __init__(self, token: str = TOKEN) -> None:
        self.port, self.token = 0, token
        self.process: subprocess.Popen[str] | None = None
        self.start()

    def start(self, token: str | None = None) -> None:
        """Start it, with another token if one is given, and wait until it listens."""
        self.token = token or self.token
        command = [sys.executable, "-c", SERVER, str(self.port), self.token]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def end(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(timeout=20)
        assert self.process.stdout is not None
        self.process.stdout.close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"


@contextmanager
def serving() -> Iterator[Serving]:
    """Give a server, and end it."""
    server = Serving()
    yield server
    server.end()


class Window:
    """A window with the playground, and what it complained of, asked for and was asked."""

    def __init__(self, chromium: Any, server: Serving, **options: Any) -> None:
        self.context = chromium.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        self.context.set_default_timeout(1000 * PATIENCE)
        self.server = server
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.asked: list[Any] = []
        self.page = self._page()

    def _page(self) -> Any:
        page = self.context.new_page()
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: (self.requests.append(request.url), self.asked.append(request)))
        return page

    def open(self, fragment: str = "") -> Any:
        """Open the playground and wait until the first answer is shown."""
        self.page.goto(self.server.address + fragment)
        self.page.wait_for_selector("html[data-ready=true][data-answered]")
        return self.page

    def close(self) -> None:
        self.context.close()


def answers(page: Any) -> int:
    """Return the number of answers that the page has shown."""
    return int(page.locator("html").get_attribute("data-answered"))


@contextmanager
def answered(page: Any) -> Iterator[None]:
    """Wait, after what is done inside, until it is answered."""
    before = answers(page)
    yield
    until(page, lambda: answers(page) > before)
    page.wait_for_timeout(60)


def until(page: Any, holds: Callable[[], bool]) -> None:
    """Wait until something holds; the page forbids eval, so it cannot be asked to wait."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "that does not happen"
        page.wait_for_timeout(20)


def opened(page: Any, name: str) -> None:
    """Open a shipped source from the list."""
    page.get_by_role("button", name="all sources").click()
    page.wait_for_selector(".library-list button", state="attached")
    page.keyboard.type(name)
    with answered(page):
        page.keyboard.press("Enter")


def text(page: Any) -> str:
    """Return the text of the editor, which has all lines in the page where they are few."""
    lines = page.locator(".cm-line").evaluate_all("lines => lines.map(line => line.textContent)")
    return "\n".join(lines)


def written(page: Any, source: str) -> None:
    """Put a text in the place of the editor's, as a paste does."""
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+A")
    with answered(page):
        page.keyboard.insert_text(source)


def linked(page: Any) -> str:
    """Return the link that the page copies."""
    page.get_by_role("button", name="link", exact=True).click()
    page.wait_for_selector(".message .fine")
    return str(page.evaluate("navigator.clipboard.readText()"))


def bomb() -> str:
    """Return a link of 30,000 characters that becomes 20 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(b" " * 20_000_000) + packer.flush()
    return "#source=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")
