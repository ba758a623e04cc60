"""From sequence operations to the stream: each node as a code or a number, each selector as a head (Lemmas 1 to 5).

After attention layer d come the thermometers and found bits of its heads, then tables. A node of depth d, in the sense
of the authors' interpreter, is there before attention layer d + 1, so that the number of attention layers is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod

from tm2tfr.base.waiting import advanced
from tm2tfr.sources.sequence import graph as seq
from tm2tfr.sources.sequence.clusters import SelectorCluster, clusters
from tm2tfr.sources.sequence.compiler.codes import (
    ONE,
    SIGNS,
    BitForm,
    Code,
    Numbered,
    Threshold,
    Time,
    added,
    combined,
    complement,
    constant,
    known,
    line_of,
    of_bits,
    of_code,
    steps,
    taken_apart,
    whole_numbers,
)
from tm2tfr.sources.sequence.compiler.heads import Scored, ScorePairs, scored
from tm2tfr.sources.sequence.compiler.loops import Looping, LoopPlan, placed
from tm2tfr.sources.sequence.compiler.stream import POSITION, TOKEN, Looking, StreamPlan
from tm2tfr.sources.sequence.domains import Domains, order_of
from tm2tfr.sources.sequence.functions import NOTHING, Tuple, is_number
from tm2tfr.sources.sequence.naming import ended, role
from tm2tfr.sources.sequence.rooted import Rooted
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.residual import at

OPERATIONS = "operations compiled"
"""The phase of compiling, as its progress is shown."""
FEW = 8
"""Whole numbers with at most this many values are compared by their codes."""
EXACT = 2**53
"""Up to this size, whole numbers are exact in float64; larger ones are codes."""


def _largest(numbers: Sequence[seq.Item]) -> int:
    return max((abs(int(number)) for number in numbers), default=0)  # type: ignore[arg-type]


@dataclass
class _Head:
    """A head, what its clusters compare, and the bit that says whether anything is selected, once it is needed."""

    looking: Looking
    clusters: tuple[tuple[SelectorCluster, Scored], ...]
    found: str | None = None


class Lowering:
    """The stream of a program, filled as values are used.

    Args:
        most_units: the most entries of a table.
    """

    def __init__(self, domains: Domains, stream: StreamPlan, *, causal: bool, most_units: int) -> None:
        self._domains, self._stream, self._causal, self._most = domains, stream, causal, most_units
        self._coded: dict[seq.Operation, Code] = {}
        self._linear: dict[seq.Operation, Code] = {}
        self._values: dict[seq.Operation, tuple[seq.Item, ...]] = {}
        self._heads: dict[tuple[seq.Selection, int], _Head] = {}
        self._clusters: dict[seq.Selection, list[tuple[SelectorCluster, Scored]]] = {}
        self._means: dict[seq.Attend, Numbered] = {}
        self._groups: dict[str, seq.Operation] = {}
        self._every = len(seq.ordered(domains.wanted))
        self._looping = Looping(domains, self.linear, stream.space)
        advanced(0, self._every, OPERATIONS)

    @property
    def loops(self) -> tuple[LoopPlan, ...]:
        """The loops that were needed, in their order."""
        return tuple(sorted(self._looping.plans.values(), key=lambda plan: plan.section))

    def values(self, node: seq.Operation) -> tuple[seq.Item, ...]:
        """Return the values that a node can have, in order."""
        if node not in self._values:
            self._values[node] = self._domains.values(node)
        return self._values[node]

    def answered(self, name: str, node: seq.Operation) -> tuple[Output, list[BitForm]]:
        """Return an output for a node, and the linear form of each of its rows of the unembedding.

        It is a number where that is free and a code is not, and floats have it exactly, otherwise a label.
        """
        values = self.values(node)
        if len(self._domains.function(node).roots) > 1 and whole_numbers(values) and _largest(values) <= EXACT:
            number = self.free_number(node)
            if number is not None and number.scale == 1:
                return Output(name, None), [number.form]
        bits = self.linear(node).bits
        labels = self._domains.graph.labels(node, values)
        return Output(name, labels, whole=whole_numbers(values)), [bits[value] for value in values]

    # ── codes ───────────────────────────────────────────────────────────────────────────────────────────────
    def linear(self, node: seq.Operation) -> Code:
        """Return the code of a node of which each value is one bit; a table is added where there is none."""
        coded = self.coded(node)
        if coded.linear:
            return coded
        if node not in self._linear:
            table: dict[Tuple, seq.Item] = {(value,): value for value in coded.alternatives}
            self._linear[node] = self._table(node, (coded,), table)
        return self._linear[node]

    def coded(self, node: seq.Operation) -> Code:
        """Return the code of a node, which may be one of several bits for a value."""
        if node not in self._coded:
            self._coded[node] = self._code_of(node)
            advanced(len(self._coded), self._every, OPERATIONS)
        return self._coded[node]

    def _code_of(self, node: seq.Operation) -> Code:  # noqa: PLR0911  # noqa: PLR0911
        every = self.values(node)
        if len(every) == 1:
            return of_bits({every[0]: ONE}, Time())
        if isinstance(node, seq.Token):
            space = self._stream.embedded(TOKEN)
            return of_bits({value: {at(space, seq.text_of(value)): 1} for value in every}, Time())
        if isinstance(node, seq.Position):
            space = self._stream.embedded(POSITION)
            return of_bits({value: {at(space, seq.text_of(value)): 1} for value in every}, Time())
        if isinstance(node, seq.Attend):
            return self._attended(node)
        if isinstance(node, seq.PassState):
            return self._looping.state(node, every)
        if isinstance(node, seq.AfterLoop):
            return self._looping.looped(node)
        function = self._domains.function(node)
        if len(function.roots) == 1:
            return self._relabelled(function, function.roots[0])
        sources = taken_apart(node, self._domains, self._expected)
        own = Rooted(node, self._domains.step, sources)
        table = known(own, sorted(self._domains.reached(sources, self._most, by=node), key=order_of))
        return self._table(node, tuple(map(self.coded, sources)), table)

    def _relabelled(self, function: Rooted, root: seq.Operation) -> Code:
        """Return the code of a function of one value: the alternatives of all values with the same result."""
        coded, found = self.coded(root), dict[seq.Item, list[tuple[BitForm, ...]]]()
        for value, alternatives in coded.alternatives.items():
            result = function([value])
            if result is not NOTHING:
                found.setdefault(result, []).extend(alternatives)  # type: ignore[arg-type]
        if coded.linear:
            return of_bits({value: added(way[0] for way in ways) for value, ways in found.items()}, coded.time)
        return Code({value: tuple(ways) for value, ways in found.items()}, coded.time)

    def _expected(self, node: seq.Operation) -> Time:
        """Return when a node is there at the earliest, without adding anything for it."""
        if node in self._coded:
            return self._coded[node].time
        roots = self._domains.function(node).roots
        last = max((self.coded(root).time for root in roots), default=Time())
        return Time(last.depth, last.slot + 1) if isinstance(node, seq.Apply) and len(roots) > 1 else last

    def _table(self, node: seq.Operation, sources: tuple[Code, ...], table: dict[Tuple, seq.Item]) -> Code:
        """Add the hidden units of a table and return the code that they write."""
        results = sorted(set(table.values()), key=order_of)
        groups: tuple[tuple[str, str], ...] = ()
        if isinstance(node, seq.Apply) and node.operator == "group":
            groups = tuple((seq.text_of(key), seq.text_of(label)) for key, label in node.entries if label != seq.NO_KIND)
            results = [result for result in results if result != seq.NO_KIND]
        labels = dict(zip(results, self._domains.graph.labels(node, results), strict=True))
        return self._stream.table(node, sources, table, labels, groups)

    def grouped(
        self,
        cluster: SelectorCluster,
        side: str,
        nodes: tuple[seq.Operation, ...],
        entries: tuple[tuple[seq.Item, seq.Item], ...],
    ) -> seq.Operation:
        """Return the node that says which of some kinds the values of `nodes` are of, the keys or queries of a cluster."""
        key = f"{side} {cluster.claim} of {','.join(node.key for node in nodes)}"
        if key not in self._groups:
            name = role(f"{side} of", cluster.name)
            self._groups[key] = seq.Apply(key=key, name=name, operator="group", arguments=nodes, entries=entries)
        return self._groups[key]

    # ── attention ───────────────────────────────────────────────────────────────────────────────────────────
    def _attended(self, node: seq.Attend) -> Code:
        """Return the code of the value that an attention picks (Lemma 4)."""
        facts, offered = self._domains.facts[node], self.values(node.values)
        if facts.several and all(map(is_number, offered)) and len(offered) > 1:
            return self._mean_coded(node)
        source = self.linear(node.values) if len(offered) > 1 else of_bits({offered[0]: ONE}, Time())
        head, depth = self._head(node.selector, source.time)
        if len(offered) == 1:
            picked: dict[seq.Item, BitForm] = {offered[0]: ONE}
        else:
            labels = [seq.text_of(value) for value in source.bits]
            space = self._stream.space(
                role("picked", seq.plainly(node)), holds=f"picked {node.key}", time=Time(depth), labels=labels
            )
            picked = {value: {at(space, seq.text_of(value)): 1} for value in source.bits}
            head.looking.carries += [(source.bits[value], picked[value]) for value in picked]
        if not facts.empty:
            return of_bits(picked, Time(depth))
        return self._or_default(node, picked, head, depth)

    def _or_default(self, node: seq.Attend, picked: dict[seq.Item, BitForm], head: _Head, depth: int) -> Code:
        """Return the code of what is picked where anything is selected, and otherwise the default (Lemma 3)."""
        found = self._found(head, node.selector, depth)
        time = Time(depth, 1)
        if len(picked) == 1:
            (value,) = picked
            return of_bits({value: found, node.default: complement(found)}, time)
        every: dict[seq.Item, tuple[tuple[BitForm, ...], ...]] = {
            value: ((bit, found, found),) for value, bit in picked.items()
        }  # twice: where nothing is found the bits are shares, whose sum can be rounded to more than 1
        every[node.default] = (*every.get(node.default, ()), (complement(found),))
        return Code(every, time)

    def _mean_coded(self, node: seq.Attend) -> Code:
        mean = self._mean(node)
        offered, facts = [Fraction(v) for v in self.values(node.values)], self._domains.facts[node]  # type: ignore[arg-type]
        least, largest = min(offered), max(offered)
        numbers = [v for v in self.values(node) if is_number(v) and least <= v <= largest]  # type: ignore[operator]
        (direction,) = (d for d in mean.form if d != "1")
        read = {direction: 1}
        found = steps([(Fraction(v) - least) * mean.scale for v in numbers])  # type: ignore[arg-type]
        space = self._thermometer(node, found, read, mean.time.depth)
        reached: list[BitForm] = [ONE, *({at(space, step.label): 1} for step in found), {}]
        picked: dict[seq.Item, BitForm] = {
            value: added([reached[m], reached[m + 1]], times=[1, -1]) for m, value in enumerate(numbers)
        }
        if not facts.empty:
            return of_bits(picked, Time(mean.time.depth, 1))
        head, depth = self._head(node.selector, Time(mean.time.depth - 1))
        return self._or_default(node, picked, head, depth)

    def _thermometer(self, node: seq.Attend, found: tuple[Threshold, ...], read: BitForm, depth: int) -> str:
        labels = [step.label for step in found]
        name = role("steps of", seq.plainly(node))
        space = self._stream.space(name, holds=f"steps {node.key}", time=Time(depth, 1), labels=labels)
        for step in found:
            slope = 1 << step.power
            for edge, factor in ((step.start, slope), (step.end, -slope)):
                unit = ended(space, f": {edge}")
                self._stream.unit(Time(depth, 1), unit, [read], {at(space, step.label): factor}, bias=-float(edge))
        return space

    def _mean(self, node: seq.Attend) -> Numbered:
        """Return the mean of numbers as it is carried, of some multiple that is whole, from the least of them on."""
        if node not in self._means:
            offered = [Fraction(value) for value in self.values(node.values)]  # type: ignore[arg-type]
            source = self.number(node.values)
            scale, least = lcm(source.scale, *(value.denominator for value in offered)), min(offered)
            head, depth = self._head(node.selector, source.time)
            space = self._stream.space(
                role("mean", seq.plainly(node)), holds=f"mean {node.key} {scale} {least}", time=Time(depth)
            )
            read = added([source.form, ONE], times=[scale // source.scale, -int(least * scale)])
            head.looking.carries.append((read, {space: 1}))
            self._means[node] = Numbered(added([{space: 1}, ONE], times=[1, int(least * scale)]), scale, Time(depth))
        return self._means[node]

    # ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────
    def number(self, node: seq.Operation) -> Numbered:
        """Return a node of numbers as a number: a linear form where there is one, otherwise by its code."""
        if (found := self.free_number(node)) is not None:
            return found
        if isinstance(node, seq.Apply) and (found := self._affine(node)) is not None:
            return found
        return of_code(self.linear(node))

    def free_number(self, node: seq.Operation) -> Numbered | None:
        """Return a node as a number if it is a linear form without a table of its own; None if it is not."""
        if (line := line_of(self._domains, node)) is not None:
            return Numbered(line.form, 1, Time())
        if isinstance(node, seq.Attend) and not self._domains.facts[node].empty and self._averages(node):
            return self._mean(node)
        if len(self._domains.function(node).roots) < 2:
            coded = self.coded(node)
            return of_code(coded) if coded.linear and all(map(is_number, coded.bits)) else None
        return self._free_sum(node) if isinstance(node, seq.Apply) else None

    def _free_sum(self, node: seq.Apply) -> Numbered | None:
        if node.operator == "round" and whole_numbers(self.values(node.arguments[0])):
            return self.free_number(node.arguments[0])
        if node.operator not in SIGNS:
            return None
        parts = [self.free_number(argument) for argument in node.arguments]
        signs = map(Fraction, SIGNS[node.operator])
        free = [(part, sign) for part, sign in zip(parts, signs, strict=True) if part is not None]
        return combined(free) if len(free) == len(parts) else None

    def equal_numbers(self, key: seq.Operation, query: seq.Operation) -> tuple[ScorePairs, int] | None:
        """Return the scores 2qk - k² of a head that selects equal whole numbers, and the attention layers before it.

        They are largest where k = q, by at least 1, if there is such a key. None where codes serve better: for few values.
        """
        values = [*self.values(key), *self.values(query)]
        if not whole_numbers(values) or 3 * _largest(values) ** 2 > EXACT:
            return None
        if (line := line_of(self._domains, key)) is not None:
            own, square, time = line.form, line.square, Time()
        elif len(self.values(key)) > FEW:
            coded = self.linear(key)
            numbers = [int(value) for value in coded.bits]  # type: ignore[arg-type]
            own, time = added(coded.bits.values(), times=numbers), coded.time
            square = added(coded.bits.values(), times=[number * number for number in numbers])
        else:
            return None
        asked = self.number(query)
        if asked.scale != 1:
            return None
        twice = added([asked.form], times=[2])
        return ((twice, own), ({"1": -1}, square)), max(time.depth, asked.time.depth)

    def _averages(self, node: seq.Attend) -> bool:
        offered = self.values(node.values)
        return self._domains.facts[node].several and all(map(is_number, offered)) and len(offered) > 1

    def _affine(self, node: seq.Apply) -> Numbered | None:
        """Return a sum, a difference, or a multiple of numbers that are linear forms themselves; None for anything else."""
        if node.operator not in ("+", "-", "*", "neg", "pos") or len(self._domains.function(node).roots) < 2:
            return None
        parts = [constant(argument) for argument in node.arguments]
        if node.operator == "*":
            known = [n for n, part in enumerate(parts) if part is not None]
            if not known:
                return None
            factor = parts[known[0]]
            other = self.number(node.arguments[1 - known[0]])
            return combined([(other, factor or Fraction(0))])
        pairs = zip(node.arguments, SIGNS[node.operator], strict=True)
        return combined([(self.number(argument), Fraction(sign)) for argument, sign in pairs])

    # ── heads ───────────────────────────────────────────────────────────────────────────────────────────────
    def _head(self, selector: seq.Selection, values: Time) -> tuple[_Head, int]:
        """Return the head of a selector, in the first attention layer after what it needs, and the number of that layer."""
        every = self._scored(selector)
        first = 1 + max(each.depth for _, each in every)
        depth = max(first, 1 + values.depth)
        if (selector, depth) not in self._heads:
            mask = "future" if self._causal else "none"
            claim = f"{selector.key} {mask} {'|'.join(cluster.claim for cluster, each in every if not each.always)}".strip()
            scores = [pair for _, each in every for pair in each.scores]
            name = seq.plainly(selector)
            looking = Looking(name if depth == first else ended(name, f" ({placed(depth)})"), claim, scores)
            kept = tuple((cluster, each) for cluster, each in every if not each.always)
            self._heads[selector, depth] = _Head(looking, kept)
            self._stream.head(depth, looking)
        return self._heads[selector, depth], depth

    def _scored(self, selector: seq.Selection) -> list[tuple[SelectorCluster, Scored]]:
        if selector not in self._clusters:
            every = clusters(selector)
            sure = not any(f.empty for attend, f in self._domains.facts.items() if attend.selector is selector)
            numbers = len(every) == 1 and sure
            self._clusters[selector] = [
                (cluster, scored(self, self._domains, cluster, causal=self._causal, numbers=numbers)) for cluster in every
            ]
        return self._clusters[selector]

    def _found(self, head: _Head, selector: seq.Selection, depth: int) -> BitForm:
        """Return the bit that is 1 iff anything is selected (Lemma 3).

        All positions that are attended to satisfy the same number of clusters. The shares of them that satisfy each
        cluster, as
        means of the rows that the query has, add up to that number: it is that of all clusters iff something is selected.
        """
        if head.found is not None:
            return {head.found: 1}
        name = head.looking.name
        shares: list[list[tuple[BitForm, BitForm]]] = []
        for n, (cluster, each) in enumerate(head.clusters):
            labels = [seq.text_of(row) for row in each.rows]
            title = role("share of" if len(head.clusters) == 1 else f"share {n + 1} of", name)
            brought = [
                (seq.text_of(k[0] if len(k) == 1 else k), seq.text_of(row))
                for row, keys in each.brought.items()
                for k in keys
            ]
            share = self._stream.space(
                title,
                holds=f"share {selector.key} {cluster.claim} of {','.join(node.key for node in cluster.keys)}",
                time=Time(depth),
                labels=labels,
                groups=tuple(brought),
            )
            row_of = {row: {at(share, seq.text_of(row)): 1} for row in each.rows}
            head.looking.carries += [(each.rows[row][1], row_of[row]) for row in each.rows]
            shares.append([(each.rows[row][0], row_of[row]) for row in each.rows])
        if prod(map(len, shares)) > self._most:
            what = f"the selector {name} has more than {self._most:,} combinations of rows"
            raise self._domains.graph.refusal(selector, what, "use a smaller --max-length, or allow more with --max-units")
        head.found = self._stream.found(role("found by", name), f"found {selector.key}", depth, shares)
        return {head.found: 1}
