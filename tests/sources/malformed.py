"""Texts that cannot be read, each with every complaint about it, in one file of data.

A case begins with ``=== what it is``; below ``---`` stand the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path


def cases(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield what each case is, its text and its messages."""
    for case in path.read_text(encoding="utf-8").split("=== ")[1:]:
        title, _, rest = case.partition("\n")
        text, _, messages = rest.partition("---\n")
        yield title, text, messages.rstrip("\n")


def write_anew(path: Path, complaints: Callable[[str, str], str]) -> None:
    """Write the messages of every case again: `complaints` of its title and its text."""
    done = [f"=== {title}\n{text}---\n{complaints(title, text)}\n" for title, text, _ in cases(path)]
    path.write_text("\n".join(done), encoding="utf-8")
