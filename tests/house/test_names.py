"""A public class or type has its name to itself: one name, one meaning."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.house.reading import facts, source_texts

ALONE = {
    "tm2tfr.targets.torch.model",
    "tm2tfr.sources.rasp.sops",
    "tm2tfr.sources.rasp.program",
    "tm2tfr.sources.logic.nodes",
}
"""The first goes into every export as it is and imports nothing of ours, so that it says Decoder, Layer and Head once
more. The others have the words of a language, tokens and programs with their examples, that other rooms need as well."""


def names(source: str) -> Iterator[str]:
    """Yield the public classes and type aliases that a module defines at its top: CamelCase names."""
    for node in facts(source).top:
        if isinstance(node, ast.ClassDef):
            found = [node.name]
        else:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (
            name for name in found if re.fullmatch("[A-Z][a-z0-9]*([A-Z][A-Za-z0-9]*)*", name) and not name.isupper()
        )


def twice(sources: dict[str, str]) -> dict[str, list[str]]:
    homes: dict[str, list[str]] = {}
    for module, source in sources.items():
        for name in dict.fromkeys(names(source)):
            homes.setdefault(name, []).append(module)
    return {name: modules for name, modules in homes.items() if len(modules) > 1}


def test_no_public_name_is_defined_in_two_modules() -> None:
    assert twice({module: source for module, source in source_texts().items() if module not in ALONE}) == {}


def test_names_that_are_defined_twice_are_found() -> None:
    sources = {
        "a": "class Run: ...\nclass _Head: ...\nRow = tuple[int, ...]\nMOST = 1\nT: TypeAlias = int",
        "b": "Run = int\nfrom a import Row\nclass _Head: ...\nMOST = 1\nif True:\n    class Row: ...",
        "c": "Row: TypeAlias = int",
    }
    assert twice(sources) == {"Run": ["a", "b"], "Row": ["a", "c"]}
