"""What is above the sources is to know the contract, not their kinds: the places that ask for a kind are counted."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from tests.house.reading import MODULES, facts, name_of, text_of

KINDS = {
    *("Machine", "Universal", "AnyMachine", "TuringTruth", "UniversalTruth"),
    *("Circuit", "CircuitTruth", "Program", "LogicProgram", "LoadedProgram", "Prompted"),
    *("MachineSpec", "CircuitSpec", "LabelSpec"),
}
"""The classes of programs and of what is wrapped around them."""
NOUNS = {"machine", "circuit", "program", "formula"}
"""What programs are called: a comparison with one of these asks for a kind as well."""
SOURCES = {
    "api": 31,
    "cli": 37,
    "explorer": 1,
    "lab": 65,
    "playground": 7,
    "runs": 3,
    "slides": 1,
    "tables": 8,
    "targets": 11,
}
"""How often each part above the sources imports from a source by its name: a number may fall, and none may rise."""
DOOR = "rasp"
"""The module with which users write RASP in Python; it is about one source."""


def asked(text: str) -> int:
    """Return how often a text asks whether something is of a kind: of a class, in a pattern, or by what it is called."""
    found = 0
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, classes]):
                found += bool(KINDS & {name.id for name in ast.walk(classes) if isinstance(name, ast.Name)})
            case ast.MatchClass(cls=ast.Name(id=name)):
                found += name in KINDS
            case ast.Compare(left=ast.Attribute(attr="noun"), comparators=[ast.Constant(value=value)]):
                found += value in NOUNS
    return found


def part_of(path: Path) -> str:
    """Return the part of the package that a module belongs to."""
    parts = name_of(path).split(".")
    return parts[2] if parts[1:2] == ["web"] and parts[2:] else (*parts, "__init__")[1]


ABOVE = [path for path in MODULES if part_of(path) != "sources"]


def test_no_place_asks_for_a_kind() -> None:
    assert {name_of(path): number for path in ABOVE if (number := asked(text_of(path)))} == {}


def test_no_more_places_name_a_source() -> None:
    found: Counter[str] = Counter()
    for path in ABOVE:
        froms = [node.module or "" for node in facts(text_of(path)).imports if isinstance(node, ast.ImportFrom)]
        found[part_of(path)] += sum(
            re.match(r"tm2tfr\.sources\.(turing|circuit|rasp|logic|sequence)\b", name) is not None for name in froms
        )
    assert {part: number for part, number in sorted(found.items()) if number and part != DOOR} == SOURCES


def test_what_asks_is_found() -> None:
    one = [
        "isinstance(x, Machine)",
        "isinstance(x, Machine | str)",
        "isinstance(a.b, (Circuit, int))",
        'x.noun == "machine"',
    ]
    assert [asked(text) for text in [*one, "match x:\n    case Circuit(): pass"]] == [1] * 5
    assert asked('isinstance(x, str); type(x) is int; machine(x); noun == "machine"') == 0
