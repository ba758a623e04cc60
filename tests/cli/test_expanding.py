"""Groups of options as options of a command, and what Typer is used for."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args

import pytest
import typer
from typer.main import get_command

from tests.house.reading import MODULES, name_of, text_of
from tm2tfr.cli import parameters
from tm2tfr.cli.commands import guarded
from tm2tfr.cli.options import count, option
from tm2tfr.cli.parameters import But, expanded


@dataclass(frozen=True, kw_only=True)
class Inner:
    deep: Annotated[str | None, option("Deep.", metavar="X")] = None
    seed: Annotated[str | None, option("Inner seed.", metavar="N")] = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    long_name: Annotated[int | None, count("Number.", "-n")] = None
    seed: Annotated[str | None, option("Seed.", metavar="N")] = None
    inner: Annotated[Inner, But(seed="own")] = field(default_factory=Inner)
    command: str = ""
    typed: frozenset[str] = frozenset()
    quiet: bool = False


@pytest.fixture(autouse=True)
def _ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "__package__", "tests.cli")
    parameters._fields.cache_clear()


def names(command: Any) -> list[str]:
    """The options of a command, each with its first names."""
    options = inspect.signature(expanded(command)).parameters.values()
    infos = [get_args(each.annotation)[1] for each in options if each.name != "context"]
    return [" ".join(info.param_decls) for info in infos]


def ran(command: Any, *arguments: str) -> int:
    app = typer.Typer(add_completion=False)
    app.command()(expanded(command))
    return guarded(get_command(app), list(arguments))


def test_a_group_becomes_its_options_and_its_groups_theirs() -> None:
    def command(*, word: Annotated[str | None, option("Word.", "--input", metavar="W")] = None, outer: Outer) -> None: ...

    command.__annotations__ |= {"outer": Outer}
    assert names(command) == ["--input", "--long-name -n", "--seed", "--deep"]


def test_a_command_gets_the_group_with_its_words_and_what_was_typed() -> None:
    got: list[Outer] = []

    def command(*, outer: Annotated[Outer, But(quiet=True, long_name=count("Least.", "--least", least=1))]) -> None:
        got.append(outer)

    assert ran(command, "--least", "1_000", "--deep", "x") == 0
    inner, typed = Inner(deep="x", seed="own"), frozenset({"long_name", "deep"})
    assert got == [Outer(long_name=1000, inner=inner, command="tm2tfr", typed=typed, quiet=True)]


def test_what_a_command_fixes_is_not_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    def command(*, outer: Annotated[Outer, But(seed="7")]) -> None: ...

    assert names(command) == ["--long-name -n", "--deep"]
    assert ran(command, "--seed", "1") == 2
    assert capsys.readouterr().err.startswith("tm2tfr: unknown option '--seed'")


@pytest.mark.slow
def test_the_command_line_is_typer_alone() -> None:
    imports = {
        name_of(path): {
            alias
            for node in ast.walk(ast.parse(text_of(path)))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
        }
        for path in MODULES
    }
    assert [name for name, found in imports.items() if any(each.split(".")[0] == "click" for each in found)] == []
    inner = [name for name, found in imports.items() if any(each.startswith("typer._") for each in found)]
    assert inner == ["tm2tfr.cli.commands", "tm2tfr.cli.parameters"]
