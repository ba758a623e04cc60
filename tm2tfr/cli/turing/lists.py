"""``check LIST``: every machine of a list, on the blank tape or on inputs that are given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tm2tfr.cli import colour
from tm2tfr.cli.output import tell
from tm2tfr.cli.report import Report
from tm2tfr.cli.subject import refuse_several, traced
from tm2tfr.errors import UsageError, counted, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from tm2tfr.cli.asked import Asked
    from tm2tfr.runs.options import RunOptions
    from tm2tfr.sources.turing.formats.lists import ListedMachine

MOST_STEPS = 1_000
"""The limit of each run if none is given: many machines of such lists never halt."""


def check_list(
    asked: Asked, words: Sequence[str], run: RunOptions, *, refused: Mapping[str, object], as_json: bool
) -> None:
    """If a list is asked for, run and check every machine, print a line for each and a summary, and exit: 1 if one differs.

    Args:
        words: the inputs; without any the blank tape.
        refused: the options that are not for lists, by name, with their values.

    Raises:
        SpecError, ReadError: see `tm2tfr.sources.turing.library.load_list`.
        UsageError: for one of those options.
    """
    if asked.given == asked.argument and asked.format in (None, "bbchallenge"):
        from tm2tfr.sources.turing.formats.lists import repeated
        from tm2tfr.sources.turing.library import load_list

        listed = load_list(asked.argument)
        if listed is not None:
            _refuse(asked, run, refused)
            if (note := repeated(listed)) is not None:
                click.echo(colour.cautioned(f"{asked}: warning: {note}"), err=True)
            _report(listed, asked, words, run, as_json=as_json)


def _refuse(asked: Asked, run: RunOptions, refused: Mapping[str, object]) -> None:
    given = next((name for name, value in refused.items() if value), None)
    if given is not None:
        raise UsageError(f"tm2tfr check: {asked} is a list of machines, and {given} is not for lists: omit it")
    refuse_several(run, 2)


def _report(
    listed: Sequence[ListedMachine], asked: Asked, words: Sequence[str], run: RunOptions, *, as_json: bool
) -> NoReturn:
    from tm2tfr.api.subject import Subject
    from tm2tfr.sources.turing.spec import Example

    limit = MOST_STEPS if run.max_steps is None else run.max_steps
    ends: dict[str, int] = {}
    runs = cells = failed = 0
    for each in listed:
        subject = Subject.of(each.machine, options=asked.options)
        report = Report(subject, as_json=as_json)
        for word in words or ("",):
            example = Example(input=each.machine.check_input(word), outcome="limit", max_steps=limit)
            done = traced(subject, word, replace(run, max_steps=limit, keep_rows=False), checked=True)
            line = report.line(done, example, judged=False)
            outcome = str(done.as_dict()["outcome"])
            ends[outcome] = ends.get(outcome, 0) + 1
            runs, cells, failed = runs + 1, cells + done.compared, failed + (not done.agrees)
            if not as_json:
                columns = f"  (in the list: {', '.join(map(visible, each.columns))})" if each.columns else ""
                line = colour.judged(f"{line}  {each.text}{columns}")
            tell(line, as_json=as_json)
    if not as_json:
        tell(_summary(str(asked), len(listed), ends, limit, (runs, cells, failed)), as_json=False)
    raise click.exceptions.Exit(1 if failed else 0)


def _summary(name: str, machines: int, ends: Mapping[str, int], limit: int, counts: tuple[int, int, int]) -> str:
    """Return the last line."""
    runs, cells, failed = counts
    said = [f"{number:,} {outcome}" for outcome, number in sorted(ends.items()) if outcome != "limit"]
    said += [f"{ends['limit']:,} cut off after {counted(limit, 'step')}"] if "limit" in ends else []
    end = f"{counted(failed, 'run')} FAILED" if failed else "all agree"
    ran = f"{counted(runs, 'run')} ({', '.join(said)})"
    return f"{visible(name)}: {counted(machines, 'machine')}, {ran}, {counted(cells, 'cell')} compared, {end}"
