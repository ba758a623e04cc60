"""Which values a node can have: abstract interpretation, by length of the input and by position.

At input length n and position i, the position is a constant; so is everything that depends only on n and i, such as
1/n. Every token, and every attention, has a set of values there; a function of several of them has the values that it takes
on all combinations, so that (i + 1) times a mean over i + 1 positions is a whole number without any rule for that. The
possible values of an attention are computed position by position: each key position is selected, or left out, or must be
selected, as the selector allows on the sets; the query position itself with the very values that the query has.

The sets are sound: whatever occurs in a run is in them. They can contain more than that, such as two counts a and b with
a + b > i + 1, which costs hidden units, never truth. No input is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

from tm2tfr.base.errors import CompileError
from tm2tfr.base.waiting import Advance, advanced
from tm2tfr.sources.sequence import graph as seq
from tm2tfr.sources.sequence.clusters import clusters
from tm2tfr.sources.sequence.forecast import Forecast
from tm2tfr.sources.sequence.functions import NOTHING, Nothing, Tuple, kinds_of_loops, mixed, roots_of
from tm2tfr.sources.sequence.loops import Settling
from tm2tfr.sources.sequence.rooted import Remembered, Rooted, projected
from tm2tfr.sources.sequence.selections import EXACT, AttentionValues, Facts

MOST_COMBINATIONS = 400_000
"""The most combinations of values of several nodes at one position and length."""


_NONE = frozenset[seq.Item]()


def _truths(values: frozenset[seq.Item]) -> frozenset[seq.Item]:
    return frozenset([value for value in values if isinstance(value, bool)]) if 0 in values or 1 in values else _NONE


class _Sets:
    """Sets of values, each with a number of its own."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[frozenset[seq.Item], frozenset[seq.Item]], int] = {}
        self._sets: list[frozenset[seq.Item]] = []
        self._sizes: list[int] = []
        self._within: dict[tuple[int, int], bool] = {}

    def number(self, values: frozenset[seq.Item]) -> int:
        typed = values, _truths(values)  # 0 and False are equal, and not the same
        found = self._numbers.get(typed)
        if found is None:
            found = self._numbers[typed] = len(self._sets)
            self._sets.append(values)
            self._sizes.append(len(values))
        return found

    def within(self, number: int, other: int) -> bool:
        """Return whether the values of one set are in another one, truth values as such."""
        found = self._within.get((number, other))
        if found is None:
            own, others = self._sets[number], self._sets[other]
            found = own <= others and (_truths(own) == _truths(others) or not (0 in own or 1 in own))
            self._within[number, other] = found
        return found

    def combinations(self, numbers: Iterable[int]) -> int:
        """Return the number of ways to choose one value from each set."""
        return prod(map(self._sizes.__getitem__, numbers))

    def __getitem__(self, number: int) -> frozenset[seq.Item]:
        return self._sets[number]


class Domains:
    """The values of the nodes of a graph, on inputs of up to `length` tokens.

    Args:
        wanted: the nodes that are answered.
        causal: whether positions after the query are hidden from every selection.
        most: the most values that a node may have.
        early: refuse, as soon as the longest inputs are known, what has too many values on these alone and is compiled as a
            code: `wanted`, and what selectors compare.
        progress: called with the number of positions analysed.

    Raises:
        CompileError: with the place of a node that has more values, or too many combinations of them.
    """

    def __init__(
        self,
        graph: seq.SequenceGraph,
        length: int,
        *,
        wanted: Sequence[seq.Operation],
        causal: bool = False,
        most: int = 4096,
        early: bool = True,
        progress: Advance | None = advanced,
    ) -> None:
        self.graph, self.length, self.causal, self.most = graph, length, causal, most
        self.wanted = tuple(wanted)
        self._sets = _Sets()
        self.kinds: dict[seq.Operation, frozenset[str]] = {}
        self._functions: dict[seq.Operation, Rooted] = {}
        self._steps: dict[seq.Apply, Remembered] = {}
        self._images: dict[tuple[seq.Operation, tuple[int, ...]], int] = {}
        self._steps_of: dict[tuple[seq.Operation, tuple[int, ...]], int] = {}
        self._at: dict[seq.Operation, list[list[int]]] = {}
        self._counted: dict[tuple[seq.Operation, ...], set[Tuple]] = {}
        self._places: dict[tuple[seq.Operation, ...], dict[tuple[int, ...], None]] = {}
        self._joints: dict[tuple[seq.Operation, ...], seq.Apply] = {}
        self.facts: dict[seq.Attend, Facts] = {}
        order = seq.ordered(wanted)
        roots, parts = [node for node in order if not isinstance(node, seq.Apply)], seq.sections(order)
        self.kinds |= kinds_of_loops(order)
        settling = [Settling(self, loop) for loop in seq.loops_of(order)]
        attends = {node: AttentionValues(self, node) for node in roots if isinstance(node, seq.Attend)}
        for node in roots:
            self._at[node] = [[]] * length
        forecast = Forecast(length)
        done, every = 0, len(attends) * length * (length + 1) // 2
        for n in (length, *range(1, length)):  # the sets of one length do not depend on those of another
            first = early and n == length
            for section in range(1 + 2 * len(settling)):
                here = [node for node in roots if parts[node] == section]

                def compute(here: list[seq.Operation] = here, n: int = n, *, first: bool = first) -> None:
                    nonlocal done
                    for node in here:
                        if first and isinstance(node, seq.Attend):
                            self._refuse_too_many(node)
                        if not isinstance(node, seq.PassState):
                            found = attends[node].sets(n) if isinstance(node, seq.Attend) else self._given(node, n)
                            self._at[node][n - 1] = found
                        if node in attends and progress is not None:
                            done = min(done + n, every)  # a loop has its attentions analysed more than once
                            progress(done, every, "positions analysed")

                if section % 2:
                    settling[section // 2](n, compute)
                else:
                    compute()
            for node in wanted if first else ():
                self._values(node, length)
            if attends and (problem := forecast.after(n)):
                raise graph.refusal(wanted[0], problem, forecast.remedy)

    def _refuse_too_many(self, node: seq.Attend) -> None:
        """Raise CompileError if what an attention compares or carries has too many values on the longest inputs alone."""
        for cluster in clusters(node.selector):
            for nodes in (cluster.keys, cluster.queries):
                self._values(self.joint(nodes, node.selector), self.length)
        self._values(node.values, self.length)

    def joint(self, nodes: tuple[seq.Operation, ...], selector: seq.Selection | None = None) -> seq.Operation:
        """Return the node whose values are those that `nodes` can have together, which a selector compares.

        It is the node itself if it is one.
        """
        if len(nodes) == 1:
            return nodes[0]
        if nodes not in self._joints:
            key, span = f"({','.join(node.key for node in nodes)})", None if selector is None else selector.span
            self._joints[nodes] = seq.Apply(key=key, operator="tuple", arguments=nodes, span=span)
        return self._joints[nodes]

    def _given(self, node: seq.Operation, n: int) -> list[int]:
        if isinstance(node, seq.Token):
            return [self._sets.number(frozenset(self.graph.alphabet))] * n
        if isinstance(node, seq.Position):
            return [self._sets.number(frozenset([i])) for i in range(n)]
        if isinstance(node, seq.AfterLoop):
            return [self._sets.number(values) for values in self.there(node.value, n)]
        return []  # a constant has no roots, and is never asked for

    def there(self, node: seq.Operation, n: int) -> list[frozenset[seq.Item]]:
        """Return the values of a node at every position of inputs of length n."""
        roots = self.function(node).roots
        return [self.image(node, self.sets_at(roots, n, i)) for i in range(n)]

    def put(self, node: seq.Operation, n: int, values: Sequence[frozenset[seq.Item]]) -> None:
        """Take these as the values of a root at every position of inputs of length n."""
        self._at[node][n - 1] = [self._sets.number(own) for own in values]

    def function(self, node: seq.Operation) -> Rooted:
        """Return the value of a node as a function of its roots."""
        if node not in self._functions:
            self._functions[node] = Rooted(node, self.step, parts=self.function)
        return self._functions[node]

    def sets_at(self, roots: Sequence[seq.Operation], n: int, i: int) -> tuple[int, ...]:
        """Return the numbers of the sets of `roots` at position i of inputs of length n."""
        return tuple([self._at[root][n - 1][i] for root in roots])

    def together(
        self, nodes: Sequence[seq.Operation], roots: Sequence[seq.Operation], sets: tuple[int, ...]
    ) -> Iterable[Tuple]:
        """Return the values that `nodes` can have together where their `roots` have these sets; some more than once.

        Each combination of values of the roots gives one; where these are more than `EXACT`, each combination of values
        of the nodes is returned instead, as if they had nothing to do with each other.
        """
        if self._is_apart(sets):
            return self._combined(nodes, self._images_of(nodes, roots, sets))
        combinations = list(product(*(self._sets[number] for number in sets)))
        columns = []
        for node in nodes:
            function = self.function(node)
            places = [roots.index(root) for root in function.roots]
            whole = places == list(range(len(roots)))
            columns.append(function.column(combinations if whole else projected(combinations, places)))
        found = zip(*columns, strict=True) if columns else [()] * len(combinations[:1])
        if any(Nothing in set(map(type, column)) for column in columns):
            return [values for values in found if not any(value is NOTHING for value in values)]
        return found

    def _is_apart(self, sets: tuple[int, ...]) -> bool:
        return self._sets.combinations(sets) > EXACT

    def _images_of(
        self, nodes: Sequence[seq.Operation], roots: Sequence[seq.Operation], sets: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return the number of the set of values of each node where the `roots` of all of them have these sets."""
        at = dict(zip(roots, sets, strict=True))
        return tuple([self._image_number(node, tuple([at[root] for root in self.function(node).roots])) for node in nodes])

    def _combined(self, nodes: Sequence[seq.Operation], images: tuple[int, ...]) -> Iterable[Tuple]:
        """Return each combination of values of nodes that have these sets of values; a node may be there twice."""
        own = dict(zip(nodes, images, strict=True))
        many = self._sets.combinations(own.values())
        if many > MOST_COMBINATIONS:
            largest = max(own, key=lambda node: len(self._sets[own[node]]))
            what = f"{seq.called(largest)} and what it is combined with have {many:,} combinations of values"
            raise self.graph.refusal(largest, what, "round it, or use a smaller --max-length")
        every = product(*(self._sets[number] for number in own.values()))
        if len(own) == len(nodes):
            return every
        places = [list(own).index(node) for node in nodes]
        return (tuple([values[place] for place in places]) for values in every)

    def values_of(self, number: int) -> frozenset[seq.Item]:
        """Return the set that has a number."""
        return self._sets[number]

    def number_of(self, values: frozenset[seq.Item]) -> int:
        """Return the number of a set."""
        return self._sets.number(values)

    def _everywhere(self, roots: Sequence[seq.Operation]) -> dict[tuple[int, ...], None]:
        """Return the sets of `roots` at positions of inputs, each once; all others are within one of them."""
        known = self._places.get(tuple(roots))
        if known is None:
            known = self._places[tuple(roots)] = self._largest(roots)
        return known

    def _largest(self, roots: Sequence[seq.Operation]) -> dict[tuple[int, ...], None]:
        """Return the sets of `roots` at all positions, without those that are subsets of the sets at a place next to it.

        Whatever values there are at the place that is left out, there are at that one too, or at the place for which
        that one is left out in turn.
        """
        at = [[self.sets_at(roots, n, i) for i in range(n)] for n in range(1, self.length + 1)]
        found: dict[tuple[int, ...], None] = {}
        left_out: set[tuple[int, ...]] = set()
        for n, row in enumerate(at):
            for i, sets in enumerate(row):
                if sets in found or sets in left_out:
                    continue
                beside = (at[n + 1][i], at[n + 1][i + 1]) if n + 1 < len(at) else ()
                beside = (*beside, *row[i + 1 : i + 2], *row[max(0, i - 1) : i])
                if any(sets != others and all(map(self._sets.within, sets, others)) for others in beside):
                    left_out.add(sets)
                else:
                    found[sets] = None
        return found

    def reached(self, nodes: Sequence[seq.Operation], most: int, *, by: seq.Operation) -> set[Tuple]:
        """Return the values that `nodes` can have together, at any position of any input.

        Args:
            by: the function that is tabulated over them, for messages.

        Raises:
            CompileError: if there are more than `most` combinations.
        """
        if (counted := self._counted.get(tuple(nodes))) is not None and len(counted) <= most:
            return counted
        roots, found, tried = roots_of(nodes), set[Tuple](), set[tuple[int, ...]]()
        for sets in self._everywhere(roots):
            self._add_together(found, tried, nodes, roots, sets)
            if len(found) > most:
                names = ", ".join(map(seq.called, dict.fromkeys(nodes)))
                many = f"more than {most:,} combinations of values on inputs of up to {self.length} tokens"
                what = f"{seq.called(by)} is tabulated over {names}, which have {many}"
                raise self.graph.refusal(by, what, "use a smaller --max-length, or allow more with --max-units")
        return found

    def _add_together(
        self,
        found: set[Tuple],
        tried: set[tuple[int, ...]],
        nodes: Sequence[seq.Operation],
        roots: Sequence[seq.Operation],
        sets: tuple[int, ...],
    ) -> None:
        """Add to `found` what `together` returns; `tried` are the images of nodes that have been combined already."""
        if not self._is_apart(sets):
            found.update(self.together(nodes, roots, sets))
        elif (images := self._images_of(nodes, roots, sets)) not in tried:
            tried.add(images)
            found.update(self._combined(nodes, images))

    def count(self, nodes: Sequence[seq.Operation], most: int) -> int:
        """Return the number of combinations in `reached`, or a number above `most` if there are, or seem to be, more."""
        if (counted := self._counted.get(tuple(nodes))) is not None:
            return len(counted)
        roots, found, tried = roots_of(nodes), set[Tuple](), set[tuple[int, ...]]()
        for sets in self._everywhere(roots):
            images = self._images_of(nodes, roots, sets)
            if min(self._sets.combinations(images), self._sets.combinations(sets)) > most:
                return most + 1
            self._add_together(found, tried, nodes, roots, sets)
            if len(found) > most:
                return most + 1
        self._counted[tuple(nodes)] = found
        return len(found)

    def values(self, node: seq.Operation) -> tuple[seq.Item, ...]:
        """Return the values of `node`, in order.

        Raises:
            CompileError: if there are too many, or none, or if one of them is a number of too many digits.
        """
        found = self._values(node, None)
        if not found:
            what = f"{seq.called(node)} is undefined on every input of up to {self.length} tokens"
            remedy = "check types and keys (tokens are text, tokens_int are numbers), or use a larger --max-length"
            raise self.graph.refusal(node, what, remedy)
        if any(map(seq.is_long, found)):
            what = f"{seq.described(node)} has a number of more than {seq.MOST_DIGITS:,} digits, which no label can show"
            raise self.graph.refusal(node, what, "use smaller numbers")
        return tuple(sorted(found, key=order_of))

    def _values(self, node: seq.Operation, length: int | None) -> set[seq.Item]:
        """Return the values of `node` on inputs of a length; None: of any.

        Raises:
            CompileError: if there are too many.
        """
        roots, found = self.function(node).roots, set[seq.Item]()
        places = (self.sets_at(roots, length, i) for i in range(length)) if length else self._everywhere(roots)
        for sets in dict.fromkeys(places):
            found |= self.image(node, sets)
            if len(found) > self.most:
                raise self.too_many(node)
        return found

    def image(self, node: seq.Operation, sets: tuple[int, ...]) -> frozenset[seq.Item]:
        """Return the values of `node` where its roots have these sets."""
        return self._sets[self._image_number(node, sets)]

    def _image_number(self, node: seq.Operation, sets: tuple[int, ...]) -> int:
        found = self._images.get((node, sets))
        if found is None:
            found = self._images[node, sets] = self._image(node, sets)
        return found

    def _image(self, node: seq.Operation, sets: tuple[int, ...]) -> int:
        """Return the number of the set of values of `node` where its roots have these sets."""
        if not isinstance(node, seq.Apply):
            return self._sets.number(frozenset([node.value])) if isinstance(node, seq.Fixed) else sets[0]
        if not self._is_apart(sets):
            return self._sets.number(
                frozenset([value for (value,) in self.together([node], self.function(node).roots, sets)])
            )
        images = self._images_of(node.arguments, self.function(node).roots, sets)
        found = self._steps_of.get((node, images))
        if found is None:
            results = map(self.step(node), self._combined(node.arguments, images))
            number = self._sets.number(frozenset([result for result in results if result is not NOTHING]))  # type: ignore[misc]
            found = self._steps_of[node, images] = number
        return found

    def step(self, node: seq.Apply) -> Remembered:
        """Return a node as a function of its arguments."""
        if node not in self._steps:
            self._steps[node] = Remembered(node, numbers=mixed(node, self.kinds))
        return self._steps[node]

    def too_many(self, node: seq.Operation) -> CompileError:
        """Return the error for a node with too many values."""
        many, remedy = f"{self.most:,} values", "use a smaller --max-length, or allow more with --max-values"
        if isinstance(node, seq.Apply) and node.operator == "tuple":
            names, many = " and ".join(map(seq.described, node.arguments)), f"{many} together"
            what = f"this selector compares {names}, which can have more than {many}"
        else:
            what, remedy = f"{seq.described(node)} can have more than {many}", f"round it, {remedy}"
        return self.graph.refusal(node, f"{what} on inputs of up to {self.length} tokens", remedy)


def order_of(value: seq.Item) -> tuple[int, object]:
    """Return a key that puts truth values before numbers, these before text, and tuples last."""
    if isinstance(value, tuple):
        return 3, tuple(map(order_of, value))
    return (2, value) if isinstance(value, str) else (0 if isinstance(value, bool) else 1, value)
