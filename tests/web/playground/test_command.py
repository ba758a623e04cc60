"""``tm2tfr playground``: the address that it prints, what it opens with, and what it refuses."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import httpx
import pytest

from tests.cli.test_commands import tm2tfr
from tests.readme import ROOT
from tests.web.playground.conftest import ended, started
from tm2tfr.web.playground import query, server
from tm2tfr.web.playground.query import shipped_text


@pytest.mark.slow
def test_it_is_served_until_ctrl_c() -> None:
    """The command that the page in the documentation shows."""
    shown = (ROOT / "docs/how-to/playground.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^tm2tfr playground (.*)$", shown, re.MULTILINE)
    found = started(command)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}#given", found.address)
    with found.client() as client:
        assert client.get("/api/given").json()["source"] == shipped_text("binary-increment")
    assert httpx.get(f"{found.base}/api/given", timeout=60).status_code == 403
    assert httpx.get(found.base, timeout=60).status_code == 200
    with socket.socket() as other:  # it listens on no other address
        other.settimeout(2)
        assert other.connect_ex(("127.0.0.2", found.port)) != 0
    assert ended(found) == (0, "", "Ctrl-C ends it\nended\n")


def test_a_source_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.bench"
    path.write_text("INPUT(a)\nOUTPUT(y)\ny = NOT(a)\n", encoding="utf-8")
    nothing = {"v": 1, "input": None, "options": {}}
    found = {"name": "mine", "source": path.read_text(encoding="utf-8"), "format": "bench"}
    assert query.opening_source(str(path)) == nothing | found
    assert query.opening_source("1RB1LB_1LA1RZ") == nothing | {
        "name": "1RB1LB_1LA1RZ",
        "source": "1RB1LB_1LA1RZ",
        "format": "bbchallenge",
    }
    assert query.opening_source("parity.rasp")["format"] == "rasp"
    (tmp_path / "m.yaml").write_text("blank: _\n", encoding="utf-8")
    assert query.opening_source(str(tmp_path / "m.yaml"))["format"] is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", "byte 0 is 0xff, which is not UTF-8"),
        (b"#" * 1_048_577, "the text is larger than 1 MiB: no source needs that much: check that this is the right file"),
        (
            b"\x10" + bytes(7) + b"{" + b" " * 16,
            "this is a weight file, and the playground takes a source: name",
        ),
    ],
)
def test_what_cannot_be_carried_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    done = tm2tfr("playground", str(path), "--no-open", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"x.txt: {said}" in done.stderr or f"x.txt:1:1: {said}" in done.stderr


def test_there_is_no_such_thing(tmp_path: Path) -> None:
    done = tm2tfr("playground", "nothing-like-it", "--no-open", cwd=tmp_path)
    remedy = "name a file, or what 'tm2tfr list' lists"
    said = f"nothing-like-it: there is no such file, and nothing of that name is shipped: {remedy}\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind((server.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        done = tm2tfr("playground", "--port", str(port), "--no-open", cwd=tmp_path)
    remedy = f"stop what uses it, or use another one, --port {port + 1}, or any free one, --port 0"
    said = f"port {port} of 127.0.0.1 cannot be used (Address already in use): {remedy}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
    done = tm2tfr("playground", "--port", "65536", "--no-open", cwd=tmp_path)
    assert done.stderr == "65536 is not a port: use 1 to 65535, or 0 for any that is free\n"


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = tm2tfr("playground", "--no-open", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "the playground needs starlette and uvicorn (ModuleNotFoundError: import of uvicorn halted; None in sys.modules): "
        "pip install 'tm2tfr[playground]'\n"
    )
