r"""Golden files: inputs, each with the text that answers it, as data.

A file holds cases::

    === the title of the case
    the input, in as many lines as it takes
    === says
    the answer, often empty

A `Golden` knows the cases of a file, or of a folder of files, and what answers them: a reader, say, that is given the input
as a document. Without a reader, the input is Python, and the answer is what comes of its last expression: the message of an
error, or the value. ``=== given`` then begins the code that runs before each of the cases below it.

``python -m tests.golden`` records the answers of every golden file anew; ``python -m tests.golden NAME`` those whose path
contains the name. Read the difference.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from pprint import pformat
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parent
_BLOCK = re.compile(r"^=== (.*)\n((?:(?!=== ).*\n)*)", re.MULTILINE)


class Case(NamedTuple):
    """An input and its answer, and where they stand."""

    file: str
    title: str
    text: str
    says: str
    given: str = ""

    @property
    def id(self) -> str:
        """The name of the file and the title."""
        return f"{self.file}: {self.title}"


def evaluated(case: Case) -> str:
    """Return what comes of the code of a case: the kind and the message of its error, or its last expression as text."""
    names = dict(_names(case.given))
    *first, last = ast.parse(case.text).body
    assert isinstance(last, ast.Expr), "a case ends with an expression"
    try:
        exec(compile(ast.Module(first, []), f"<{case.id}>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), f"<{case.id}>", "eval"), names)
    except Exception as error:  # noqa: BLE001 — whatever its kind is, it is the answer
        return f"{type(error).__name__}: {error}"
    if isinstance(value, list | tuple) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return value if isinstance(value, str) else pformat(value, width=120, sort_dicts=False)


@cache
def _names(code: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(code, "<given>", "exec"), names)
    return names


class Golden:
    """The golden cases of a subject.

    Args:
        path: a file, or a folder of files.
        answer: returns the answer to a case.
    """

    def __init__(self, path: Path, answer: Callable[[Case], str] = evaluated) -> None:
        self.answer = answer
        self.files = [path] if path.suffix else sorted(path.glob("*.txt"))
        self.cases = [case for file in self.files for case in _cases(file)]
        written = sum(file.read_text(encoding="utf-8").count("=== says\n") for file in self.files)
        assert len(self.cases) == written > 0, f"{path}: a case is lost: begin each with '=== ' and its title"

    def test(self) -> Callable[[Case], None]:
        """Return a test, to be named ``test_…``, that compares each answer with the one in the file."""

        @pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in self.cases])
        def test(case: Case) -> None:
            again = f"if this answer is meant, record it: 'python -m tests.golden {case.file}'"
            assert self.answer(case).rstrip("\n") == case.says, again

        return test

    def record(self) -> None:
        """Write the answers that are given now into the files."""
        for file in self.files:
            head, blocks, given = file.read_text(encoding="utf-8").partition("=== ")[0], [], ""
            for case in _cases(file):
                if case.given != given:
                    blocks.append(f"=== given\n{case.given.strip()}")
                    given = case.given
                blocks.append(f"=== {case.title}\n{case.text}=== says\n{self.answer(case)}".rstrip("\n"))
            file.write_text(head + "\n\n".join(blocks) + "\n", encoding="utf-8")


def _cases(file: Path) -> Iterator[Case]:
    given, title, text = "", "", ""
    for name, body in _BLOCK.findall(file.read_text(encoding="utf-8") + "\n"):
        if name == "given":
            given = body
        elif name == "says":
            yield Case(file.stem, title, text, body.rstrip("\n"), given)
        else:
            title, text = name, body


def subjects() -> Iterator[Golden]:
    """Yield the golden files of the tests: every `Golden` of a module of tests that makes one."""
    for path in sorted(TESTS.rglob("test_*.py")):
        if re.search("golden import", path.read_text(encoding="utf-8")):
            module = importlib.import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))
            yield from (value for value in vars(module).values() if isinstance(value, Golden))


def record(names: list[str]) -> None:
    """Record the answers of all golden files whose path contains one of these names."""
    for golden in subjects():
        if any(name in str(file) for file in golden.files for name in names):
            golden.record()


if __name__ == "__main__":  # the classes of the module that the tests import, not of this one
    importlib.import_module("tests.golden").record(sys.argv[1:] or [""])
