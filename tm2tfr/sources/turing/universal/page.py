"""What pages show of a universal decoder: the machine in its prompt, and what lets any other machine be put there."""

from __future__ import annotations

from dataclasses import replace

from tm2tfr.base.errors import CompileError, counted, visible
from tm2tfr.contract.shown import Page, Standalone
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.library import load, shipped, shipped_text
from tm2tfr.sources.turing.page import page as page_of_machine
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.names import size_of
from tm2tfr.sources.turing.universal.program import Universal

_STATES, _SYMBOLS = 0xAC00, 0xA000
"""The first of the signs that stand for states, and for symbols: scripts in which none of our texts is written."""
_MOST_STATES = 1_000


def page(universal: Universal) -> Page:
    """Return the data of the explorer's page about the machine in the prompt."""
    found, standing = page_of_machine(universal.right), universal.standing
    about = f"Run by the decoder of {_class(universal)}, which reads its rules in the prompt. "
    return replace(
        found,
        about=about + found.about,
        texts=(*standing.states, *standing.tape_alphabet),
        standalone=lambda: standalone(universal),
    )


def standalone(universal: Universal) -> Standalone:
    """Return the data of a page in which any machine of the class runs.

    Raises:
        CompileError: for more states than there are signs for, and for a prompt that was given itself.
    """
    if universal.described is not None:
        problem = "the page opens with the text of a machine, and a prompt was given"
        raise CompileError(f"{visible(universal.name)}: {problem}: name a machine")
    if universal.states > _MOST_STATES:
        problem = f"a page has signs for {_MOST_STATES:,} states, and this decoder has {universal.states:,}"
        raise CompileError(f"{problem}: use fewer")
    states, symbols = _signs(_STATES, universal.states + 1), _signs(_SYMBOLS, universal.symbols)
    return Standalone(
        program=universal.empty.holding(_machine(universal, states, symbols)),
        every=_class(universal),
        plain={
            "class": {"states": universal.states, "symbols": universal.symbols, "tape": universal.tape},
            "signs": {"states": states, "symbols": symbols},
        },
        examples={name: shipped_text(name) for name in shipped() if _fits(load(name), universal)},
        text=native.text_of(universal.right),
        checked=universal.right.check_input,
    )


def _class(universal: Universal) -> str:
    return f"all machines with at most {counted(universal.states, 'state')} and {counted(universal.symbols, 'symbol')}"


def _fits(machine: Machine, universal: Universal) -> bool:
    (states, symbols), tapes = size_of(machine), ("both", machine.tape)
    return states <= universal.states and symbols <= universal.symbols and universal.tape in tapes


def _signs(first: int, count: int) -> str:
    return "".join(map(chr, range(first, first + count)))


def _machine(universal: Universal, states: str, symbols: str) -> Machine:
    """Return a machine without rules whose states and symbols have signs as names, in the order of the decoder's.

    In a prompt, the first of several halting states is the one that has no rules, the last in the decoder's order.
    """
    start, *others, resting = tuple(states)
    return Machine(
        transitions={},
        start=start,
        states=(start, resting, *others),
        blank=symbols[0],
        tape_alphabet=tuple(symbols),
        tape="one-way" if universal.tape == "one-way" else "two-way",
        name="any machine",
    )
