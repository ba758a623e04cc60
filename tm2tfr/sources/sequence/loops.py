"""Which values the states of a loop can have: the least sets that contain the first ones and all that comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from tm2tfr.base.errors import CompileError
from tm2tfr.sources.sequence import graph as seq
from tm2tfr.sources.sequence.functions import mixed

POSITION_BY_POSITION = 3
"""After this many rounds a state may have, at every position of a length, the values that it can have at any of them."""

_Everywhere = list[frozenset[seq.Item]]
"""Values by position."""


class Sets(Protocol):
    """What is known of the values of nodes, see `tm2tfr.sources.sequence.domains.Domains`."""

    graph: seq.SequenceGraph
    kinds: dict[seq.Operation, frozenset[str]]
    length: int
    most: int

    def there(self, node: seq.Operation, n: int) -> _Everywhere:
        """Return the values of a node at every position of inputs of length n."""

    def put(self, node: seq.Operation, n: int, values: Sequence[frozenset[seq.Item]]) -> None:
        """Take these as the values of a root at every position of inputs of length n."""


class Settling:
    """The values of the states of one loop, length by length; the longest comes first."""

    def __init__(self, sets: Sets, loop: seq.PassLoop) -> None:
        self._sets, self._loop = sets, loop
        self._longest: Mapping[seq.PassState, frozenset[seq.Item]] = {}

    def __call__(self, n: int, compute: Callable[[], None]) -> None:
        """Find them for inputs of length n; compute: computes what depends on the states.

        Raises:
            CompileError: if a state has too many values.
        """
        sets = self._sets
        first = {state: self._whole(state, sets.there(state.initial, n)) for state in self._loop.states}
        if self._longest:  # what the longest inputs need, shorter ones as a rule need as well, and no more
            self._put({state: [own | self._longest[state] for own in values] for state, values in first.items()}, n)
            compute()
            if not self._grown(n, together=False):
                return
        self._put(first, n)
        rounds = 0
        while True:
            compute()
            rounds += 1
            if rounds == self._loop.times or not (grown := self._grown(n, together=rounds > POSITION_BY_POSITION)):
                break
            self._put(grown, n)
        if n == sets.length and rounds > POSITION_BY_POSITION:
            self._longest = {state: frozenset[seq.Item]().union(*sets.there(state, n)) for state in self._loop.states}

    def _put(self, values: Mapping[seq.PassState, _Everywhere], n: int) -> None:
        for state, own in values.items():
            self._sets.put(state, n, own)

    def _grown(self, n: int, *, together: bool) -> dict[seq.PassState, _Everywhere]:
        """Return the values of the states that can have more in the next pass; together: at any position, so at all."""
        found: dict[seq.PassState, _Everywhere] = {}
        for state, following in zip(self._loop.states, self._loop.nexts, strict=True):
            here, came = self._sets.there(state, n), self._whole(state, self._sets.there(following, n))
            values = [own | more for own, more in zip(here, came, strict=True)]
            if together:
                values = [frozenset[seq.Item]().union(*values)] * n
            if max(map(len, values), default=0) > self._sets.most:
                raise self._too_many(state)
            if values != here:
                found[state] = values
        return found

    def _whole(self, state: seq.PassState, values: _Everywhere) -> _Everywhere:
        """Return values as a state has them: truth values are numbers where there are numbers as well."""
        if not mixed(state, self._sets.kinds):
            return values
        return [frozenset(int(value) if isinstance(value, bool) else value for value in own) for own in values]

    def _too_many(self, state: seq.PassState) -> CompileError:
        what = f"{seq.called(state)} can have more than {self._sets.most:,} values in the passes of its loop"
        remedy = "bound it with % or a conditional, repeat the loop fewer times, or allow more with --max-values"
        return self._sets.graph.refusal(state, what, remedy)
