"""The same values as `evaluate`, for many inputs of one length at once.

Each s-op keeps the different values that it has had so far in a list, and its values on a batch are places in that list, so
that a function is applied once to each combination of values. Values are exact, and the functions are those of the
interpreter; the attention is counted apart from it, in whole numbers. Inputs are the last axis, over which numpy loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.evaluate import MOST_PASSES
from tm2tfr.sources.rasp.program import Word
from tm2tfr.sources.rasp.value_lists import LONG, REFUSED, Places, ValueList, ValueLookup, is_text, is_truth
from tm2tfr.sources.rasp.values import BINARY, CONVERSIONS, RELATIONS, UNARY, ValueRefused

Matrices = NDArray[np.bool_]
"""What is selected: (n_key, n_query, inputs), or 1 where it is the same for all, and to others (inputs, n_query, n_key)."""
_SHORT = 1 << 31
"""Whole numbers below this fit 32 bits."""
_LENGTHS = 64
"""Values that depend only on the length are cached for this many lengths."""
_SMALL = 1 << 12
"""A table of this size is worth making for a few entries."""


@dataclass(frozen=True)
class ManyValues:
    """What s-ops are on many inputs.

    Args:
        defined: (inputs,): whether everything is defined on it; where it is not, places say nothing.
        places: s-op -> the place of each value: (inputs, n).
        atoms: s-op -> the values that places are of.
        matrices: selector -> its matrix on each input, (inputs, n_query, n_key), if requested.
    """

    defined: NDArray[np.bool_]
    places: Mapping[rasp.SOp, Places]
    atoms: Mapping[rasp.SOp, Sequence[rasp.Atom]]
    matrices: Mapping[rasp.Selector, Matrices] = field(default_factory=dict)


class ManyInputs:
    """Evaluates some s-ops, with all that they need, on one batch of inputs after the other."""

    def __init__(self, sops: Iterable[rasp.SOp], alphabet: Sequence[rasp.Atom]) -> None:
        self.nodes = rasp.needed(sops)
        self._tokens = ValueList()
        for token in alphabet:
            self._tokens.place(token)
        self._values: dict[rasp.SOp, ValueList] = {node: ValueList() for node in self.nodes if isinstance(node, rasp.SOp)}
        self._steps = [(node, self._step(node)) for node in self.nodes]
        steps = dict(self._steps)
        for n, node in enumerate(self.nodes):
            if isinstance(node, rasp.Repeat):
                again = [(each, steps[each]) for each in rasp.repeated(node, self.nodes)]
                self._steps[n] = (node, self._repeat(node, again))
        still = set[rasp.Node]()
        for node in self.nodes:
            if not isinstance(node, rasp.Tokens | rasp.State | rasp.Repeat | rasp.Looped) and still.issuperset(
                rasp.made_of(node)
            ):
                still.add(node)
        self._still = [(node, step) for node, step in self._steps if node in still]
        self._moving = [(node, step) for node, step in self._steps if node not in still]
        self._known: dict[int, tuple[dict[rasp.Node, Any], bool]] = {}

    def _of_length(self, n: int) -> tuple[dict[rasp.Node, Any], bool]:
        """Return what depends on the number of tokens alone, and whether it is defined."""
        if n not in self._known:
            run = _Run(np.zeros((n, 1), dtype=np.int64))
            for node, step in self._still:
                run.done[node] = step(run)
            if len(self._known) == _LENGTHS:
                self._known.clear()
            self._known[n] = run.done, bool(run.defined[0])
        return self._known[n]

    def __call__(self, words: Sequence[Word]) -> ManyValues:
        """Return the values on inputs of one length, of tokens of the alphabet."""
        at = {(type(token), token): place for place, token in enumerate(self._tokens.atoms)}
        given = np.array([[at[type(token), token] for token in word] for word in words], dtype=np.int64)
        return self.run(given)

    def run(self, given: Places, *, matrices: bool = False) -> ManyValues:
        """Return the values on inputs of one length, given as the places of their tokens in the alphabet: (inputs, n).

        Args:
            matrices: return those of selectors as well.
        """
        run = _Run(np.ascontiguousarray(given.T))
        done, defined = self._of_length(run.n)
        run.done |= done
        run.defined &= defined
        for node, step in self._moving:
            run.done[node] = step(run)
        sops = list(self._values)
        selectors = [node for node in self.nodes if isinstance(node, rasp.Selector)] if matrices else ()
        return ManyValues(
            run.defined,
            {node: np.broadcast_to(run.done[node], given.T.shape).T for node in sops},
            {node: self._values[node].atoms for node in sops},
            {node: np.broadcast_to(run.done[node], (run.n, run.n, run.size)).T for node in selectors},
        )

    def _step(self, node: rasp.Node) -> Callable[[_Run], Any]:  # noqa: PLR0911
        if isinstance(node, rasp.Tokens):
            return self._tabled(node, [self._tokens], CONVERSIONS[node.conversion], given=True)
        if isinstance(node, rasp.Indices):
            mine = self._values[node]
            return lambda run: np.array([[mine.place(i)] for i in range(run.n)])
        if isinstance(node, rasp.Constant):
            same = np.array([[self._values[node].place(node.value)]])
            return lambda run: same
        if isinstance(node, rasp.Elementwise):
            return self._elementwise(node)
        if isinstance(node, rasp.Select):
            return self._select(node)
        if isinstance(node, rasp.Combined):
            return _combined(node)
        if isinstance(node, rasp.Aggregate):
            return self._aggregate(node)
        if isinstance(node, rasp.State | rasp.Looped):
            mine, source = self._values[node], node.initial if isinstance(node, rasp.State) else node.value
            theirs = self._values[source]

            return lambda run: mine.moved(theirs).take(run.done[source])
        if isinstance(node, rasp.Repeat):
            return lambda run: np.ones(run.size, dtype=np.int64)  # see `_repeat`
        raise TypeError(f"{type(node).__name__} is not a node of a program")

    def _repeat(
        self, loop: rasp.Repeat, again: Sequence[tuple[rasp.Node, Callable[[_Run], Any]]]
    ) -> Callable[[_Run], NDArray[np.int64]]:
        """Return the step of a loop, with the number of passes of each input.

        Once a loop has ended on an input, what it hands over stays as it was, so that further passes change nothing there.
        """
        until = None if loop.until is None else self._values[loop.until]
        pairs = [(state, following, self._values[state]) for state, following in zip(loop.states, loop.nexts, strict=True)]

        def ended(run: _Run) -> NDArray[np.bool_]:
            if loop.until is None or until is None:
                return np.zeros(run.size, dtype=bool)
            here = run.done[loop.until]
            run.defined &= until.flags(is_truth)[here].all(axis=0)
            true: NDArray[np.bool_] = until.flags(bool)[here].all(axis=0)
            return true

        def step(run: _Run) -> NDArray[np.int64]:
            passes, going = np.ones(run.size, dtype=np.int64), run.defined.copy()
            most = MOST_PASSES if loop.times is None else loop.times
            seen: list[set[bytes]] = [set() for _ in range(run.size if loop.times is None else 0)]
            for _ in range(1, most):
                going &= run.defined & ~ended(run)
                handed = []
                for state, following, mine in pairs:
                    moved = mine.moved(self._values[following]).take(run.done[following])
                    handed.append(np.where(going, np.broadcast_to(moved, (run.n, run.size)), run.done[state]))
                for n, before in enumerate(seen):  # what comes back never ends
                    key = b"".join(places[:, n].tobytes() for places in handed) if going[n] else b""
                    run.defined[n] &= not going[n] or key not in before
                    before.add(key)
                going &= run.defined
                if not going.any():
                    break
                passes += going
                run.done |= {state: places for (state, _, _), places in zip(pairs, handed, strict=True)}
                for node, pass_step in again:
                    run.done[node] = pass_step(run)
            else:
                if loop.times is None:
                    run.defined &= ~(going & ~ended(run))
            return passes

        return step

    def _tabled(
        self,
        node: rasp.SOp,
        sources: Sequence[ValueList],
        function: Callable[..., rasp.Atom],
        *,
        given: bool = False,
        one: bool = True,
    ) -> Callable[[_Run], Places]:
        """Return the step of a function of values; `one`: whether a sequence of texts and others is refused."""
        mine = self._values[node]
        arguments = node.arguments if isinstance(node, rasp.Elementwise) else ()

        def place(*atoms: rasp.Atom) -> int:
            try:
                return mine.place(function(*atoms))
            except ValueRefused:
                return REFUSED

        lookup = ValueLookup(sources, place)

        def step(run: _Run) -> Places:
            found = lookup(run.given) if given else lookup(*(run.done[each] for each in arguments))
            return run.checked(found, mine if one else None, lookup.least)

        return step

    def _elementwise(self, node: rasp.Elementwise) -> Callable[[_Run], Places]:
        sources = [self._values[argument] for argument in node.arguments]
        entries = dict(node.entries)
        if node.operator == "in":
            return self._tabled(node, sources, lambda value: value in entries, one=False)
        if node.operator == "table":
            return self._tabled(node, sources, lambda value: _entry(entries, value))
        if node.operator == "if":
            return self._tabled(node, sources, lambda then, condition, other: then if condition else other)
        function = UNARY[node.operator] if len(sources) == 1 else BINARY[node.operator]
        return self._tabled(node, sources, function, one=False)

    def _select(self, node: rasp.Select) -> Callable[[_Run], Matrices]:
        relation = RELATIONS[node.relation]

        def related(key: rasp.Atom, query: rasp.Atom) -> int:
            try:
                return int(bool(relation(key, query)))
            except ValueRefused:
                return REFUSED

        lookup = ValueLookup([self._values[node.key], self._values[node.query]], related, np.int8)

        def step(run: _Run) -> Matrices:
            found = lookup(run.done[node.key][:, None], run.done[node.query])
            if lookup.least < 0:
                run.defined &= ~(found == REFUSED).any(axis=(0, 1))
            selected: Matrices = found == 1
            return selected

        return step

    def _aggregate(self, node: rasp.Aggregate) -> Callable[[_Run], Places]:
        mine, theirs = self._values[node], self._values[node.values]

        def step(run: _Run) -> Places:
            matrix, values = run.done[node.selector], run.done[node.values]
            if not theirs.atoms:  # there is no input on which the values are defined
                return np.zeros((run.n, run.size), dtype=np.int64)
            if len(matrix) < run.n:
                matrix = np.broadcast_to(matrix, (run.n, *matrix.shape[1:]))
            counts = np.add.reduce(matrix, axis=0, dtype=np.min_scalar_type(run.n)).astype(np.int64)
            several = int(counts.max(initial=0)) > 1
            if several:
                refused = theirs.flags(is_text).take(values).any(axis=0) | theirs.flags(is_truth).take(values).all(axis=0)
                if refused.any():
                    run.defined &= ~(refused & (counts > 1).any(axis=0))
            scale, whole, known = theirs.whole()
            alike = len(known) < len(theirs.atoms)  # the value cannot be told from the number
            if alike or not several:
                one = _selected(matrix, mine.moved(theirs).take(values), len(mine.atoms))
                found = np.where(counts == 0, mine.place(node.default), one)
            if several:

                def place(total: int, count: int) -> int:
                    if count == 0:
                        return mine.place(node.default)
                    return mine.place(known[total] if count == 1 else Fraction(total, scale * count))

                sums = _selected(matrix, whole.take(values), max(map(abs, known)))
                counts = np.broadcast_to(counts, sums.shape)
                if alike:
                    more = counts > 1
                    found[more] = _each_once(sums[more], counts[more], place)
                else:
                    found = _each_once(sums, counts, place)
            return run.checked(found, mine, 0)

        return step


def _selected(matrix: Matrices, numbers: NDArray[Any], largest: int) -> NDArray[Any]:
    """Return the sums of the numbers that are selected: (n or 1, inputs or 1), at most this large → the same."""
    if numbers.dtype == object or len(matrix) * largest >= LONG:
        summed: NDArray[Any] = (matrix * numbers.astype(object)[:, None]).sum(axis=0)
        return summed
    dtype: np.dtype[Any] = np.dtype(np.int32 if len(matrix) * largest < _SHORT else np.int64)
    terms = matrix.astype(dtype) * numbers.astype(dtype)[:, None]
    return np.asarray(np.add.reduce(terms, axis=0, dtype=dtype).astype(np.int64))


def _each_once(totals: NDArray[Any], counts: NDArray[np.int64], place: Callable[[int, int], int]) -> Places:
    """Return what `place` says of each total and count, which is asked once for each pair."""
    if totals.size == 1:
        return np.full(totals.shape, place(int(totals.item()), int(counts.item())))
    more = int(counts.max(initial=0)) + 1
    least, most = (int(end(totals)) if totals.size else 0 for end in (np.min, np.max))
    size = (most - least + 1) * more
    if size > max(_SMALL, 4 * totals.size):
        pairs = list(zip(map(int, totals.ravel().tolist()), counts.ravel().tolist(), strict=True))
        found = {pair: place(*pair) for pair in dict.fromkeys(pairs)}
        return np.array([found[pair] for pair in pairs], dtype=np.int64).reshape(totals.shape)
    keys = (totals - least).astype(np.int64) * more + counts  # totals may not fit 64 bits, their differences do
    there, table = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.int64)
    there[keys] = True
    for key in np.flatnonzero(there).tolist():
        table[key] = place(key // more + least, key % more)
    return np.take(table, keys)


def _entry(entries: Mapping[rasp.Atom, rasp.Atom], value: rasp.Atom) -> rasp.Atom:
    if value not in entries:
        raise ValueRefused("there is no entry")
    return entries[value]


def _combined(node: rasp.Combined) -> Callable[[_Run], Matrices]:
    if node.operator == "not":
        (only,) = node.parts
        return lambda run: ~run.done[only]
    left, right = node.parts
    if node.operator == "and":
        return lambda run: run.done[left] & run.done[right]
    return lambda run: run.done[left] | run.done[right]


class _Run:
    """A batch during evaluation: the values of nodes, and the inputs on which all are defined so far."""

    def __init__(self, given: Places) -> None:
        self.given, (self.n, self.size) = given, given.shape
        self.defined = np.ones(self.size, dtype=bool)
        self.done: dict[rasp.Node, Any] = {}

    def checked(self, found: Places, values: ValueList | None, least: int) -> Places:
        """Return places, with inputs marked where a value was refused, or where texts stand beside other values.

        Args:
            least: there are no smaller places.
        """
        if least < 0 and (refused := found == REFUSED).any():
            self.defined &= ~refused.any(axis=0)
            found = np.where(refused, 0, found)
        if values is not None:
            texts = values.flags(is_text)
            if values.mixed:
                there = texts[found]
                self.defined &= there.all(axis=0) | ~there.any(axis=0)
        return found
