"""What the tests of the command line share."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tm2tfr.cli import app, main
from tm2tfr.cli.commands import Command, Later

for forced in ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS"):  # with one of these, Typer colours what goes into a pipe
    os.environ.pop(forced, None)

LISTED: dict[str, Later] = {name: each for name, each in app.commands.items() if isinstance(each, Later)}
"""All commands by name, as they are listed."""
EVERY: list[Command] = [each.command for each in LISTED.values()]
"""All commands."""


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said on standard error by a command that is refused."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    printed = capsys.readouterr()
    assert (end.value.code, printed.out, "Traceback" in printed.err) == (2, "", False)
    return printed.err.rstrip("\n")


def params(name: str) -> list[Any]:
    """The parameters of a command."""
    return list(LISTED[name].command.params)
