"""Which values a node can have: abstract interpretation, by length of the input and by position.

At input length n and position i, the position is a constant; so is everything that depends on nothing but n and i, such as
1/n. Every token, and every attention, has a set of values there; a function of several of them has the values that it takes
on all combinations, so that (i + 1) times a mean over i + 1 positions is a whole number without any rule for that. What an
attention can be is worked out position by position: each key position is selected, or left out, or must be selected, as
the selector allows on the sets; the query position itself with the very values that the query has.

The sets are sound: whatever occurs in a run is in them. They can contain more than that, such as two counts a and b with
a + b > i + 1, which costs hidden units, never truth. No input is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod

from tm2tfr.base.errors import CompileError
from tm2tfr.sources.sequence import graph as seq
from tm2tfr.sources.sequence.clusters import clusters
from tm2tfr.sources.sequence.functions import NOTHING, Remembered, Rooted, Tuple, kinds_of_loops, mixed, roots_of
from tm2tfr.sources.sequence.loops import Settling
from tm2tfr.sources.sequence.selections import EXACT, AttentionValues, Facts

MOST_COMBINATIONS = 400_000
"""The most combinations of values of several nodes at one position and length."""


_NONE = frozenset[seq.Item]()


def _is_truth(value: seq.Item) -> bool:
    return isinstance(value, bool)


class _Sets:
    """Sets of values, each with a number of its own."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[frozenset[seq.Item], frozenset[seq.Item]], int] = {}
        self._sets: list[frozenset[seq.Item]] = []

    def number(self, values: frozenset[seq.Item]) -> int:
        truths = frozenset(filter(_is_truth, values)) if 0 in values or 1 in values else _NONE
        typed = values, truths  # 0 and False are equal, and not the same
        found = self._numbers.get(typed)
        if found is None:
            found = self._numbers[typed] = len(self._sets)
            self._sets.append(values)
        return found

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
    ) -> None:
        self.graph, self.length, self.causal, self.most = graph, length, causal, most
        self.wanted = tuple(wanted)
        self._sets = _Sets()
        self.kinds: dict[seq.Operation, frozenset[str]] = {}
        self._functions: dict[seq.Operation, Rooted] = {}
        self._steps: dict[seq.Apply, Remembered] = {}
        self._images: dict[tuple[seq.Operation, Tuple], frozenset[seq.Item]] = {}
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
        for n in (length, *range(1, length)):  # the sets of one length do not depend on those of another
            first = early and n == length
            for section in range(1 + 2 * len(settling)):
                here = [node for node in roots if parts[node] == section]

                def compute(here: list[seq.Operation] = here, n: int = n, *, first: bool = first) -> None:
                    for node in here:
                        if first and isinstance(node, seq.Attend):
                            self._refuse_too_many(node)
                        if not isinstance(node, seq.PassState):
                            found = attends[node].sets(n) if isinstance(node, seq.Attend) else self._given(node, n)
                            self._at[node][n - 1] = found

                if section % 2:
                    settling[section // 2](n, compute)
                else:
                    compute()
            for node in wanted if first else ():
                self._values(node, [length])

    def _refuse_too_many(self, node: seq.Attend) -> None:
        """Raise CompileError if what an attention compares or carries has too many values on the longest inputs alone."""
        for cluster in clusters(node.selector):
            for nodes in (cluster.keys, cluster.queries):
                self._values(self.joint(nodes, node.selector), [self.length])
        self._values(node.values, [self.length])

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
            self._functions[node] = Rooted(node, self.kinds)
        return self._functions[node]

    def sets_at(self, roots: Sequence[seq.Operation], n: int, i: int) -> tuple[int, ...]:
        """Return the numbers of the sets of `roots` at position i of inputs of length n."""
        return tuple(self._at[root][n - 1][i] for root in roots)

    def together(
        self, nodes: Sequence[seq.Operation], roots: Sequence[seq.Operation], sets: tuple[int, ...]
    ) -> Iterator[Tuple]:
        """Yield the values that `nodes` can have together where their `roots` have these sets; some more than once.

        Each combination of values of the roots gives one; where these are more than `EXACT`, each combination of values
        of the nodes is yielded instead, as if they had nothing to do with each other.
        """
        if prod(len(self._sets[number]) for number in sets) > EXACT:
            yield from self._apart(nodes, roots, sets)
            return
        functions = [self.function(node) for node in nodes]
        if len(functions) == 1 and functions[0].roots == tuple(roots):
            for values in product(*(self._sets[number] for number in sets)):
                if (value := functions[0](values)) is not NOTHING:
                    yield (value,)  # type: ignore[misc]
            return
        places = [[roots.index(root) for root in function.roots] for function in functions]
        for values in product(*(self._sets[number] for number in sets)):
            found = tuple([function([values[p] for p in at]) for function, at in zip(functions, places, strict=True)])
            if NOTHING not in found:
                yield found  # type: ignore[misc]

    def _apart(
        self, nodes: Sequence[seq.Operation], roots: Sequence[seq.Operation], sets: tuple[int, ...]
    ) -> Iterator[Tuple]:
        distinct = list(dict.fromkeys(nodes))
        images = [self.image(node, tuple(sets[roots.index(r)] for r in self.function(node).roots)) for node in distinct]
        if prod(map(len, images)) > MOST_COMBINATIONS:
            largest = max(distinct, key=lambda node: len(images[distinct.index(node)]))
            what = (
                f"{seq.called(largest)} and what it is combined with have {prod(map(len, images)):,} combinations of values"
            )
            raise self.graph.refusal(largest, what, "round it, or use a smaller --max-length")
        places = [distinct.index(node) for node in nodes]
        for values in product(*images):
            yield tuple([values[place] for place in places])

    def values_of(self, number: int) -> frozenset[seq.Item]:
        """Return the set that has a number."""
        return self._sets[number]

    def number_of(self, values: frozenset[seq.Item]) -> int:
        """Return the number of a set."""
        return self._sets.number(values)

    def _everywhere(self, roots: Sequence[seq.Operation]) -> dict[tuple[int, ...], None]:
        """Return the sets of `roots` at all positions of all inputs, each combination once."""
        known = self._places.get(tuple(roots))
        if known is None:
            every = (self.sets_at(roots, n, i) for n in range(1, self.length + 1) for i in range(n))
            known = self._places[tuple(roots)] = dict.fromkeys(every)
        return known

    def reached(self, nodes: Sequence[seq.Operation], most: int, *, by: seq.Operation) -> set[Tuple]:
        """Return the values that `nodes` can have together, at any position of any input.

        Args:
            by: the function that is tabulated over them, for complaints.

        Raises:
            CompileError: if there are more than `most` combinations.
        """
        if (counted := self._counted.get(tuple(nodes))) is not None and len(counted) <= most:
            return counted
        roots, found = roots_of(nodes), set[Tuple]()
        for sets in self._everywhere(roots):
            found.update(self.together(nodes, roots, sets))
            if len(found) > most:
                names = ", ".join(map(seq.called, dict.fromkeys(nodes)))
                many = f"more than {most:,} combinations of values on inputs of up to {self.length} tokens"
                what = f"{seq.called(by)} is tabulated over {names}, which have {many}"
                raise self.graph.refusal(by, what, "use a smaller --max-length, or allow more with --max-units")
        return found

    def count(self, nodes: Sequence[seq.Operation], most: int) -> int:
        """Return how many combinations `reached` has, or a number above `most` if they are, or seem to be, more."""
        if (counted := self._counted.get(tuple(nodes))) is not None:
            return len(counted)
        roots, found = roots_of(nodes), set[Tuple]()
        for sets in self._everywhere(roots):
            images = [self.image(node, tuple(sets[roots.index(r)] for r in self.function(node).roots)) for node in nodes]
            if min(prod(map(len, images)), prod(len(self._sets[number]) for number in sets)) > most:
                return most + 1
            found.update(self.together(nodes, roots, sets))
            if len(found) > most:
                return most + 1
        self._counted[tuple(nodes)] = found
        return len(found)

    def values(self, node: seq.Operation) -> tuple[seq.Item, ...]:
        """Return the values of `node`, in order.

        Raises:
            CompileError: if there are too many, or none.
        """
        found = self._values(node, range(1, self.length + 1))
        if not found:
            what = f"{seq.called(node)} is undefined on every input of up to {self.length} tokens"
            raise self.graph.refusal(node, what, "define it on some input, or use a larger --max-length")
        return tuple(sorted(found, key=order_of))

    def _values(self, node: seq.Operation, lengths: Iterable[int]) -> set[seq.Item]:
        """Return the values of `node` on inputs of these lengths.

        Raises:
            CompileError: if there are too many.
        """
        roots, found = self.function(node).roots, set[seq.Item]()
        for sets in dict.fromkeys(self.sets_at(roots, n, i) for n in lengths for i in range(n)):
            found |= self.image(node, sets)
            if len(found) > self.most:
                raise self.too_many(node)
        return found

    def image(self, node: seq.Operation, sets: tuple[int, ...]) -> frozenset[seq.Item]:
        """Return the values of `node` where its roots have these sets."""
        found = self._images.get((node, sets))
        if found is None:
            found = self._images[node, sets] = frozenset(self._image(node, sets))
        return found

    def _image(self, node: seq.Operation, sets: tuple[int, ...]) -> Iterator[seq.Item]:
        roots = self.function(node).roots
        if not isinstance(node, seq.Apply):
            yield from [node.value] if isinstance(node, seq.Fixed) else self._sets[sets[0]]
            return
        if prod(len(self._sets[number]) for number in sets) <= EXACT:
            yield from (values[0] for values in self.together([node], roots, sets))
            return
        step = self.step(node)
        for values in self._apart(node.arguments, roots, sets):
            if (value := step(values)) is not NOTHING:
                yield value  # type: ignore[misc]

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
