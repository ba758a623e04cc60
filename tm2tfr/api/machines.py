"""Machines: loaded, drawn as graphs, and written in other programs' formats."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject, outside
from tm2tfr.errors import ConversionError, SpecWarning

if TYPE_CHECKING:
    import networkx as nx

    from tm2tfr.api.subject import Given
    from tm2tfr.sources.turing.spec import Machine


def load(subject: Given, *, format: str | None = None) -> Machine:
    """Load a machine from a path, from standard input (``-``), or a shipped one by its name.

    A name without a suffix or a slash means a file in the current folder if there is one. A name that is neither and
    looks like bbchallenge text, ``1RB1LB_1LA1RZ``, is read as such. The format of a file is determined by its extension
    or, failing that, its contents, unless `format` names it (`tm2tfr.sources.turing.formats.registry`). Anything that the
    author of the machine may not have meant is issued as a `SpecWarning`. Of weights it is the machine stored with them.

    Args:
        subject: see `Subject.of`.

    Raises:
        NotFoundError: if there is no such file and no such shipped machine.
        ReadError, WeightFileError: if it cannot be read.
        ConversionError: if no such format is read, or what is given is not a text.
        SpecError: with every error of the document.
        CompileError: if no machine is stored with weights.
    """
    if format is not None and (not isinstance(format, str) or not format):
        raise ConversionError(f"{format!r} is not the name of a format: use for example 'jflap', or None")
    found = Subject.read(subject, format=format)
    if format is not None and (found.compiled or not found.text):
        raise ConversionError(f"{found.name}: it is not a text that could be in the format {format!r}: omit the format")
    for warning in found.warnings:
        warnings.warn(warning, SpecWarning, stacklevel=outside())
    machine: Machine = found.right
    return machine


def to_graph(subject: Given) -> nx.MultiDiGraph[str]:
    """Return the state graph of a machine: a node for each state, in its order, and an edge for each rule.

    A node has the attributes ``start``, ``accept``, ``reject`` and ``halting`` (bool). The edge of
    δ(q, a) = (r, b, m) goes from q to r, its key is ``a``, and it has the attributes ``rule``, ``read``
    (a), ``write`` (b) and ``move`` (m: -1, 0 or +1).

    Args:
        subject: see `Subject.of`.

    Raises:
        CompileError: if no machine is stored with weights.
    """
    from tm2tfr.sources.turing.graph import to_graph as graph_of

    return graph_of(Subject.of(subject).turing("to_graph"))


def convert(subject: Given, format: str) -> str:
    """Return a machine in another program's format.

    >>> import tm2tfr
    >>> print(tm2tfr.convert("busy-beaver-2", "bbchallenge"))
    1RB1LB_1LA1RZ
    <BLANKLINE>

    Args:
        subject: see `Subject.of`.
        format: one of `tm2tfr.sources.turing.conversion.TARGETS`.

    Raises:
        ConversionError: if there is no such format, or it cannot express the machine; the message gives the reason.
    """
    from tm2tfr.sources.turing.conversion import convert as converted

    return converted(Subject.of(subject).turing("convert"), format).text
