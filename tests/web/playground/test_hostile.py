"""Five hundred mutated sources: each is answered with a page or with what is wrong, in bounded time, never with a bug."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.strategies import tries
from tests.web.playground.hostile import mutated
from tm2tfr.web.playground.answer import answer
from tm2tfr.web.playground.query import Query, shipped_text

LONGEST = 10.0
"""Seconds of a processor; the slowest takes 0.4 of an idle one."""


@pytest.mark.slow
def test_mutated_sources_are_answered() -> None:
    pages, number = 0, tries(1_000)
    for what, format, text in mutated(number):
        start = time.process_time()
        found = answer(Query(source=text, format=format or ""))
        assert (what, time.process_time() - start < LONGEST) == (what, True)
        json.dumps(found, allow_nan=False)
        pages += found["page"] is not None
        errors = [each for each in found["diagnostics"] if each["severity"] == "error"]
        wrong = bool(errors) or found["about_input"] is not None or not text.strip()  # an empty text is no mistake
        assert (what, wrong) == (what, found["page"] is None)
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for each in found["diagnostics"]:
            assert (what, each["what"] != "", "internal error" in each["what"]) == (what, True, False)
            if each["line"] is not None:
                assert (what, 1 <= each["line"] <= len(lines)) == (what, True)
                width = len(lines[each["line"] - 1].encode("utf-16-le", "surrogatepass")) // 2
                assert (what, 1 <= each["column"] <= width + 1) == (what, True)
    assert number / 5 < pages < number * 4 / 5  # a test of errors alone, or of none, would be a test of nothing


WATCHED = """
import json, os, sys
from pathlib import Path
import tm2tfr
opened = []
def watch(event, arguments):
    if event == "open":
        opened.append((str(arguments[0]), arguments[2]))
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.remove", "os.rename", "socket.connect"):
        raise SystemExit(event)
sys.addaudithook(watch)
from tm2tfr.web.playground.answer import answer
from tm2tfr.web.playground.query import Query
for source, format in json.load(sys.stdin):
    answer(Query(source=source, format=format or ""))
package = Path(tm2tfr.__file__).parent
known = [str(package), str(package.parent), *sys.path[1:], sys.prefix, sys.base_prefix]
print(sorted({path for path, flags in opened if flags & (os.O_WRONLY | os.O_RDWR) or not path.startswith(tuple(known))}))
"""
NAMES_FILES = (
    ('load "/etc/passwd";\ny = indices;\n', "rasp"),
    ('load "secret";\ny = indices;\n', "rasp"),
    ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><structure><type>&e;</type></structure>', "jflap"),
    ("!include /etc/passwd\n", "yaml"),
    ("!!python/object/apply:os.system ['touch owned']\n", "yaml"),
    (".model x\n.search /etc/passwd\n.subckt /etc/passwd a=b\n.end\n", "blif"),
    ("y = __import__('os').system('touch owned')\n", "expression"),
    ("include('/etc/passwd')\nINPUT(a)\n", "bench"),
    ("/etc/passwd", None),
    ("secret.rasp", None),
    ("file:///etc/passwd", None),
)


@pytest.mark.slow
def test_no_source_names_a_file(tmp_path: Path) -> None:
    """Nothing is opened but what the package consists of, nothing is written to, and no program is started."""
    (tmp_path / "secret.rasp").write_text("y = indices;\n", encoding="utf-8")
    given = json.dumps([*NAMES_FILES, (shipped_text("chapter"), None), (shipped_text("reverse"), None)])
    command = [sys.executable, "-B", "-c", WATCHED]
    done = subprocess.run(command, input=given, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["secret.rasp"]
