"""The terminal as one who watches: how far a run or a check is, and what is said of it as soon as it is known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from tm2tfr.cli.cautions import warn_once
from tm2tfr.cli.colour import cautioned, judged
from tm2tfr.cli.output import tell
from tm2tfr.cli.progress import counting_inputs, showing
from tm2tfr.runs.plan import Finding, Shown, Watcher

if TYPE_CHECKING:
    from tm2tfr.runs.comparison import Progress


class Terminal(Watcher):
    """Shows lines of progress on standard error, and prints what is said.

    Args:
        as_json: print it as data, one object on each line.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self._json = as_json

    @contextmanager
    def run(self, max_steps: int | None) -> Iterator[Shown]:
        """Show tokens and steps, and hear Ctrl-C."""
        with showing(max_steps) as shown:
            yield shown

    @contextmanager
    def inputs(self) -> Iterator[Progress | None]:
        """Show finished inputs."""
        with counting_inputs() as progress:
            yield progress

    def hear(self, said: Finding) -> None:
        """Print it: notes and warnings on standard error, and there what failed and has no data, too."""
        if said.note:
            warn([said.text])
        elif not self._json:
            tell(judged(said.text), as_json=False)
        elif said.data is not None:
            tell(json.dumps(said.data(), ensure_ascii=False), as_json=True)
        elif said.good is False:
            typer.echo(said.text, err=True)


def warn(notes: Iterable[str]) -> None:
    """Print notes on standard error; a warning once."""
    for note in notes:
        if "warning:" in note or note.startswith("the dense engine"):
            warn_once(note)
        else:
            typer.echo(cautioned(note), err=True)
