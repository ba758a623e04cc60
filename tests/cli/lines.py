"""What the tests of the command line share."""

from __future__ import annotations

from typing import Any

import pytest

from tm2tfr.cli import COMMANDS, app, main
from tm2tfr.cli.commands import Command

EVERY: list[Command] = [app.commands[name].command for name in COMMANDS]  # type: ignore[attr-defined]
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
    return list(app.commands[name].command.params)  # type: ignore[attr-defined]
