"""``check --all-up-to`` and ``--random`` of a machine, and ``check`` of many inputs: in batches where fast runs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from tm2tfr.choices import AUTO
from tm2tfr.cli import colour
from tm2tfr.cli.arguments import seed_number
from tm2tfr.cli.cases import counting_inputs
from tm2tfr.cli.cautions import warn_beyond_certificate
from tm2tfr.cli.labellers.checks import indented, refuse
from tm2tfr.cli.output import tell
from tm2tfr.cli.softness import for_run
from tm2tfr.errors import UsageError, counted, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import NoReturn

    from tm2tfr.api.subject import Subject
    from tm2tfr.runs.batches.checked import CheckedInputs
    from tm2tfr.runs.options import RunOptions
    from tm2tfr.trace.check import Trace

LONGEST = 40
"""The most symbols of a random input."""
MANY = 16
"""From so many inputs on, ``auto`` is fast for all of them, whatever their length."""
MOST_ROWS = 2**22
"""The most rows that are in memory at once."""


def report_of_inputs(
    subject: Subject,
    words: tuple[str, ...],
    run: RunOptions,
    asked: tuple[int | None, int | None, str | None],
    *,
    everything: bool,
    soft: tuple[str | None, str | None],
    as_json: bool,
) -> NoReturn:
    """Check a machine on all short inputs, on random ones, print what was found, and exit: 1 if anything differs.

    Args:
        asked: the length up to which all inputs are run, the number of random ones, their seed.
        everything: whether --all is given, which is for circuits.
        soft: the attention and the temperature that are asked for.

    Raises:
        UsageError: for options that cannot be combined, or too many inputs.
    """
    from tm2tfr.runs.batches.checked import checked_inputs

    all_up_to, count, seed = asked
    if everything:
        raise UsageError("tm2tfr check: --all and --all-up-to cannot be combined: omit one of them")
    if subject.machine is None:
        raise UsageError("tm2tfr check: the inputs of a circuit all have one length: omit --all-up-to, or use --all")
    refuse(run, words, all_up_to, count, seed)
    if subject.examples:
        what = f"this compares the decoder with the simulator; {counted(len(subject.examples), 'example')} of the file"
        click.echo(f"note: {what} tell whether the machine is right: run them with tm2tfr check {subject.name}", err=True)
    good, subject = True, for_run(subject, *soft, None, run.max_steps)
    for some, what in _asked(subject, all_up_to, count, seed_number(seed or 0, "tm2tfr check")):
        with counting_inputs() as progress:
            found = checked_inputs(subject.decoder, subject.right, some, run, progress)
        good &= found.agrees
        if as_json:
            tell(json.dumps({**found.as_dict(), "inputs": what}, ensure_ascii=False), as_json=True)
        else:
            tell(colour.judged(_line(found, what)), as_json=False)
        if found.agrees and found.longest is not None:
            warn_beyond_certificate(found.longest, subject)
    raise click.exceptions.Exit(0 if good else 1)


def _asked(subject: Subject, all_up_to: int | None, count: int | None, seed: int) -> Iterator[tuple[Sequence[str], str]]:
    """Yield inputs, with words that say which."""
    from tm2tfr.dataset.spec import MOST_WORDS, Inputs, Random
    from tm2tfr.text.words import MANY, number_of

    letters = () if subject.machine is None else subject.machine.input_alphabet or ()
    if all_up_to is not None:
        every = number_of(len(letters), 0, all_up_to)
        if every > MOST_WORDS:
            many = f"{every:,}" if every < MANY else "far too many"
            what = f"tm2tfr check: there are {many} inputs of up to {counted(all_up_to, 'symbol')}"
            raise UsageError(f"{what}: use a smaller --all-up-to, or --random")
        yield (
            Inputs(up_to=all_up_to).over(letters),
            f"all {counted(every, 'input')} of up to {counted(all_up_to, 'symbol')}",
        )
    if count is not None:
        there = min(number_of(len(letters), 0, LONGEST), MOST_WORDS)
        if count > there:
            what = f"tm2tfr check: there are {there:,} inputs of up to {LONGEST} symbols, and --random asks for {count:,}"
            raise UsageError(f"{what}: use at most {there:,}, or --all-up-to")
        drawn = Inputs(random=(Random(count, 0, LONGEST, f"check, seed {seed}"),)).over(letters)
        yield drawn, f"{counted(count, 'random input')} of 0 to {LONGEST} symbols, seed {seed}"


def _line(found: CheckedInputs, what: str) -> str:
    came = ", ".join(f"{number:,} {outcome}" for outcome, number in found.outcomes.items())
    text = f"{what}{came and f' ({came})'}: {counted(found.cells, 'cell')} compared with the simulator"
    notes = [f"scanned: {line}" for line in found.scanned]
    if found.failure is None:
        return "\n      ".join([f"ok    {text}, all agree", *notes])
    differs = f"{visible(found.failure.input)}: {indented(str(found.failure.divergence))}"
    return "\n      ".join([f"FAIL  {text}", differs, *notes])


def together(subject: Subject, words: Sequence[str], run: RunOptions, max_steps: int) -> Iterator[Trace] | None:
    """Return the runs on many inputs, made in a few calls and compared; None: they are to be made one by one."""
    from tm2tfr.runs.batches.checked import engine_for
    from tm2tfr.sources.circuit.netlist import Circuit
    from tm2tfr.trace.rows import is_turing

    words = [subject.word(word) for word in words]
    few = len(words) < (MANY if run.engine == AUTO else 2)
    size = MOST_ROWS // (subject.decoder.positions or max(map(len, words), default=0) + max_steps + 2)
    known = isinstance(subject.program, Circuit) or (subject.machine is not None and is_turing(subject.decoder.layout))
    if few or size < 2 or not known or run.recorded:
        return None
    if subject.decoder.soft or engine_for(subject.decoder, run).name != "fast":
        return None
    return _together(subject, words, max_steps, size)


def _together(subject: Subject, words: Sequence[str], max_steps: int, size: int) -> Iterator[Trace]:
    """Yield the runs, so many in one call."""
    from tm2tfr.runs.batches.carried import batch_of
    from tm2tfr.runs.batches.checked import traces

    for start in range(0, len(words), size):
        some = words[start : start + size]
        with counting_inputs() as progress:

            def show(done: int, _rows: int, start: int = start, told: Callable[[int, int], None] = progress) -> None:
                told(start + done, len(words))

            right, rows = subject.right, subject.machine is not None  # the rows say how far its head went
            batch = batch_of(subject.decoder, right, some, checked=True, max_steps=max_steps, keep_rows=rows, progress=show)
        yield from traces(batch)
