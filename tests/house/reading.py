"""What a module's source says of itself, read once for all tests of the house."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tm2tfr

ROOT = Path(tm2tfr.__file__).parent
_BY_LAST_NAME = re.compile(r"""import_module\(f["']\{__(package|name)__\}""")
"""An import of a module of the same package by its last name."""
MODULES = sorted(ROOT.rglob("*.py"))


@dataclass(frozen=True)
class Facts:
    """What a source says.

    Args:
        imports: its statements that import, wherever they stand.
        words: its texts that may be names of modules of this package.
        siblings: where it imports modules of its own package by their last names, its texts, which may be such names.
        asserts: the lines of its assertions.
        unpacked: what is unpacked as keywords in calls, as text.
        top: its statements at the top that define a class, or name something.
    """

    imports: tuple[ast.Import | ast.ImportFrom, ...]
    words: frozenset[str]
    siblings: frozenset[str]
    asserts: tuple[int, ...]
    unpacked: tuple[str, ...]
    top: tuple[ast.ClassDef | ast.Assign | ast.AnnAssign, ...]


def name_of(module: Path) -> str:
    """``tm2tfr.engines.dense``; a package is its ``__init__``."""
    parts = module.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


@cache
def facts(source: str) -> Facts:
    """What a source says."""
    tree = ast.parse(source)
    imports: list[ast.Import | ast.ImportFrom] = []
    texts: set[str] = set()
    asserts: list[int] = []
    unpacked: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                texts.add(node.value)
        elif isinstance(node, ast.Assert):
            asserts.append(node.lineno)
        elif isinstance(node, ast.Call):
            unpacked += [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg is None]
    top = tuple(node for node in tree.body if isinstance(node, ast.ClassDef | ast.Assign | ast.AnnAssign))
    words = frozenset(text for text in texts if text.startswith("tm2tfr"))
    siblings = frozenset(texts) if _BY_LAST_NAME.search(source) else frozenset()
    return Facts(tuple(imports), words, siblings, tuple(asserts), tuple(unpacked), top)


@cache
def text_of(path: Path) -> str:
    """A module's text."""
    return path.read_text(encoding="utf-8")


@cache
def source_texts() -> Mapping[str, str]:
    """All modules by name, without what is there for notebooks alone."""
    return {name_of(path): without(text_of(path), {"_repr_html_"}) for path in MODULES}


def without(source: str, functions: set[str]) -> str:
    """A source in which these functions do nothing."""
    if not any(name in source for name in functions):
        return source
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in functions:
            node.body = [ast.Pass()]
    return ast.unparse(tree)
