"""S-ops that no subspace holds: how they are read from variables, and so by which of these they are set.

What reads such an s-op computes it from other variables: from a mean and from whether a selector finds anything, say. It
is set by setting all of these, at its position, to values that they have together at some position of some run in which
the s-op has that value; of several, to those that differ least from what is there. So everything that reads the s-op sees
the new value, and so does everything else that reads these variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from tm2tfr.base.errors import UsageError, listing
from tm2tfr.contract.modelled import CausalValue, Settings
from tm2tfr.contract.wired import KnownOrNot, plain
from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.model.claims import PickedOf, StepsOf, ValueOf
from tm2tfr.sources.rasp.model.weights import RaspReads, RaspWeights
from tm2tfr.sources.rasp.program import shown_atom

PLACE = "position"
"""Stands for the position among what an s-op is read from."""
MOST_TRIED = 50
"""The most ways to set an s-op that are tried."""
MOST_SHOWN = 12
_UNSET = (Mapping, type(None))
"""What a variable can be and cannot be set to: shares of labels, which several positions bring, and nothing."""


class SeenRun(Protocol):
    """A run, see `tm2tfr.sources.rasp.model.causal.RaspRun`."""

    def held(self, what: str, i: int) -> KnownOrNot: ...
    def seen(self, sop: rasp.SOp, i: int, reads: RaspReads) -> rasp.Atom: ...


Started = Callable[[Settings], SeenRun]
"""Settings -> the run in which variables have these values."""


def sources(about: RaspWeights, sop: rasp.SOp, reads: RaspReads) -> Iterator[str]:
    """Yield the variables from which an s-op is known to what reads these variables, and `PLACE`."""
    node = about.same[sop]
    if len(about.atoms[node]) == 1:
        return
    if (own := reads.held.get(ValueOf(node.number))) is not None:
        yield own
    elif isinstance(node, rasp.Tokens):
        yield about.token
    elif isinstance(node, rasp.Indices):
        yield PLACE
    elif isinstance(node, rasp.Elementwise):
        for argument in node.arguments:
            yield from sources(about, argument, reads)
    elif isinstance(node, rasp.Aggregate):
        yield from _brought(about, node, reads)


def _brought(about: RaspWeights, node: rasp.Aggregate, reads: RaspReads) -> Iterator[str]:
    for claim in (about.known.found(node.selector), PickedOf(node.number)):
        if claim in reads.held:
            yield reads.held[claim]
    mean = reads.means.get(node.number)
    if (steps := reads.held.get(StepsOf(node.number))) is not None:
        mean = about.reads(about.wires[steps].reads).means.get(node.number)
    if mean is not None:
        yield mean[0]


@dataclass(frozen=True)
class SpreadSOp:
    """An s-op that is read from variables.

    Args:
        name: its name.
        parts: the variables.
    """

    name: str
    parts: tuple[str, ...]
    _sop: rasp.SOp
    _about: RaspWeights
    _placed: bool
    _started: Started

    def at(self, position: int) -> CausalValue:
        """Return its value at a position of the run without any intervention."""
        return self._seen({}, position)[0]

    def settings(self, value: CausalValue, position: int, where: str) -> Settings:
        """Return the settings that give it a value.

        Raises:
            UsageError: if it has that value in no run, or not by variables that can be set.
        """
        known = self._together(position)
        wanted = value if isinstance(value, str) else shown_atom(value) if isinstance(value, int | Fraction) else str(value)
        if wanted not in known:
            every = listing(sorted(known), most=MOST_SHOWN)
            what = f"{where}: {self.name} is never {wanted!r}{' there' if self._placed else ''}, in some hundred runs"
            raise UsageError(f"{what}: use one of {every}")
        here = self._started({})
        now = tuple(here.held(what, position)[0] for what in self.parts)
        ways = sorted(known[wanted].values(), key=lambda way: (_apart(now, way), str(way)))
        for way in ways[:MOST_TRIED]:
            held = [old if isinstance(new, _UNSET) else new for new, old in zip(way, now, strict=True)]
            pairs = zip(self.parts, held, strict=True)
            chosen = {(part, position): new for part, new in pairs if not isinstance(new, _UNSET)}
            if all(seen == wanted for seen in self._seen(chosen, position)):
                return chosen
        what = f"{where}: {self.name} cannot be set to {wanted!r} by {listing(list(self.parts), most=MOST_SHOWN)}"
        raise UsageError(f"{what}: set these, or use another value")

    def _seen(self, chosen: Settings, position: int) -> list[str]:
        """Return what it is for each of those that read it."""
        run, about = self._started(chosen), self._about
        return [about.shown(self._sop, run.seen(self._sop, position, reads)) for reads in about.readers[self._sop]]

    def _together(self, position: int) -> Mapping[str, Mapping[object, tuple[CausalValue, ...]]]:
        """Return for each value what the variables are together where it has that value."""
        found: dict[str, dict[object, tuple[CausalValue, ...]]] = {}
        for values, run in self._about.learned:
            row = values[self._sop]
            places = range(len(row)) if not self._placed else [position] if position < len(row) else []
            for i in places:
                held = tuple(run.held(what, i)[0] for what in self.parts)
                found.setdefault(self._about.shown(self._sop, row[i]), {}).setdefault(tuple(map(plain, held)), held)
        return found


def _apart(now: Sequence[CausalValue], way: Sequence[CausalValue]) -> tuple[int, float]:
    """Return the distance of values from others: the number that differ, and the differences."""
    pairs = [*zip(now, way, strict=True)]
    apart = [
        abs(Fraction(a) - Fraction(b)) for a, b in pairs if isinstance(a, int | Fraction) and isinstance(b, int | Fraction)
    ]
    return len([a for a, b in pairs if plain(a) != plain(b)]), float(sum(apart, Fraction(0)))


def spread(
    about: RaspWeights, named: Mapping[str, rasp.SOp], started: Started
) -> tuple[dict[str, SpreadSOp], dict[str, str]]:
    """Return the named s-ops that are set by other variables, and why others cannot be set.

    Args:
        named: s-ops without a subspace of their own.
        started: settings -> the run in which variables have these values.
    """
    found: dict[str, SpreadSOp] = {}
    refused: dict[str, str] = {}
    for name, sop in named.items():
        if sop not in about.same:
            refused[name] = "these weights do not compute it: compile it with --sop, or set what it is made of"
            continue
        node = about.same[sop]
        if len(about.atoms[node]) == 1:
            refused[name] = f"it is the same on every input: {about.instead_of(node)}"
            continue
        readers = about.readers.get(node, {})
        parts = dict.fromkeys(what for reads in readers for what in sources(about, node, reads))
        variables = tuple(what for what in parts if what not in (PLACE, *about.fixed))
        if not readers or not variables:
            why = "nothing reads it by itself" if not readers else "it is a function of the position alone"
            refused[name] = f"{why}: {about.instead_of(node)}"
            continue
        found[name] = SpreadSOp(name, variables, node, about, PLACE in parts, started)
    return found, refused
