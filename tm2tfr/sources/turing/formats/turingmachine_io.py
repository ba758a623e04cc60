"""A machine -> YAML for turingmachine.io, which our own reader reads too.

There the tape is two-way, no move stays, and there are no keys to accept or reject: by convention a state named
``accept`` accepts, and in a machine that has one every other halt rejects. Unknown keys are ignored there.
"""

from __future__ import annotations

from dataclasses import replace

from tm2tfr.sources.turing.formats import writer
from tm2tfr.sources.turing.formats.lossless import Translation, Written, two_way, with_states, without_stays
from tm2tfr.sources.turing.spec import Machine

ACCEPT = "accept"


def write(machine: Machine) -> Written:
    """Return `machine` as a document for turingmachine.io.

    Raises:
        ConversionError: if it stays in a cell without halting, or may move left at the end of a one-way tape.
    """
    t = _verdicts(without_stays(two_way(Translation(machine, "turingmachine.io"))))
    return Written(writer.write(t.machine), t.notes)


def _verdicts(t: Translation) -> Translation:
    """Return the machine with a state named ``accept`` instead of the keys, if it decides."""
    m = t.machine
    if not m.decides:
        return t
    t = with_states(t, dict.fromkeys(m.accept_states, ACCEPT))
    if not m.accept_states:
        t = with_states(t, {ACCEPT: ACCEPT + "_"} if ACCEPT in m.states else {})
        more = replace(t.machine, states=(*t.machine.states, ACCEPT), yaml=None)
        t = t.to(more, "a state 'accept' that no run enters declares that every halt rejects")
    return t.to(replace(t.machine, accept=None, reject=None, yaml=None))
