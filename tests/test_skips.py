"""A test that is skipped since a program or a package is missing says which command installs it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
MISSING = re.compile(r"\bnot installed\b(?!.*(?:pip|apt-get) install \S)")


def silent(tree: ast.AST) -> list[str]:
    """Return the reasons in a module of tests that name no command, and the importorskip without a reason."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            reasons = [k.value for k in node.keywords if k.arg == "reason"]
            if isinstance(node.func, ast.Attribute) and node.func.attr == "importorskip" and not reasons:
                found.append(ast.unparse(node))
            if isinstance(node.func, ast.Attribute) and node.func.attr == "skip":
                reasons += node.args
            found += [ast.unparse(reason) for reason in reasons if MISSING.search(ast.unparse(reason))]
    return found


def test_what_is_missing_can_be_installed() -> None:
    found = {path.name: silent(ast.parse(path.read_text(encoding="utf-8"))) for path in TESTS.rglob("*.py")}
    assert {name: reasons for name, reasons in found.items() if reasons} == {}


def test_a_reason_without_a_command_is_found() -> None:
    tree = ast.parse('a.skipif(x, reason="y is not installed")\np.skip("y not installed: z")\np.importorskip("y")')
    assert len(silent(tree)) == 3
    assert silent(ast.parse('a.skipif(x, reason="y is not installed: pip install y")')) == []
