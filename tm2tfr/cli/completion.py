"""Shell completion: the script that a shell needs, and its place in the user's configuration."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from tm2tfr.errors import OutputError, did_you_mean

VARIABLE = "_TM2TFR_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_STARTS = {"bash": ".bashrc", "zsh": ".zshrc"}
GUESS = "-"
"""The value of the options when no shell is named: use the current one."""


def shell_named(name: str) -> str:
    """Return the name of a supported shell, the current one for `GUESS`.

    Raises:
        OutputError: if the shell is not supported.
    """
    name = Path(os.environ.get("SHELL", "")).name if name == GUESS else name
    if not name:
        raise OutputError(f"$SHELL is not set: name the shell, one of {', '.join(SHELLS)}")
    if name not in SHELLS:
        what = f"there is no completion for the shell {name!r}{did_you_mean(name, SHELLS)}"
        raise OutputError(f"{what}: use one of {', '.join(SHELLS)}")
    return name


def script(group: click.Group, shell: str) -> str:
    """Return the script that the shell must run once to complete the words of `group`."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise OutputError(f"there is no completion for the shell {shell!r}: use one of {', '.join(SHELLS)}")
    return kind(group, {}, "tm2tfr", VARIABLE).source()


def installed(group: click.Group, shell: str) -> Path:
    """Write the script where the shell finds it on startup, and return its path. A second call changes nothing.

    Raises:
        OutputError: if it cannot be written.
    """
    from tm2tfr.files import write_text

    home = Path.home().absolute()
    configured = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    base = (
        configured if configured.is_absolute() else home / ".config"
    )  # a relative one is to be ignored, says its standard
    path = base / "fish" / "completions" / "tm2tfr.fish" if shell == "fish" else base / "tm2tfr" / f"completion.{shell}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{path.parent}: this folder cannot be created ({error.strerror}): use --show-completion"
        ) from error
    write_text(path, script(group, shell))
    if shell in _STARTS:
        start, line = home / _STARTS[shell], f"source {shlex.quote(str(path))}"
        try:
            _append_once(start, line)
        except OSError as error:
            what = f"{start}: cannot be changed ({error.strerror or error})"
            raise OutputError(f"{what}: add this line to it yourself: {line}") from error
    return path


def _append_once(start: Path, line: str) -> None:
    """Append `line` to a file, which is made if it is missing, unless it is there."""
    before = start.read_text(encoding="utf-8", errors="surrogateescape") if start.exists() else ""
    if line not in before.splitlines():
        with start.open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{'' if before.endswith(chr(10)) or not before else chr(10)}{line}\n")
