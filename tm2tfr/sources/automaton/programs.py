"""Which program an automaton is compiled by: B-RASP where it is star-free, otherwise a scan or steps in RASP."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tm2tfr.base.choices import AutomatonWay
from tm2tfr.base.errors import CompileError, visible
from tm2tfr.base.text.words import written
from tm2tfr.contract.options import AutomatonOptions
from tm2tfr.sources.automaton.automaton import Automaton, minimised
from tm2tfr.sources.automaton.cascade import MOST_IMAGES, Counter, Images, TooManyImagesError
from tm2tfr.sources.automaton.to_logic import to_brasp, to_formula
from tm2tfr.sources.automaton.to_rasp import to_scan, to_steps

if TYPE_CHECKING:
    from tm2tfr.sources.logic.program import LogicProgram
    from tm2tfr.sources.rasp.program import Program

LENGTH = 10
"""The longest word of a scan where no option says it."""
STAR_FREE: AutomatonWay = "star-free"
SCAN: AutomatonWay = "scan"
STEPS: AutomatonWay = "steps"
MOST_IN_CASCADE = 150
"""The most images of a cascade that is compiled by default: that takes seconds, more take minutes."""
MOST_BY_DEFAULT = 5
"""The most states of an automaton that is scanned by default."""


@dataclass(frozen=True)
class Decided:
    """Whether an automaton's language is star-free, and the automaton that shows it.

    Args:
        cascade: an aperiodic automaton of the language: the given one, or else the minimal one; None: there is none.
        counter: what counts in the minimal automaton; None: it is aperiodic, or was not looked at.
        open: whether this is not decided, because there are too many images.
        merged: whether the cascade is of the minimal automaton, because the given one counts.
        images: the number of images of the cascade's automaton.
    """

    cascade: Automaton | None
    counter: Counter | None = None
    open: bool = False
    merged: bool = False
    images: int = 0

    @property
    def small(self) -> bool:
        """Whether there is a cascade, and it is compiled by default."""
        return self.cascade is not None and self.images <= MOST_IN_CASCADE


@lru_cache(maxsize=256)
def decided(automaton: Automaton) -> Decided:
    """Return whether the language of an automaton is star-free: whether its minimal automaton is aperiodic."""
    try:
        images = Images(automaton)
        if images.counter() is None:
            return Decided(automaton, images=len(images.all))
    except TooManyImagesError:
        pass
    minimal = minimised(automaton)
    try:
        images = Images(minimal)
        counter = images.counter()
    except TooManyImagesError:
        return Decided(None, open=True)
    if counter is not None:
        return Decided(None, counter)
    return Decided(minimal, merged=True, images=len(images.all))


def shown_counter(counter: Counter) -> str:
    """Return what counts, in words: ``the word 'a' leads from q0 to q1 and back``."""
    around = " to ".join(visible(state) for state in counter.states)
    return f"the word {written(counter.word)!r} leads from {around} and back to {visible(counter.states[0])}"


def rasp_way(automaton: Automaton) -> AutomatonWay:
    """Return the way in which an automaton becomes a RASP program by default: the scan if it is small."""
    return SCAN if len(automaton.reachable) <= MOST_BY_DEFAULT else STEPS


def way_of(automaton: Automaton, options: AutomatonOptions) -> AutomatonWay:
    """Return the way in which an automaton is compiled.

    Raises:
        CompileError: for a way that is impossible, and a longest word where words may have any length.
    """
    found, name = decided(automaton), visible(automaton.name)
    if options.by == STAR_FREE and found.cascade is None:
        why = "" if found.counter is None else f": {shown_counter(found.counter)}"
        problem = f"{name} is not star-free{why}"
        if found.open:
            problem = (
                f"{name}: whether it is star-free is not decided, since more than {MOST_IMAGES:,} sets of states are images"
            )
        raise CompileError(f"{problem}: omit --by, or use --by scan or --by steps")
    way = options.by or (STAR_FREE if found.small else rasp_way(automaton))
    if way == STAR_FREE and options.max_length is not None:
        problem = f"{name} is star-free, and compiled for words of any length"
        raise CompileError(f"{problem}: omit --max-length, or use --by scan as well")
    return way


def text_of(automaton: Automaton, options: AutomatonOptions) -> str:
    """Return the text of the program that an automaton is compiled by: B-RASP, or RASP.

    Raises:
        CompileError: see `way_of`.
    """
    way = way_of(automaton, options)
    if way == STAR_FREE:
        return to_brasp(decided(automaton).cascade or automaton)
    return (to_scan if way == SCAN else to_steps)(automaton, options.max_length or LENGTH)


def formula_of(automaton: Automaton) -> str:
    """Return the text of a formula of past temporal logic for a star-free automaton.

    Raises:
        CompileError: if it is not star-free.
    """
    way_of(automaton, AutomatonOptions(by=STAR_FREE))
    return to_formula(decided(automaton).cascade or automaton)


def short_formula_of(automaton: Automaton) -> str:
    """Return the formula of a star-free automaton without definitions, on one line.

    Raises:
        CompileError: if it is not star-free.
    """
    from tm2tfr.sources.logic.read import read  # noqa: PLC0415  (grammars take their time to load)
    from tm2tfr.sources.logic.write import text_of as written_node  # noqa: PLC0415

    return written_node(read(formula_of(automaton), file="formula.tl", language="tl").program.root, named=False)


@lru_cache(maxsize=64)
def program_of(automaton: Automaton, options: AutomatonOptions) -> LogicProgram | Program:
    """Return the program that an automaton is compiled by: of B-RASP a `LogicProgram`, otherwise a RASP `Program`.

    Raises:
        CompileError: see `way_of`.
    """
    text = text_of(automaton, options)
    if way_of(automaton, options) == STAR_FREE:
        from tm2tfr.sources.logic.read import read as read_logic  # noqa: PLC0415  (grammars take their time to load)

        return read_logic(text, file=f"{automaton.name}.srasp", name=automaton.name, language="srasp").program
    from tm2tfr.sources.rasp.read import read as read_rasp  # noqa: PLC0415

    return read_rasp(text, file=f"{automaton.name}.rasp", name=automaton.name).program
