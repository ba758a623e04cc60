"""Programs of any length: finite values as codes, counts as numbers, no table of positions.

A count w comes as the mean 1/w of the mark of position 0 over w selected positions, position 0 among them. The number
itself
is looked up in the next attention layer: the score 2k - k²/w of the key k = j + 1 is largest at k = w alone, by 1/w; w
is at most the length, so that there is such a position. The length is also 2m + 1, where m is the mean position. Sums,
differences and comparisons of whole numbers are linear forms and two or three hidden units, whatever the numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from tm2tfr.base.errors import CompileError
from tm2tfr.sources.sequence import graph as seq
from tm2tfr.sources.sequence.clusters import SelectorCluster, clusters
from tm2tfr.sources.sequence.compiler.codes import (
    EDGES,
    ONE,
    SIGNS,
    BitForm,
    Code,
    Share,
    Time,
    WholeNumber,
    added,
    complement,
    inside,
    known,
    of_bits,
    summed,
    whole_numbers,
)
from tm2tfr.sources.sequence.compiler.heads import ScorePairs, kinds_of
from tm2tfr.sources.sequence.compiler.stream import TOKEN, Looking, StreamPlan
from tm2tfr.sources.sequence.functions import Tuple, mixed
from tm2tfr.sources.sequence.naming import ended, role
from tm2tfr.sources.sequence.rooted import Remembered
from tm2tfr.transformer.claims import Claim, Output
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Decoder

REMEDY = "compile it for inputs of up to some length, with --max-length"


@dataclass(frozen=True)
class _Finite:
    """The scores of a cluster of finite values.

    Args:
        claim: see `tm2tfr.sources.sequence.clusters`.
        rows: for each kind of query, its bit, and that of the keys that satisfy it.
        selects_first: whether position 0 satisfies every query.
        time: from when on.
    """

    claim: str
    rows: ScorePairs
    selects_first: bool
    time: Time


Found = Code | WholeNumber | Share


def compile_unbounded(graph: seq.SequenceGraph, provenance: Mapping[str, str]) -> Decoder:
    """Return a decoder that answers every output of `graph` at every position of inputs of any length.

    Raises:
        CompileError: where a node is neither finite nor a count, with its place.
    """
    for loop in seq.loops_of(seq.ordered([node for _, node in graph.outputs])):
        what = "loops cannot be compiled for inputs of any length"
        raise graph.refusal(loop, what, REMEDY)
    lowering = _Unbounded(graph)
    outputs = [lowering.answered(name, node) for name, node in graph.outputs]
    return lowering.stream.weights(outputs, provenance)


class _Unbounded:
    def __init__(self, graph: seq.SequenceGraph) -> None:
        self._graph, self.stream = graph, StreamPlan(graph.alphabet, None, "none")
        self._found: dict[seq.Operation, Found] = {}
        self._kinds: dict[seq.Operation, frozenset[str]] = {}
        self._marks: dict[str, seq.Apply] = {}
        self._heads: dict[tuple[seq.Selection, int], Looking] = {}
        for node in seq.ordered([node for _, node in graph.outputs]):
            self._found[node] = self._checked(node, self._of(node))

    def _checked(self, node: seq.Operation, found: Found) -> Found:
        """Return what was found, unless it has a number that is too large for a label or a weight."""
        if isinstance(found, Code) and any(map(seq.is_long, found.bits)):
            raise self._refused(node, f"has a number of more than {seq.MOST_DIGITS:,} digits")
        forms = (found.form, found.square or {}) if isinstance(found, WholeNumber) else ()
        if any(abs(coefficient) > sys.float_info.max for form in forms for coefficient in form.values()):
            raise self._refused(node, f"has a factor of more than {sys.float_info.max:.0e}, which no weight can be")
        return found

    def _refused(self, node: seq.Operation | seq.Selection, why: str) -> CompileError:
        name = seq.called(node) if isinstance(node, seq.Operation) else seq.plainly(node)
        return self._graph.refusal(node, f"{name} {why}, so it cannot be compiled for inputs of any length", REMEDY)

    def answered(self, name: str, node: seq.Operation) -> tuple[Output, list[BitForm]]:
        """Return an output for a node, with the linear form of each row of its unembedding."""
        found = self._found[node]
        if isinstance(found, WholeNumber):
            return Output(name, None), [found.form]
        if isinstance(found, Share):
            raise self._refused(node, "is a fraction without bound")
        whole = whole_numbers(tuple(found.bits))
        return Output(name, tuple(map(seq.text_of, found.bits)), whole=whole), list(found.bits.values())

    # ── functions ───────────────────────────────────────────────────────────────────────────────────────────
    def _of(self, node: seq.Operation) -> Found:
        if isinstance(node, seq.Token):
            space = self.stream.embedded(TOKEN)
            return of_bits({value: {at(space, seq.text_of(value)): 1} for value in self._graph.alphabet}, Time())
        if isinstance(node, seq.Position):
            return WholeNumber({"i": 1}, Time(), {"i^2": 1}, (0, 1, 0))
        if isinstance(node, seq.Fixed):
            return of_bits({node.value: ONE}, Time())
        if isinstance(node, seq.Attend):
            return self._of_one_type(node, self._attended(node))
        if not isinstance(node, seq.Apply):
            raise self._refused(node, "is of a kind that is not known")
        found = [self._found[argument] for argument in node.arguments]
        if all(isinstance(each, Code) for each in found):
            return self._table(node, [each for each in found if isinstance(each, Code)])
        return self._counted(node, found)

    def _of_one_type(self, node: seq.Attend, picked: Found) -> Found:
        """Return what is picked with truth values as numbers, where there can be numbers among them."""
        if not isinstance(picked, Code) or not mixed(node, self._kinds):
            return picked
        return Code({int(v) if isinstance(v, bool) else v: way for v, way in picked.alternatives.items()}, picked.time)

    def _table(self, node: seq.Apply, sources: Sequence[Code]) -> Code:
        """Return a function of finite values: a relabelled code, or a table of hidden units."""
        table = known(Remembered(node, numbers=mixed(node, self._kinds)), product(*(source.bits for source in sources)))
        results = list(dict.fromkeys(value for value in table.values() if value != seq.NO_KIND or node.operator != "group"))
        if not results:
            raise self._refused(node, "is undefined on every input")
        varied = [n for n, source in enumerate(sources) if len(source.bits) > 1]
        time = max(source.time for source in sources)
        if len(varied) < 2:
            bits: dict[seq.Item, dict[str, float]] = {}
            place = varied[0] if varied else 0
            for values, result in table.items():
                bits[result] = added([bits.get(result, {}), sources[place].bits[values[place]]])
            return of_bits(bits, time)
        return self.stream.table(node, sources, table, {result: seq.text_of(result) for result in results})

    def _counted(self, node: seq.Apply, found: Sequence[Found]) -> Found:
        """Return a function of counts, and of finite numbers."""
        if (
            node.operator == "/"
            and isinstance(found[1], Share)
            and (isinstance(node.arguments[0], seq.Fixed) and node.arguments[0].value == 1)
        ):
            return found[1].count or self._looked_up(node, found[1])
        counts = [self._as_count(argument) for argument in node.arguments]
        if None in counts:
            raise self._refused(node, "is a function of values without bound")
        sure = [count for count in counts if count is not None]
        if node.operator == "round":
            return sure[0]
        if node.operator in SIGNS:
            return summed(sure, SIGNS[node.operator])
        if node.operator == "*" and any(isinstance(argument, seq.Fixed) for argument in node.arguments):
            n = 0 if isinstance(node.arguments[0], seq.Fixed) else 1
            factor = node.arguments[n].value  # type: ignore[attr-defined]
            return summed([sure[1 - n]], (factor,))
        if node.operator in ("==", "<", ">", "<=", ">="):
            return self._compared(node, *sure)
        raise self._refused(node, "is a function of values without bound")

    def _as_count(self, node: seq.Operation) -> WholeNumber | None:
        found = self._found[node]
        if isinstance(found, Code):
            values = list(found.bits)
            if not whole_numbers(values):
                return None
            form = added(found.bits.values(), times=[int(v) for v in values])  # type: ignore[arg-type]
            square = added(found.bits.values(), times=[int(v) ** 2 for v in values])  # type: ignore[arg-type]
            return WholeNumber(form, found.time, square, (0, 0, int(values[0])) if len(values) == 1 else None)  # type: ignore[arg-type]
        return found if isinstance(found, WholeNumber) else None

    def _compared(self, node: seq.Apply, left: WholeNumber, right: WholeNumber) -> Code:
        """Return the truth of a comparison of whole numbers: two or three hidden units of their difference."""
        apart = summed([left, right], (1, -1))
        time = Time(apart.time.depth, apart.time.slot + 1)
        space = self.stream.space(seq.plainly(node), holds=f"value {node.key}", time=time, labels=["T"])
        truth = {at(space, "T"): 1}
        for sign, shift, factor in EDGES[node.operator]:
            form = added([apart.form], times=[sign])
            unit = ended(space, f": {sign:+}d{shift:+}")
            self.stream.unit(time, unit, [form], {at(space, "T"): factor}, bias=float(shift))
        return of_bits({True: truth, False: complement(truth)}, time)

    # ── attention ───────────────────────────────────────────────────────────────────────────────────────────
    def _looked_up(self, node: seq.Operation, share: Share) -> WholeNumber:
        """Return w where 1/w is given: the value of the position at which 2k - k²/w is largest, for k = j + 1."""
        depth = share.time.depth + 1
        key, square = {"i": 1, "1": 1}, {"i^2": 1, "i": 2, "1": 1}
        scores: list[tuple[BitForm, BitForm]] = [({"1": 2}, key), (added([share.form], times=[-1]), square)]
        looking = Looking(role("look up", seq.plainly(node)), f"place {node.key}", scores)
        looking.claim = Claim(attends=looking.attends, gap=1.0, over="length")
        number = self.stream.space(seq.plainly(node), holds=f"number {node.key}", time=Time(depth))
        squared = self.stream.space(ended(seq.plainly(node), "^2"), holds=f"square {node.key}", time=Time(depth))
        looking.carries += [(key, {number: 1}), (square, {squared: 1})]
        self.stream.head(depth, looking)
        return WholeNumber({number: 1}, Time(depth), {squared: 1})

    def _attended(self, node: seq.Attend) -> Found:
        if self._everywhere(node.selector):
            return self._over_all(node)
        first, *more = clusters(node.selector)
        if not more and (found := self._indexed(node, first)) is not None:
            return found
        every = [self._finite(node.selector, cluster) for cluster in clusters(self._marked(node.selector))]
        if self._marks_first(node.values):
            return self._share(node, every)
        if len(getattr(self._found[node.values], "bits", ())) == 1:
            return self._whether(node, every)
        raise self._refused(node, "may combine the values of several positions")

    def _everywhere(self, selector: seq.Selection) -> bool:
        every = seq.leaves(selector)
        if not all(isinstance(leaf.keys, seq.Fixed) and isinstance(leaf.queries, seq.Fixed) for leaf in every):
            return False
        return all(cluster.matrix([()], [()]).all() for cluster in clusters(selector))

    def _over_all(self, node: seq.Attend) -> Found:
        """Return the mean of the mark of position 0 over all positions: 1/n; the length itself is 2m + 1."""
        if not self._marks_first(node.values):
            raise self._refused(node, "is a mean over any number of positions")
        source = self._found[node.values]
        looking, depth = self._head(node.selector, source.time, f"{node.selector.key} none", ())
        mean = self.stream.space(role("mean", seq.plainly(node)), holds=f"mean {node.key} 1 0", time=Time(depth))
        title = role("mean position of", seq.plainly(node.selector))
        place = self.stream.space(title, holds=f"places {node.selector.key}", time=Time(depth))
        looking.carries += [(source.bits[1], {mean: 1}), ({"i": 1}, {place: 1})]  # type: ignore[union-attr]
        return Share({mean: 1}, Time(depth), WholeNumber({place: 2, "1": 1}, Time(depth), None, (1, 0, 0)))

    # ── selections of finite values ─────────────────────────────────────────────────────────────────────────
    def _marked(self, selector: seq.Selection) -> seq.Selection:
        """Return `selector` with what compares a position with a constant turned into a truth value of the key."""
        if isinstance(selector, seq.Combine):
            return replace(selector, parts=tuple(map(self._marked, selector.parts)))
        if not isinstance(selector.queries, seq.Fixed) or isinstance(self._found[selector.keys], Code):
            return selector
        if selector.relation == "!=":
            raise self._refused(selector, "compares positions by !=")
        arguments = selector.keys, selector.queries
        mark = seq.Apply(key=selector.key, name=selector.name, operator=selector.relation, arguments=arguments)
        if mark.key not in self._marks:
            self._marks[mark.key] = mark
            self._found[mark] = self._of(mark)
        true = seq.Fixed(key=f"{selector.key} true", value=True)
        return replace(selector, keys=self._marks[mark.key], queries=true, relation="==")

    def _finite(self, selector: seq.Selection, cluster: SelectorCluster) -> _Finite:
        """Return the scores of a cluster of finite values (Lemma 1)."""
        sides = []
        for nodes in (cluster.keys, cluster.queries):
            codes = [code for node in nodes if isinstance(code := self._found[node], Code)]
            if len(codes) < len(nodes):
                raise self._refused(selector, self._why_not(cluster))
            sides.append(list(product(*(code.bits for code in codes))))
        keys, queries = sides
        whole = cluster.matrix(keys, queries)
        first = [any(node.key in self._marks and key[n] is True for n, node in enumerate(cluster.keys)) for key in keys]
        query_kinds, key_kinds = kinds_of(whole), kinds_of(whole.T)
        asked, asked_time = self._kind_bits("queries", cluster, queries, query_kinds)
        brought, brought_time = self._kind_bits("keys", cluster, keys, key_kinds)
        small = whole[np.ix_([same[0] for same in query_kinds], [same[0] for same in key_kinds])]
        rows = tuple((bit, added(brought[n] for n in np.flatnonzero(row))) for bit, row in zip(asked, small, strict=True))
        selects_first = bool(whole.all()) or (any(first) and bool(whole[:, first].all()))
        return _Finite(cluster.claim, rows, selects_first, max(asked_time, brought_time))

    def _why_not(self, cluster: SelectorCluster) -> str:
        """Return why a head cannot compare values without bound."""
        for leaf in (leaf for part, _ in cluster.parts for leaf in seq.leaves(part)):
            both = isinstance(self._found[leaf.keys], WholeNumber) and isinstance(self._found[leaf.queries], WholeNumber)
            if both and leaf.relation in ("<", "<=", ">", ">="):
                rank = "for n positions a head without a mask needs at least n - 2 query components for that"
                return f"compares whole numbers by {leaf.relation}, and {rank}"
        return "compares values without bound"

    def _kind_bits(
        self, side: str, cluster: SelectorCluster, every: Sequence[Tuple], kinds: Sequence[Sequence[int]]
    ) -> tuple[list[BitForm], Time]:
        """Return the bit of each kind of key or query, and when it is there."""
        nodes = cluster.keys if side == "keys" else cluster.queries
        if not nodes:
            return [ONE] * len(kinds), Time()
        sources = [code for node in nodes if isinstance(code := self._found[node], Code)]
        if len(sources) == 1:
            bits = sources[0].bits
            return [added(bits[every[n][0]] for n in same) for same in kinds], sources[0].time
        label = {every[n]: str(number) for number, same in enumerate(kinds) for n in same}
        entries = tuple((values, label.get(values, seq.NO_KIND)) for values in every)
        name = role(f"{side} of", cluster.name)
        node = seq.Apply(key=f"{side} {cluster.claim}", name=name, operator="group", arguments=nodes, entries=entries)
        coded = self._table(node, sources)
        return [coded.bits[str(number)] for number in range(len(kinds))], coded.time

    def _share(self, node: seq.Attend, every: Sequence[_Finite]) -> Share:
        """Return 1/w for a selector that always selects position 0."""
        if not all(each.selects_first for each in every):
            raise self._refused(node.selector, "does not always select position 0")
        looking, depth = self._selecting(node, every)
        source = self._found[node.values]
        mean = self.stream.space(role("mean", seq.plainly(node)), holds=f"mean {node.key} 1 0", time=Time(depth))
        looking.carries.append((source.bits[1], {mean: 1}))  # type: ignore[union-attr]
        return Share({mean: 1}, Time(depth))

    def _whether(self, node: seq.Attend, every: Sequence[_Finite]) -> Code:
        """Return the one value that there is where anything is selected, otherwise the default (Lemma 3)."""
        looking, depth = self._selecting(node, every)
        (value,) = self._found[node.values].bits  # type: ignore[union-attr]
        choices: list[list[tuple[BitForm, BitForm]]] = []
        for k, each in enumerate(every, start=1):
            title = role("share of" if len(every) == 1 else f"share {k} of", looking.name)
            labels = [str(n) for n in range(len(each.rows))]
            share = self.stream.space(title, holds=f"share {each.claim}", time=Time(depth), labels=labels)
            looking.carries += [
                (brought, {at(share, label): 1}) for label, (_, brought) in zip(labels, each.rows, strict=True)
            ]
            choices.append([(asked, {at(share, label): 1}) for label, (asked, _) in zip(labels, each.rows, strict=True)])
        found = self.stream.found(role("found by", looking.name), f"found {node.selector.key}", depth, choices)
        if node.default == value:
            return of_bits({value: ONE}, Time())
        return of_bits({value: {found: 1}, node.default: complement({found: 1})}, Time(depth, 1))

    def _selecting(self, node: seq.Attend, every: Sequence[_Finite]) -> tuple[Looking, int]:
        time = max([self._found[node.values].time, *(each.time for each in every)])
        scores = tuple(pair for each in every for pair in each.rows)
        return self._head(node.selector, time, f"{node.selector.key} none {'|'.join(e.claim for e in every)}", scores)

    def _marks_first(self, node: seq.Operation) -> bool:
        """Return whether a node is 1 at position 0 and 0 elsewhere, because it says so."""
        if not isinstance(node, seq.Apply) or node.operator != "indicator":
            return False
        (inner,) = node.arguments
        if not isinstance(inner, seq.Apply) or inner.operator != "==":
            return False
        zero = [argument for argument in inner.arguments if isinstance(argument, seq.Fixed) and argument.value == 0]
        return len(zero) == 1 and any(isinstance(argument, seq.Position) for argument in inner.arguments)

    def _head(self, selector: seq.Selection, values: Time, claim: str, scores: ScorePairs) -> tuple[Looking, int]:
        depth = values.depth + 1
        if (selector, depth) not in self._heads:
            name = seq.plainly(selector)
            if any(own is selector for own, _ in self._heads):
                name = ended(name, f" (depth {depth})")
            self._heads[selector, depth] = Looking(name, claim, list(scores))
            self.stream.head(depth, self._heads[selector, depth])
        return self._heads[selector, depth], depth

    def _indexed(self, node: seq.Attend, cluster: SelectorCluster) -> Found | None:
        """Return what stands at the position that a count says; None if that is not what the selector says."""
        (part, negated), *more = cluster.parts
        if not isinstance(part, seq.Compare) or part.relation != "==" or negated or more:
            return None
        key, query = self._as_count(part.keys), self._as_count(part.queries)
        if key is None or query is None or key.square is None or key.terms is None or key.terms[1] not in (1, -1):
            return None
        if key.terms[0] or not inside(key, query):
            raise self._refused(node.selector, "may name a position that does not exist")
        values = self._found[node.values]
        if isinstance(values, Share):
            raise self._refused(node.values, "is a fraction without bound")
        time = max(key.time, query.time, values.time)
        scores: ScorePairs = ((added([query.form], times=[2]), key.form), ({"1": -1}, key.square))
        looking, depth = self._head(node.selector, time, f"{node.selector.key} none {cluster.claim}", scores)
        name = role("picked", seq.plainly(node))
        if isinstance(values, WholeNumber):
            space = self.stream.space(name, holds=f"number {node.key}", time=Time(depth))
            looking.carries.append((values.form, {space: 1}))
            return WholeNumber({space: 1}, Time(depth))
        labels = [seq.text_of(value) for value in values.bits]
        space = self.stream.space(name, holds=f"picked {node.key}", time=Time(depth), labels=labels)
        looking.carries += [(bit, {at(space, seq.text_of(value)): 1}) for value, bit in values.bits.items()]
        return of_bits({value: {at(space, seq.text_of(value)): 1} for value in values.bits}, Time(depth))
