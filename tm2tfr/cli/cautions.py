"""Warnings on standard error: what nothing proves, and what another program would misread."""

from __future__ import annotations

import functools
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tm2tfr.cli.colour import cautioned
from tm2tfr.errors import SpecWarning, counted, listing

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.trace.check import Trace


SURELY = {"float64": 10_000, "float32": 100, "rational": 10**18}
"""The positions that are certified of every machine as it is compiled without options, whatever |h| is there."""
LARGE = 2**29
"""An export with at least so many bytes is announced."""


@contextmanager
def echoed() -> Iterator[None]:
    """Write each `SpecWarning` that a function of the library issues to standard error, as a line of its own."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", SpecWarning)
        yield
    for warning in found:
        if isinstance(warning.message, SpecWarning):
            click.echo(cautioned(str(warning.message)), err=True)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def certified(trace: Trace, subject: Subject) -> int | None:
    """Return the certified number of positions for a run's weights, engine and |h|; None: no limit; 0 under softmax."""
    from tm2tfr.sources.turing import proof
    from tm2tfr.sources.turing.universal import proof as proof_of_class
    from tm2tfr.sources.turing.universal.program import Universal

    if subject.machine is None or trace.soft:
        return 0
    if isinstance(subject.program, Universal):
        return proof_of_class.limit(subject.decoder, subject.program, trace.engine, trace.dtype, max_head=trace.reach)
    return proof.limit(subject.decoder, subject.machine, trace.engine, trace.dtype, max_head=trace.reach)


def _to_certify(subject: Subject) -> str:
    """Return the command that certifies a subject; of a universal decoder, its class, whatever machine is in the prompt."""
    from tm2tfr.sources.turing.universal.program import Universal

    program, given = subject.program, subject.options.get("universal")
    if isinstance(program, Universal) and not subject.compiled:
        if isinstance(given, str) and Path(given).exists():
            return f"tm2tfr certify {shlex.quote(given)}"
        tape = "" if program.tape == "both" else f" --tape {program.tape}"
        return f"tm2tfr certify --universal {program.states},{program.symbols}{tape}"
    return f"tm2tfr certify {subject.name}" if subject.name != "-" else "tm2tfr certify"


def warn_beyond_certificate(trace: Trace, subject: Subject) -> None:
    """Warn on standard error if a run that agrees is longer than what is certified for its engine and its |h|."""
    agreed = "warning: this run agrees, but nothing proves that all such runs do"
    if trace.noun == "circuit" or trace.labels:
        return  # see `tm2tfr certify`, which is for all inputs
    if trace.soft:
        warn_once(f"{agreed}: soft attention has no certificate: see tm2tfr soften")
        return
    if not subject.compiled and not any(subject.options.values()) and trace.tokens <= SURELY[trace.dtype]:
        return  # without a proof, which takes longer than a short run
    most = certified(trace, subject)
    if most is None or trace.tokens <= most:
        return
    what = f"{trace.engine} in {trace.dtype} is certified for {counted(most, 'position')} with |h| ≤ {trace.reach:,}"
    if most == 0:
        what = "these weights cannot be certified"
    warn_once(f"{agreed}: {what}: see {_to_certify(subject)}")


def tell_of_homonyms(name: str) -> None:
    """Say on standard error which of several shipped things of a name is taken, and how the others are named."""
    from tm2tfr.sources import names

    if found := names.homonyms(name):
        what = f"note: {name!r} names {len(found)} shipped things, and this is {found[0]}"
        click.echo(cautioned(f"{what}: use {' or '.join(found[1:])} for another"), err=True)


def tell_of_size(to: str, subject: Subject, dtype: str) -> None:
    """Say on standard error how large the GPT-2 of a class of machines becomes, if that is large.

    Raises:
        ExportError: if it is too large.
    """
    from tm2tfr.sources.turing.universal.program import Universal

    if to not in ("gpt2", "lens") or not isinstance(subject.program, Universal):
        return
    from tm2tfr.targets.common.prompted import Prompted
    from tm2tfr.targets.gpt2.prompted import least

    truth = Prompted(subject.program)
    size = least(subject.decoder, truth, dtype).bytes
    if size >= LARGE:
        click.echo(f"{truth.name} becomes a GPT-2 of {size / 2**30:.2f} GiB: this takes a while", err=True)


def warn_of_formulas(subject: Subject, format: str | None) -> None:
    """Warn on standard error if a spreadsheet takes a state's name in a CSV file for a formula, or another's label."""
    from tm2tfr.tables.table import formulas
    from tm2tfr.trace.rows import columns_of, is_turing

    if format != "csv":
        return
    decoder, layout = subject.decoder, subject.decoder.layout
    turing = is_turing(layout)  # whose symbols are single signs, and harmless, and whose tokens begin with a bracket
    read = [c.read_from(layout) for c in columns_of(decoder) if not turing or c.holds == "e_q"]
    names = [label for subspace in read if subspace for label in subspace.labels or ()]
    names += [] if turing else [*decoder.vocabulary, *(c.name for c in columns_of(decoder))]
    found = formulas(dict.fromkeys(names))
    if found:
        whose = "a state's name" if turing else "a name"
        what = f"warning: a spreadsheet takes {whose} for a formula ({listing(found, most=3)})"
        warn_once(f"{what}: import the columns of the CSV file as text, or write JSON")


@functools.cache
def warn_once(warning: str) -> None:
    """Print a warning on standard error, unless it has been printed before."""
    click.echo(cautioned(warning), err=True)
