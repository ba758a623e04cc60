"""No place asks for a kind of source, and words take few hops from a command to the engine."""

from __future__ import annotations

import ast
import inspect
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import fields
from pathlib import Path
from types import FrameType

import pytest

import tm2tfr
from tests.cli.lines import params
from tests.house.reading import MODULES, ROOT, facts, name_of, text_of
from tm2tfr.cli import main
from tm2tfr.runs.comparison import check
from tm2tfr.runs.plan import RunOptions
from tm2tfr.runs.run import carried_out

KINDS = {
    *("Machine", "Universal", "AnyMachine", "TuringTruth", "UniversalTruth"),
    *("Circuit", "CircuitTruth", "Program", "LogicProgram", "Automaton", "LoadedProgram", "Prompted"),
    *("MachineSpec", "CircuitSpec", "LabelSpec"),
}
"""The classes of programs and of what is wrapped around them."""
NOUNS = {"machine", "circuit", "program", "formula", "automaton"}
"""What programs are called: a comparison with one of these asks for a kind as well."""
SOURCES = {
    "api": 32,
    "cli": 40,
    "explorer": 1,
    "lab": 71,
    "playground": 7,
    "runs": 3,
    "slides": 1,
    "tables": 5,
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
            re.match(r"tm2tfr\.sources\.(turing|circuit|rasp|logic|automaton|sequence)\b", name) is not None
            for name in froms
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


PARTS = ("api", "cli", "web/explorer", "runs", "lab/softness")
OWN = {
    (
        "cli/parameters.py",
        "{name: value(name, hint, default, given) for name, (hint, default) in parameters.items()}",
    ): "the parameters of a command",
    (
        "cli/parameters.py",
        "{field: value(field, of, each, given, inner) for field, (of, each) in _fields(kind).items()}",
    ): "the fields of a group of options",
    ("api/training.py", "task"): "the fields of a LearningTask, each with its type, see TaskOptions",
    ("api/targets.py", "asked"): "the options that only one target has",
    ("web/explorer/record.py", "lists"): "columns, cut to the same length",
    ("runs/recording.py", "every"): "the arrays of a file",
    ("lab/softness/measure.py", "named"): "what all errors of a head have in common",
}
"""Where a dictionary is unpacked in a call -> the reason."""


def unpacked(source: str) -> Iterator[str]:
    """Yield the names that are unpacked in calls, but for what is handed on to another library's class: ``**kwargs``."""
    yield from (name for name in facts(source).unpacked if name not in ("kwargs", "extra"))


def test_no_dictionary_of_options_is_unpacked() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for part in PARTS
        for path in (ROOT / part).rglob("*.py")
        for name in unpacked(text_of(path))
    }
    assert found == set(OWN)


@pytest.mark.parametrize("source", ["f(x, **options)", "g(y)(**options)", "class A:\n    def f(self): return h(**options)"])
def test_the_reader_sees_what_is_unpacked(source: str) -> None:
    assert list(unpacked(source)) == ["options"]


def test_the_command_line_the_library_and_the_run_have_the_same_parameters() -> None:
    """First hop: the command's options become `RunOptions`; second: `carried_out` takes it; third: the engine is called."""
    known = {field.name for field in fields(RunOptions)}
    library = set(inspect.signature(tm2tfr.check).parameters)
    command = {param.name for param in params("trace")} | {"out", "keep_rows", "progress", "stop", "sampling"}
    assert known - library == {"stop"}
    assert known <= command
    assert inspect.signature(carried_out).parameters["options"].annotation == "RunOptions"
    assert {"engine", "max_steps", "keep_rows", "progress"} <= set(inspect.signature(check).parameters)


def test_the_word_takes_five_steps_from_the_command_to_the_engine() -> None:
    """Functions that get the input of ``trace --input`` and hand it on, beside those that read rows without it."""
    hops: list[str] = []

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "start" and frame.f_code.co_filename.endswith("engines/dense.py"):
            at: FrameType | None = frame.f_back
            while not hops or (at is not None and hops[-1] != "trace"):
                if at is not None and {"word", "truth", "prompt"} & set(
                    at.f_code.co_varnames[: at.f_code.co_argcount + at.f_code.co_kwonlyargcount]
                ):
                    hops.append(at.f_code.co_name)
                at = at.f_back if at is not None else None

    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        sys.setprofile(called)
        try:
            main(["trace", "chapter", "--input", "11"])
        finally:
            sys.setprofile(None)
    assert hops == ["generate", "rows", "check", "carried_out", "traced", "trace"]
