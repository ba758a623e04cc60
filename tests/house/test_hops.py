"""A parameter of a run is followed by its name to the engine: at most three hops, none through a dictionary."""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import fields
from types import FrameType

import pytest

import tm2tfr
from tests.cli.lines import params
from tests.house.reading import ROOT, facts, text_of
from tm2tfr.cli import main
from tm2tfr.runs.comparison import check
from tm2tfr.runs.plan import RunOptions
from tm2tfr.runs.run import carried_out

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
    command = {param.name for param in params("trace")} | {"out", "keep_rows", "progress", "stop"}
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
