"""Warnings on standard error."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from tm2tfr.base.errors import SpecWarning
from tm2tfr.cli.colour import cautioned

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject

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
            typer.echo(cautioned(str(warning.message)), err=True)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def tell_of_homonyms(name: str) -> None:
    """Say on standard error which of several shipped things of a name is taken, and how the others are named."""
    from tm2tfr.sources import names

    if found := names.homonyms(name):
        what = f"note: {name!r} names {len(found)} shipped things, and this is {found[0]}"
        typer.echo(cautioned(f"{what}: use {' or '.join(found[1:])} for another"), err=True)


def tell_of_size(to: str, subject: Subject, dtype: str) -> None:
    """Say on standard error how large the GPT-2 of a class of machines becomes, if that is large.

    Raises:
        ExportError: if it is too large.
    """
    if to not in ("gpt2", "lens") or subject.construction is None or subject.construction.split is None:
        return
    from tm2tfr.targets.common.reference import reference_of
    from tm2tfr.targets.gpt2.prompted import least

    right = reference_of(subject.program, subject.decoder)
    size = least(right, dtype).bytes
    if size >= LARGE:
        typer.echo(f"{right.named()} becomes a GPT-2 of {size / 2**30:.2f} GiB: this takes a while", err=True)


@functools.cache
def warn_once(warning: str) -> None:
    """Print a warning on standard error, unless it has been printed before."""
    typer.echo(cautioned(warning), err=True)
