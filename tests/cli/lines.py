"""What the tests of the command line share."""

from __future__ import annotations

import pytest

from tm2tfr.cli import COMMANDS, main

EVERY = [each for listed in COMMANDS.values() for each in listed]
"""All commands."""


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said on standard error by a command that is refused."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    printed = capsys.readouterr()
    assert (end.value.code, printed.out, "Traceback" in printed.err) == (2, "", False)
    return printed.err.rstrip("\n")
