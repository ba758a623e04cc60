"""Every command reads its subject, makes one call of the library, prints, and exits: read off its calls, and counted."""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType

import pytest

from tests.house.reading import ROOT
from tm2tfr.cli import app, main

EXAMPLES = {
    "trace": ("trace", "chapter", "--input", "11"),
    "trace --at": ("trace", "chapter", "--input", "11", "--at", "3"),
    "trace softmax": ("trace", "chapter", "--attention", "softmax"),
    "trace --sample": ("trace", "chapter", "--input", "11", "--sample", "--seed", "3"),
    "trace -o": ("trace", "chapter", "-o", "run.csv"),
    "table": ("table", "chapter"),
    "graph": ("graph", "chapter"),
    "explain": ("explain", "chapter"),
    "plot": ("plot", "chapter"),
    "plot --probabilities": ("plot", "chapter", "--probabilities"),
    "explore": ("explore", "chapter"),
    "check": ("check", "palindromes"),
    "check --random": ("check", "palindromes", "--random", "5"),
    "check of a circuit": ("check", "parity"),
    "check of a program": ("check", "reverse", "--max-length", "2"),
    "check of a formula": ("check", "--formula", "once Q[a]", "--alphabet", "ab", "--all-up-to", "3"),
    "certify": ("certify", "chapter"),
    "certify of a circuit": ("certify", "full-adder"),
    "soften": ("soften", "chapter"),
    "soften of a program": ("soften", "sort"),
    "soften -o weights": ("soften", "since-b", "-o", "soft.safetensors"),
    "sensitivity": ("sensitivity", "odd-ones", "--length", "4"),
    "compile": ("compile", "chapter", "-o", "chapter.safetensors"),
    "prompt": ("prompt", "chapter"),
    "export": ("export", "chapter", "--to", "torch", "--no-verify", "-o", "exported"),
    "dataset": ("dataset", "half-adder", "-o", "data", "--workers", "1"),
    "sweep": ("sweep", "palindromes", "--max-steps", "2", "--workers", "1"),
    "labels": ("labels", "chapter", "--all-up-to", "2", "-o", "labels", "--workers", "1"),
    "intervene": ("intervene", "chapter", "--input", "11", "--random", "3"),
    "disguise": ("disguise", "half-adder", "--grade", "1", "-o", "hidden.safetensors", "--key", "key.json"),
    "score --template": ("score", "key.json", "--template"),
}
"""What is done -> the command."""
FORMATTING = {"misread", "by_name", "save", "noun", "machine", "program", "lacks_machine", "decoder", "__init__", "name"}
"""What is no call for something new: what a result or a subject says of itself."""


def library_calls(arguments: tuple[str, ...]) -> list[str]:
    """The functions of the library that the command line calls, but for what reads the subject."""
    found: list[str] = []

    def called(frame: FrameType, event: str, _: object) -> None:
        to, caller = frame.f_code.co_filename, frame.f_back
        if event == "call" and "/tm2tfr/api/" in to and caller is not None and "/tm2tfr/cli/" in caller.f_code.co_filename:
            name = frame.f_code.co_name
            if not name.startswith(("<", "_")) and name not in FORMATTING and not to.endswith("/subject.py"):
                found.append(name)

    said, code = io.StringIO(), 0
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        sys.setprofile(called)
        try:
            main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.setprofile(None)
    assert code == 0, said.getvalue()
    return found


@pytest.mark.parametrize("what", EXAMPLES)
def test_a_command_makes_one_call_of_the_library(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if what == "score --template":
        library_calls(EXAMPLES["disguise"])
    found = library_calls(EXAMPLES[what])
    assert len(found) == (what != "graph"), found


ELSEWHERE = {"list", "convert", "playground", "rasp", "verify-export", "train", "compare", "score"}
"""Commands that describe sources, serve a page, or read a folder that another command made: of these the text is read."""


def test_every_command_is_among_them() -> None:
    assert set(app.commands) == {arguments[0] for arguments in EXAMPLES.values()} | ELSEWHERE


def most_calls(statements: list[ast.stmt], known: set[str]) -> int:
    """The most calls of some functions on a way through statements, of which a branch takes one."""
    found = 0
    for each in statements:
        if isinstance(each, ast.If):
            branches = most_calls(each.body, known), most_calls(each.orelse, known)
            if isinstance(each.body[-1], ast.Return | ast.Raise):
                rest = most_calls(statements[statements.index(each) + 1 :], known)
                return found + max(branches[0], branches[1] + rest)
            found += max(branches)
        elif isinstance(each, ast.With):
            found += most_calls(each.body, known)
        else:
            names = [n.func.id for n in ast.walk(each) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
            ternary = isinstance(getattr(each, "value", None), ast.IfExp)
            found += min(1, sum(n in known for n in names)) if ternary else sum(name in known for name in names)
    return found


def commands() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Each function in the command line that takes names from the library, with the module that it is in."""
    for path in sorted((ROOT / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield path.relative_to(ROOT / "cli").as_posix(), node


def asked_of_the_library(function: ast.FunctionDef) -> set[str]:
    """The names of functions that a function takes from the library, as it calls them; classes are no calls."""
    imports = [n for n in ast.walk(function) if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("tm2tfr.api")]
    names = (a.asname or a.name for n in imports for a in n.names)
    return {name for name in names if not name[0].isupper()}


def test_no_way_through_a_function_calls_the_library_twice() -> None:
    found = {f"{module}: {f.name}": most_calls(f.body, asked_of_the_library(f)) for module, f in commands()}
    assert {name: calls for name, calls in found.items() if calls > 1} == {}


def test_calls_are_counted_by_the_longest_way() -> None:
    source = "if a:\n    f()\n    return\nelse:\n    pass\nwith b:\n    g()\nx = f() if c else g()\n"
    assert most_calls(ast.parse(source).body, {"f", "g"}) == 2
    assert most_calls(ast.parse("f(g())").body, {"f", "g"}) == 2
