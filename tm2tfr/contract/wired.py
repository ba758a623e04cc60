"""The causal model of weights that keep some of a program's values: equations along the wiring of the weights.

Weights say of every subspace what it holds, and the pattern of their entries that are not 0 says from which others it is
computed (`tm2tfr.transformer.listing`). A variable's equation is its claim, in which a value of the program is the one that
what is read holds of it, and any other is computed by its own definition. So what is set is seen by all that read its
subspace, and not by what is computed from its parts past it.

Tables of weights only have entries for inputs that can occur. For combinations of values that occur in none of about a
hundred runs, the answer of the weights is unknown: such a cell has a doubt, and so have all cells computed from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from tm2tfr.contract.model import EMBEDDING, ModelVariable
from tm2tfr.contract.modelled import CausalRun, CausalValue, ReadOff, Settings
from tm2tfr.contract.specification import STAGES
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.listing import Wire, wiring
from tm2tfr.transformer.weights import Decoder, digest

KnownOrNot = tuple[Any, str]
"""A value, and why it is not known what weights have there; empty: it is known."""
MOST_READERS = 6
"""At most this many readers of a variable are named."""
PLACE, ONE = "it says where a position is, and has no cause", "it is 1 at every position, and has no cause"


class ProgramText(Protocol):
    """The part of a program that says whether it is the same as another."""

    @property
    def text(self) -> str: ...
    @property
    def chosen(self) -> str: ...
    @property
    def alphabet(self) -> Sequence[Any]: ...


ProgramKind = TypeVar("ProgramKind", bound=ProgramText)


class WiredWeights(ABC, Generic[ProgramKind]):
    """The common part of all runs of a program's weights: the wiring, and the values that occur together.

    Args:
        by_name: whether variables go by the names of their subspaces, instead of what these hold.

    Attributes:
        spaces, wires, outputs: see `tm2tfr.transformer.listing.Wiring`.
        learning: whether combinations of values are recorded, instead of compared with the record.
    """

    def __init__(self, program: ProgramKind, decoder: Decoder, *, by_name: bool = False) -> None:
        self.program, self.decoder, self._by_name = program, decoder, by_name
        spaces, self.wires, self.outputs = wiring(decoder, by_name=by_name)
        self.spaces = {what: space for what, space in spaces.items() if space.labels != ()}  # which nothing writes
        self.learning = True
        self._together: dict[str, set[Any]] = {}

    def of(self, program: ProgramKind, decoder: Decoder) -> bool:
        """Return whether it is of this program and these weights: the same text, and the same matrices."""
        own = self.program
        if self.decoder is decoder and own is program:
            return True
        same = (program.text, program.chosen, program.alphabet) == (own.text, own.chosen, own.alphabet)
        return (
            same
            and bool(program.text)
            and decoder.layout == self.decoder.layout
            and digest(decoder) == digest(self.decoder)
        )

    @abstractmethod
    def variables(self) -> dict[str, ModelVariable]:
        """Return the variables that can be set or seen, as `spaces` has them."""

    def wire(self, what: str) -> Wire:
        """Return the variables that a variable is computed from."""
        return self.wires.get(what, Wire())

    @cached_property
    def read_by(self) -> Mapping[str, str]:
        """What reads each variable, in words: heads, other variables, and outputs."""
        read_by: dict[str, dict[str, None]] = {what: {} for what in self.spaces}
        for reader, wire in self.wires.items():
            head = wire.head
            for read in {*wire.reads, *(head.query | head.key if head else ())}:
                named = head and (head.name if self._by_name else head.attends)
                read_by[read][f"the head {named}" if head else reader] = None
        for output, reads in self.outputs.items():
            for read in reads:
                read_by[read][f"the output {output}"] = None
        return {what: _few([*readers]) for what, readers in read_by.items()}

    def described(
        self, defined: Iterable[ModelVariable], formulas: Mapping[str, tuple[str, str]]
    ) -> tuple[ModelVariable, ...]:
        """Return the variables for readers, in the order of the layers.

        Args:
            defined: variables that no subspace holds, which equations use.
            formulas: variable, or what only the position decides -> its meaning and its equation.
        """
        own, stored = self.variables(), list[ModelVariable]()
        for what, space in self.spaces.items():
            fixed = ModelVariable(
                name=what, meaning="", since=space.since or EMBEDDING, feature=True, read_by=self.read_by[what]
            )
            meaning, formula = formulas[what]
            stored.append(replace(own.get(what, fixed), meaning=meaning, formula=formula))
        return (*defined, *sorted(stored, key=lambda each: (each.since[0], STAGES.index(each.since[1]))))

    def seldom(self, what: str, values: tuple[Any, ...]) -> bool:
        """Return whether these values, from which something is computed, come together in no run; learn that they do."""
        known = self._together.setdefault(what, set())
        if self.learning:
            known.add(values)
        return values not in known


def _few(readers: Sequence[str]) -> str:
    more = len(readers) - MOST_READERS
    return ", ".join(readers[:MOST_READERS]) + (f" and {more} more" if more > 0 else "")


_Value = TypeVar("_Value")


class WiredRun(ABC):
    """The values of a run, some of whose variables may be set, each computed on first use.

    Args:
        tokens: those fed.
        strange: why nothing is known, if that is so.

    Attributes:
        why: the first doubt about what is being computed.
    """

    def __init__(self, tokens: Sequence[str], settings: Settings, strange: str = "") -> None:
        self.tokens, self._set, self._strange = tuple(tokens), settings, strange
        self._known: dict[tuple[str, int], KnownOrNot] = {}
        self.why = ""

    def held(self, what: str, i: int) -> KnownOrNot:
        """Return the value of a variable at position `i`, and the reason if it is unknown."""
        if (what, i) in self._set:
            return self._set[what, i], self._strange
        if (what, i) not in self._known:
            value, why = self.noted(lambda: self.computed(what, i))
            self._known[what, i] = value, why or self._strange
        return self._known[what, i]

    def noted(self, compute: Callable[[], _Value]) -> tuple[_Value, str]:
        """Return a value that is computed, and the first doubt about it."""
        outer, self.why = self.why, ""
        value = compute()
        why, self.why = self.why, outer
        return value, why

    def doubt(self, why: str) -> None:
        """Note why what is being computed is not known; empty: it is."""
        self.why = self.why or why

    def take(self, what: str, i: int) -> CausalValue:
        """Return the value of a variable at position `i`, and record the doubt about it."""
        value, why = self.held(what, i)
        self.doubt(why)
        return value

    @abstractmethod
    def computed(self, what: str, i: int) -> CausalValue:
        """Return a variable at position `i` by its equation, with doubts noted."""

    @abstractmethod
    def answered(self, output: Output, i: int) -> CausalValue:
        """Return the value of an output at position `i`, and record doubts."""

    def run(self, variables: Iterable[str], outputs: Sequence[Output]) -> CausalRun:
        """Return the values of all variables, and the answers."""
        places = range(len(self.tokens))
        held = {(what, i): self.held(what, i) for what in variables for i in places}
        cells: list[dict[str, CausalValue]] = [{} for _ in places]
        for (what, i), (value, _) in held.items():
            cells[i][what] = value
        answers = [[self.noted(partial(self.answered, output, i)) for output in outputs] for i in places]
        unanswered = {i: {k: why for k, (_, why) in enumerate(own) if why} for i, own in enumerate(answers)}
        return CausalRun(
            self.tokens,
            tuple(tuple(value for value, _ in own) for own in answers),
            tuple(cells),
            {cell: why for cell, (_, why) in held.items() if why},
            {i: own for i, own in unanswered.items() if own},
        )


class WiredCausal:
    """The causal model of a run, see `tm2tfr.contract.modelled.CausalModel`.

    Args:
        started: settings -> the run in which variables have these values.
        fixed: other names that cannot be set, with the reason.
        opposites: name -> the variable whose opposite it is.
        read_off: the values that are set by other variables, by their names.
    """

    def __init__(
        self,
        weights: WiredWeights[Any],
        variables: Mapping[str, ModelVariable],
        aliases: Mapping[str, str],
        started: Callable[[Settings], WiredRun],
        fixed: Mapping[str, str] = MappingProxyType({}),
        opposites: Mapping[str, str] = MappingProxyType({}),
        read_off: Mapping[str, ReadOff] = MappingProxyType({}),
    ) -> None:
        self.read_off = read_off
        self.variables, self.aliases, self.opposites = variables, aliases, opposites
        self.fixed: Mapping[str, str] = {
            what: ONE if what == "1" else PLACE for what in weights.spaces if what not in variables
        } | {**fixed}
        self._outputs, self._started = weights.decoder.outputs, started

    def run(self, settings: Settings, max_positions: int) -> CausalRun:
        """Return the run in which variables have these values."""
        return self._started(settings).run(self.variables, self._outputs)

    def runs(self, settings: Sequence[Settings], max_positions: int) -> list[CausalRun]:
        """Return the run for each of the settings."""
        return [self.run(own, max_positions) for own in settings]


WeightsKind = TypeVar("WeightsKind", bound=WiredWeights[Any])


def latest(
    known: list[WeightsKind], program: ProgramText, decoder: Decoder, make: Callable[[], WeightsKind]
) -> WeightsKind:
    """Return what is known of these weights, or make it: what occurs in their runs is found once.

    Args:
        known: of the last weights, the latest first; changed.
    """
    weights = next((each for each in known if each.of(program, decoder)), None)
    if weights is None:
        weights = make()
        weights.learning = False
        known[:] = [weights, *known[:3]]
    return weights


def plain(value: CausalValue) -> Any:
    """Return a value as one that can be in a set."""
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value
