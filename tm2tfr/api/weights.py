"""Decoders as files and as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.transformer.weights import Decoder


def save_weights(subject: Given, path: str | Path) -> None:
    """Write a decoder to a weight file; the same decoder gives the same file, bit for bit.

    Args:
        subject: see `Subject.of`; a machine is compiled first.

    Raises:
        OutputError: if the file cannot be written.
        WeightFileError: if a matrix has more than 2^24 rows or columns, or heads have millions of components that are 0.
    """
    from tm2tfr.runs.options import path as checked
    from tm2tfr.transformer.storage import save

    found = checked(path, "path")
    save(Subject.of(subject).decoder, found or "")


def load_weights(path: str | Path) -> Decoder:
    """Return the decoder of a weight file.

    Raises:
        WeightFileError: if the file cannot be read, or is truncated, damaged, from another program or version, or not a
            decoder.
    """
    from tm2tfr.errors import WeightFileError
    from tm2tfr.sources.turing.compiler.version_1 import load

    if not isinstance(path, str | Path):
        raise WeightFileError(f"{path!r} is not the name of a weight file: use text or a pathlib.Path")
    return load(path)


def listing(subject: Given, layer: str | None = None) -> str:
    """Return every weight, or those of one layer (by number from 1, or by name), as named text.

    A line such as ``query[0] = 2·h/(i+1)`` is one row of a matrix; ``→`` shows where a value or a hidden unit is
    added. Everything that is not 0 is listed, so equal listings are equal weights.

    Args:
        subject: see `Subject.of`; a machine is compiled first.

    Raises:
        ShapeError: if there is no such layer.
    """
    from tm2tfr.transformer.listing import listing as listed

    return listed(Subject.of(subject).decoder, None if layer is None else str(layer))


def summary(subject: Given) -> str:
    """Return what a decoder consists of: its layers with their equations, and the counts.

    Args:
        subject: see `Subject.of`; a machine is compiled first.
    """
    from tm2tfr.transformer.listing import summary as summed_up

    return summed_up(Subject.of(subject).decoder)
