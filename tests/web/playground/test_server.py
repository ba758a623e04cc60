"""The playground as it is served: what it answers, and what it refuses."""

from __future__ import annotations

import json
import re
import socket
import threading
from typing import Any

import httpx
import pytest

from tests.web.playground.conftest import SECONDS, Served
from tests.web.playground.hostile import ENDLESS, SCRIPT, catastrophes, mutated
from tm2tfr.base.choices import READABLE
from tm2tfr.web.playground.guard import HEADERS
from tm2tfr.web.playground.query import shipped, shipped_text
from tm2tfr.web.playground.workers import MOST_WAITING

pytestmark = pytest.mark.slow
GOOD = {"source": shipped_text("chapter"), "input": "11"}


def raw(served: Served, request: bytes) -> bytes:
    """What the server says to bytes of a client, until it closes the connection or says nothing more."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as client:
        client.sendall(request)
        found = b""
        while b"\r\n\r\n" not in found or not found.endswith(b"}"):
            try:
                more = client.recv(1 << 16)
            except ConnectionResetError:
                break
            if not more:
                break
            found += more
        return found


def well(served: Served) -> None:
    """The server answers a good request."""
    with served.client() as client:
        found = client.post("/api/answer", json=GOOD)
    assert found.status_code == 200
    assert found.json()["page"]["data"]["runs"][0]["answer"] == "accept"


def test_the_page_and_its_files(served: Served) -> None:
    with httpx.Client(base_url=served.base, timeout=60) as client:  # they need no token
        page = client.get("/", params={"token": served.token})
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        for name in re.findall(r'(?:src|href)="(assets/[^"]+)"', page.text):
            found = client.get(f"/{name}")
            assert (name, found.status_code) == (name, 200)
            assert found.headers["content-type"].startswith(
                {"js": "text/javascript", "css": "text/css"}[name.split(".")[-1]]
            )
        assert served.token not in page.text
    for name, value in HEADERS.items():
        assert page.headers[name] == value
    assert "access-control-allow-origin" not in page.headers
    assert "server" not in page.headers
    assert not re.search(r"https?:", HEADERS["Content-Security-Policy"])


def test_the_formats_are_those_that_are_read(served: Served) -> None:
    with served.client() as client:
        groups = dict(client.get("/api/formats").json())
    assert [name for name, _ in groups["machine or circuit"]] == ["yaml"]
    assert {name for name, _ in groups["machine"]} == {*READABLE} - {"yaml"}
    assert ["bench", "BENCH"] in groups["circuit"]


def test_what_is_shipped_is_listed_and_can_be_had(served: Served) -> None:
    with served.client() as client:
        found = client.get("/api/shipped").json()
        assert found == list(shipped())
        assert client.get("/api/shipped/parity.rasp").text == shipped_text("parity.rasp")
        assert "draws" not in client.get("/api/shipped/full-adder").text
        missing = client.get("/api/shipped/increment")
    assert missing.status_code == 404
    assert missing.json()["error"].startswith("'increment': no source of this name is shipped (did you mean ")


def test_files_are_exported(served: Served) -> None:
    with served.client() as client:
        files = {
            what: client.post("/api/export", json={**GOOD, "what": what}) for what in ("weights", "csv", "page", "source")
        }
        refused = client.post("/api/export", json={**GOOD, "what": "source", "to": "bbchallenge"})
    names = {what: found.headers["content-disposition"] for what, found in files.items()}
    endings = {"weights": "safetensors", "csv": "csv", "page": "html", "source": "yaml"}
    assert names == {what: f'attachment; filename="chapter.{ending}"' for what, ending in endings.items()}
    assert {found.headers["content-type"] for found in files.values()} == {"application/octet-stream"}
    assert files["source"].text == GOOD["source"]
    assert refused.status_code == 422
    assert refused.json()["error"].startswith("chapter: bbchallenge text cannot express this machine")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {"Host": "evil.example"}, 403),
        ("GET", "/", {"Host": "127.0.0.1"}, 403),
        ("GET", "/", {"Host": "127.0.0.1:1"}, 403),
        ("GET", "/assets/playground.js", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("GET", "/", {"Sec-Fetch-Site": "cross-site"}, 200),  # a link to it
        ("GET", "/api/shipped", {"X-Tm2tfr-Token": "wrong"}, 403),
        ("GET", "/api/shipped", {"X-Tm2tfr-Token": ""}, 403),
        ("GET", "/api/shipped", {"Sec-Fetch-Site": "same-site"}, 403),
        ("POST", "/api/answer", {"Origin": "http://evil.example"}, 403),
        ("POST", "/api/answer", {"Origin": "null"}, 403),
        ("POST", "/api/answer", {"Origin": "http://127.0.0.1:1"}, 403),
        ("POST", "/api/answer", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("POST", "/api/answer", {"Content-Type": "text/plain"}, 415),
        ("OPTIONS", "/api/answer", {"Origin": "http://evil.example"}, 403),
        ("OPTIONS", "/api/answer", {}, 405),
        ("PUT", "/api/answer", {}, 405),
        ("GET", "/api/answer", {}, 405),
        ("GET", "/nothing", {}, 404),
        ("GET", "/assets/..%2f..%2fserver.py", {}, 404),
        ("GET", "/assets/%2e%2e/server.py", {}, 404),
        ("GET", "/assets/%00", {}, 404),
        ("GET", "/api/shipped/..%2f..%2f..%2fetc%2fpasswd", {}, 404),
        ("GET", "/api/shipped/%ff%fe", {}, 404),
    ],
)
def test_other_requests_are_refused(served: Served, method: str, path: str, headers: dict[str, str], status: int) -> None:
    with served.client() as client:
        found = client.request(method, path, headers=headers)
    assert found.status_code == status
    if status != 200:
        assert list(found.json()) == ["error"]
    assert found.headers["X-Content-Type-Options"] == "nosniff"
    assert "access-control-allow-origin" not in found.headers


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "a request must be JSON, and this is not: send an object with a source"),
        (b"[" * 100_000, 400, "a request must be JSON, and this is not: send an object with a source"),
        (b"\xff\xfe\x00", 400, "a request must be JSON, and this is not: send an object with a source"),
        (b"[]", 400, 'a request must be an object, not []: send {"source": …}'),
        (b"{}", 400, 'a request must have a source: send {"source": …}'),
        (b'{"source": 1}', 400, "source must be text, not 1: put it in quotes"),
        (b'{"source": "", "options": {"max_steps": 1e999}}', 400, None),
        (b'{"source": "", "options": {"max_steps": 5001}}', 400, None),
        (b'{"source": "", "options": {"universal": "2,2"}}', 400, None),
        (b'{"source": "", "file": "/etc/passwd"}', 400, None),
        (b'{"source": "' + b"x" * (9 << 20) + b'"}', 413, "the request is larger than 8 MiB: use a shorter source"),
        (b'{"source": "' + b"x" * (2 << 20) + b'"}', 400, "source has 2,097,152 characters: use at most 1,048,576"),
    ],
)
def test_what_is_no_request_is_told(served: Served, body: bytes, status: int, said: str | None) -> None:
    with served.client() as client:
        found = client.post("/api/answer", content=body, headers={"Content-Type": "application/json"})
    assert found.status_code == status
    assert said is None or found.json() == {"error": said}


def test_what_is_no_http_is_refused(served: Served) -> None:
    assert raw(served, b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400")  # without a Host
    for garbage in (b"\x16\x03\x01\x02\x00\x01" * 50 + b"\r\n\r\n", b"GET " + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n"):
        assert raw(served, garbage)[:12] in (b"HTTP/1.1 400", b"")
    two = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nHost: evil.example\r\n\r\n".encode()
    assert raw(served, two).startswith(b"HTTP/1.1 40")
    well(served)


def test_hostile_sources_do_not_get_through(served: Served) -> None:
    """A part of those that the function is tested with; each answer is JSON, whatever is in it."""
    with served.client() as client:
        for what, format, text in [*mutated(20), *catastrophes()]:
            body = json.dumps({"source": text, "format": format}).encode()
            found = client.post("/api/answer", content=body, headers={"Content-Type": "application/json"})
            told: Any = found.json()
            assert (what, found.status_code, found.headers["content-type"]) == (what, 200, "application/json")
            assert (what, told["page"] or told["about_input"] or told["diagnostics"]) != (what, None)
            assert (what, "Traceback" in found.text, "internal error" in found.text) == (what, False, False)
    well(served)


def test_what_takes_too_long_is_given_up_while_others_are_answered(served: Served) -> None:
    found: list[Any] = []

    def hostile() -> None:
        with served.client() as client:
            found.append(client.post("/api/answer", json={"source": ENDLESS}).json())

    thread = threading.Thread(target=hostile)
    thread.start()
    well(served)
    thread.join()
    said = f"this takes longer than {SECONDS:g} seconds"
    assert [(d["what"], d["severity"]) for d in found[0]["diagnostics"]] == [(said, "error")]
    assert found[0]["page"] is None
    well(served)


def test_a_client_with_many_slow_sources_does_not_delay_another(served: Served) -> None:
    answered: list[tuple[str, int]] = []

    def asked(page: str, source: str) -> None:
        with served.client() as client:
            found = client.post("/api/answer", json={"source": source}, headers={"X-Tm2tfr-Page": page})
        answered.append((page, found.status_code))

    slow = [threading.Thread(target=asked, args=("slow", ENDLESS)) for _ in range(12)]
    for thread in slow:
        thread.start()
    waiting = {"before": None}
    with served.client() as client:
        while waiting["before"] != MOST_WAITING - 1:  # two have a process, eight wait, two are refused
            waiting = client.get("/api/waiting", headers={"X-Tm2tfr-Page": "slow"}).json()
        assert client.get("/api/waiting", headers={"X-Tm2tfr-Page": "other"}).json() == {"before": None}
    asked("other", GOOD["source"])
    for thread in slow:
        thread.join()
    assert sorted(answered) == [("other", 200), *[("slow", 200)] * 10, *[("slow", 429)] * 2]
    assert answered.index(("other", 200)) < 6  # at most four of the ten were given up before it


def test_who_asks_must_be_a_name(served: Served) -> None:
    with served.client() as client:
        found = client.post("/api/answer", json=GOOD, headers={"X-Tm2tfr-Page": "a b"})
    said = "the header X-Tm2tfr-Page must be up to 64 letters, digits, - and _: use for example page-1, or omit it"
    assert (found.status_code, found.json()) == (400, {"error": said})


def test_whoever_goes_away_is_not_waited_for(served: Served) -> None:
    with served.client() as client:
        for _ in range(4):
            with pytest.raises(httpx.ReadTimeout):
                client.post("/api/answer", json={"source": ENDLESS}, timeout=0.3)
    well(served)


def test_scripts_in_names_stay_text(served: Served) -> None:
    source = f"name: '{SCRIPT}'\nblank: _\ninput: '1'\nstart state: '{SCRIPT}'\ntable:\n  '{SCRIPT}':\n    1: R\n"
    with served.client() as client:
        found = client.post("/api/answer", json={"source": source})
        page = client.post("/api/export", json={"source": source, "what": "page"})
        program = {"source": f"# title: {SCRIPT}\n# alphabet: ab\ny = tokens;\n", "name": SCRIPT}
        for _ in range(5):  # on a busy computer, a process that has just started may take longer than it may
            labelled = client.post("/api/answer", json=program)
            if labelled.json()["page"] is not None:
                break
    assert found.headers["content-type"] == "application/json"
    assert page.text.count("alert(1)") > 0
    assert "<img src=x" not in page.text
    assert "</script><script>" not in page.text
    assert labelled.headers["content-type"] == "application/json"
    assert labelled.json()["page"]["data"]["title"].startswith("script-script-alert-1")
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9_-]+\.html"', page.headers["content-disposition"])
