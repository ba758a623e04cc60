"""What is above the sources is to know the contract, not their kinds: the places that ask for a kind are counted."""

from __future__ import annotations

import ast
from collections import Counter

from tests.house.reading import MODULES, name_of, text_of

KINDS = {
    *("Machine", "Universal", "AnyMachine", "TuringTruth", "UniversalTruth"),
    *("Circuit", "CircuitTruth", "Program", "LogicProgram", "LoadedProgram", "Prompted"),
    *("MachineSpec", "CircuitSpec", "LabelSpec"),
}
"""The classes of programs and of what is wrapped around them."""
LEFT: dict[str, int] = {}
"""The places that are left: a number may fall, and none may rise."""


def asked(text: str) -> int:
    """Return how often a text asks whether something is of a kind."""
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    tests = [call.args[1] for call in calls if call.func.id == "isinstance" and len(call.args) == 2]  # type: ignore[attr-defined]
    return sum(bool(KINDS & {name.id for name in ast.walk(test) if isinstance(name, ast.Name)}) for test in tests)


def test_no_more_places_ask_for_a_kind() -> None:
    found: Counter[str] = Counter()
    for path in MODULES:
        part = name_of(path).split(".")[1] if "." in name_of(path) else ""
        if part != "sources":
            found[part] += asked(text_of(path))
    assert {part: number for part, number in found.items() if number} == LEFT


def test_what_asks_is_found() -> None:
    assert (
        asked("isinstance(x, Machine)")
        == asked("isinstance(x, Machine | str)")
        == asked("isinstance(a.b, (Circuit, int))")
        == 1
    )
    assert asked("isinstance(x, str); type(x) is int; machine(x)") == 0
