"""A machine -> YAML for turingmachine.io, which our own reader reads too.

There the tape is two-way, no move stays, and there are no keys to accept or reject: by convention a state named
``accept`` accepts, and in a machine that has one every other halt rejects. Unknown keys are ignored there.
"""

from __future__ import annotations

from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.formats.lossless import Translation, Written, accepting_by_name, two_way, without_stays
from tm2tfr.sources.turing.spec import Machine


def looks_like(_: str) -> bool:
    """Return False: a text that is in this format is in ours, too, and recognised as that."""
    return False


def write(machine: Machine) -> Written:
    """Return `machine` as a document for turingmachine.io.

    Raises:
        ConversionError: if it stays in a cell without halting, or may move left at the end of a one-way tape.
    """
    t = accepting_by_name(without_stays(two_way(Translation(machine, "turingmachine.io"))))
    return t.written(native.write(t.machine))
