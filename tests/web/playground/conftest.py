"""A playground that is served by the command, in a process of its own, a client with its token, and a window."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.web.explorer import browser
from tests.web.playground.window import Serving, Window, serving


@dataclass(frozen=True)
class Served:
    """A playground that is served."""

    process: subprocess.Popen[str]
    address: str

    @property
    def base(self) -> str:
        return self.address.partition("/?token=")[0]

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    @property
    def token(self) -> str:
        return self.address.partition("/?token=")[2].partition("#")[0]

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.base, headers={"X-Tm2tfr-Token": self.token}, timeout=90)


def started(*arguments: str) -> Served:
    command = [sys.executable, "-m", "tm2tfr", "playground", "--no-open", "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return Served(process, process.stdout.readline().strip().removeprefix("the playground is at "))


def ended(served: Served) -> tuple[int, str, str]:
    """End it as Ctrl-C does; return its exit code and what else it printed."""
    served.process.send_signal(signal.SIGINT)
    output, errors = served.process.communicate(timeout=60)
    return served.process.returncode, output, errors


SECONDS = 2.0
"""How long `served` works at most: less than the command's ten seconds, which nobody wants to wait for."""
_SERVER = f"""
from tm2tfr.web.playground.server import playground
from tm2tfr.web.playground.workers import Workers
found = playground(0, workers=Workers(seconds=dict(answer={SECONDS}, export={SECONDS})))
found.run(lambda: print(found.address, flush=True))
"""


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    process = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = Served(process, process.stdout.readline().strip())
    yield found
    assert ended(found) == (0, "", "")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser.browser() as found:
        yield found


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving() as found:
        yield found


@pytest.fixture
def window(chromium: Any, server: Serving) -> Iterator[Window]:
    """A window that has stored nothing; afterwards nothing may have been complained of, nor asked of anybody else."""
    found = Window(chromium, server)
    yield found
    found.close()
    assert found.complaints == []
    own = f"http://127.0.0.1:{server.port}/"
    assert [url for url in found.requests if not url.startswith((own, "data:", f"blob:{own}"))] == []
