"""From a graph of sequence operations to weights for words of any length, between BOS and EOS.

A word w of n tokens is fed as BOS w1 … wn, where every operation looks to the left: then all heads see no later position,
and the weights are a decoder. Otherwise EOS follows, and heads look ahead as well. Position i of the word is position i of
the weights. Every operation is there in the earliest layer that it can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tm2tfr.base.errors import CompileError
from tm2tfr.sources.sequence import graph as seq
from tm2tfr.sources.sequence.compiler.codes import BitForm, added, whole_numbers
from tm2tfr.sources.sequence.compiler.framed.bits import BOS, EOS, NEVER, Bit, BitPlan, Finite, literal
from tm2tfr.sources.sequence.compiler.framed.comparing import STEPS, Comparing, Connectives
from tm2tfr.sources.sequence.compiler.framed.counting import Counted, Counting, Timed, total
from tm2tfr.sources.sequence.compiler.framed.heads import (
    Conjunct,
    HeadPlan,
    conjuncts_of,
    finite_conjunct,
    is_equality_of_numbers,
)
from tm2tfr.sources.sequence.compiler.framed.matching import (
    MOST_PER,
    Equality,
    Matched,
    QuotientEquality,
    division,
    margin_of,
    per,
    squared,
)
from tm2tfr.sources.sequence.compiler.framed.naming import FramedNames
from tm2tfr.sources.sequence.compiler.framed.nearest import Attending, Sought
from tm2tfr.sources.sequence.compiler.stream import TOKEN, StreamPlan
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Decoder

NOTHING = "⊥"
"""The label that is answered at BOS and EOS."""
FALSE, TRUE = "F", "T"


@dataclass(frozen=True, kw_only=True)
class FramedOptions:
    """How a graph is compiled.

    Args:
        ahead: whether heads may look ahead, so that EOS follows the word.
        sign: whether numbers are compared by the sign head, where they count to the left.
        steep: whether queries grow with the position, or with the length of the word, so that no head needs a temperature.
        printed: whether heads are as printed: neighbours by their parity, ties by ±j/(2n), or by -1/j in a decoder.
        unique: whether heads are leftmost or rightmost, so that they need nothing for ties; as printed otherwise.
    """

    ahead: bool = False
    sign: bool = False
    steep: bool = False
    printed: bool = False
    unique: bool = False


def compile_framed(
    graph: seq.SequenceGraph, options: FramedOptions, provenance: Mapping[str, str] | None = None
) -> tuple[Decoder, tuple[str, ...]]:
    """Return the weights, which answer every output at every position, and the outputs that they do not answer.

    A truth value is answered as F or T, F at BOS and EOS; a label as itself, `NOTHING` there; a number as a number.
    With the sign head, numbers are not looked up, and not answered.

    Raises:
        CompileError: for an operation that no head computes, with its place.
    """
    for token in graph.alphabet:
        if seq.text_of(token) in (BOS, EOS, NOTHING):
            raise CompileError(f"{graph.name}: the token {seq.text_of(token)!r} is reserved: rename it")
    lowering = _Framed(graph, options)
    for operation in seq.ordered(node for _, node in graph.outputs):
        lowering.add(operation)
    outputs = []
    left = []
    for n, (name, node) in enumerate(graph.outputs):
        found = lowering.answered(name, node, asked=n == 0)
        if found is None:
            left.append(name)
        else:
            outputs.append(found)
    lowering.heads.claim()
    return lowering.named(lowering.stream.weights(outputs, provenance or {})), tuple(left)


class _Framed:
    def __init__(self, graph: seq.SequenceGraph, options: FramedOptions) -> None:
        self._graph, self._options = graph, options
        tokens = tuple(map(seq.text_of, graph.alphabet))
        vocabulary = (BOS, *tokens, EOS) if options.ahead else (BOS, *tokens)
        self.stream = StreamPlan(vocabulary, None, "future", source="logic.compile")
        self._bits = BitPlan(self.stream, eos=options.ahead)
        self.heads = HeadPlan(self.stream)
        self._counting = Counting(self._bits, self.heads, steep=options.steep, printed=options.printed)
        self._comparing = Comparing(self._bits, self._counting, self.heads, options.sign)
        self._attending = Attending(
            self._bits,
            self.heads,
            self._counting,
            steep=options.steep,
            printed=options.printed or options.unique,
            unique=options.unique,
            ahead=options.ahead,
            refused=self._refused_attention,
        )
        self._finite: dict[seq.Operation, Finite] = {}
        self._amounts: dict[seq.Operation, Counted] = {}
        self._connectives = Connectives(self._bits, self._finite)

    def named(self, decoder: Decoder) -> Decoder:
        """Return the weights with names for people."""
        nodes = [node for node in seq.ordered(node for _, node in self._graph.outputs) if node.name]
        own: dict[str, str] = {}
        for node in nodes:
            truth = self._finite[node].truth.form if node in self._finite else {}
            if len(truth) == 1 and set(truth.values()) == {1}:
                own.setdefault(next(iter(truth)), node.name)
        return FramedNames({node.key: node.name for node in nodes}).named(decoder, own)

    # ── operations ──────────────────────────────────────────────────────────────────────────────────────────
    def add(self, node: seq.Operation) -> None:
        """Add an operation, of which all that it is made of is there."""
        match node:
            case seq.Token():
                self._finite[node] = Finite({token: self._token(node, token) for token in self._graph.alphabet})
            case seq.Fixed():
                self._constant(node)
            case seq.Position():
                self._amounts[node] = Counted(constant=-1, place=1)
            case seq.Apply():
                self._applied(node)
            case seq.Reckoned():
                self._check_count(node)
                self._counting.truths[node] = self._finite[node.values].truth
                self._amounts[node] = Counted(counts={node: 1})
            case seq.Weighted():
                parts = [(factor, self._amount(term)) for factor, term in node.terms]
                self._amounts[node] = total(parts, node.constant)
            case seq.Property():
                remedy = "apply it to a count alone, or to the position"
                refused = self._graph.refusal(
                    node, f"{seq.called(node)} is a predicate of neither a count nor the position", remedy
                )
                truth = self._comparing.predicated(node, self._amount(node.of), lambda: refused)
                self._finite[node] = self._connectives.two(node, truth)
            case seq.Nearest():
                self._nearest(node)
            case _:
                raise self._graph.refusal(node, f"{seq.called(node)} is a mean, which no formula has", "compile it as RASP")

    def _token(self, node: seq.Token, token: seq.Item) -> Bit:
        return Bit({at(TOKEN, seq.text_of(token)): 1}, NEVER.time, ((literal(node.key, token),),))

    def _constant(self, node: seq.Fixed) -> None:
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            self._amounts[node] = Counted(node.value)
        else:
            self._finite[node] = Finite({node.value: replace(self._bits.inside, said=((),))})

    def _amount(self, node: seq.Operation) -> Counted:
        """Return a number, or a truth value that counts as 1 or 0."""
        if node in self._amounts:
            return self._amounts[node]
        truth = self._finite[node].truth
        if not truth.form:
            return Counted()
        return Counted(bits={truth.said: (1, truth)})

    def _applied(self, node: seq.Apply) -> None:
        arguments = node.arguments
        if node.operator in STEPS and not all(argument in self._finite for argument in arguments):
            self._check_count(node)
            left, right = map(self._amount, arguments)
            self._finite[node] = self._connectives.two(node, self._comparing.compared(node, left, right))
            return
        codes = [self._finite[argument] for argument in arguments]
        match node.operator:
            case "not":
                renamed = self._connectives.renamed
                self._finite[node] = Finite({not v: renamed(node, not v, bit) for v, bit in codes[0].bits.items()})
            case "and" | "or":
                self._finite[node] = self._connectives.joined(node)
            case "in":
                wanted = {key for key, _ in node.entries}
                chosen = [bit for value, bit in codes[0].bits.items() if value in wanted]
                form = added(bit.form for bit in chosen)
                time = max((bit.time for bit in chosen), default=NEVER.time)
                self._finite[node] = self._connectives.two(node, Bit(form, time, ((literal(node.key, True),),)))
                self._connectives.of_label(node, codes[0], wanted)
            case "==":
                same = [[bit, codes[1].bits[value]] for value, bit in codes[0].bits.items() if value in codes[1].bits]
                truth = self._bits.either(same, f"is {node.key}", literal(node.key, True))
                self._finite[node] = self._connectives.two(node, truth)
            case "if":
                self._finite[node] = self._chosen(node, codes)
            case _:
                raise self._graph.refusal(
                    node, f"{seq.called(node)} is a function that no formula has", "compile it as RASP"
                )

    def _chosen(self, node: seq.Apply, codes: list[Finite]) -> Finite:
        then, condition, other = codes
        alternatives: dict[seq.Item, list[list[Bit]]] = {}
        for code, truth in ((then, True), (other, False)):
            for value, bit in code.bits.items():
                alternatives.setdefault(value, []).append([condition.bits.get(truth, NEVER), bit])
        return self._bits.labelled(alternatives, node.key)

    # ── attention ───────────────────────────────────────────────────────────────────────────────────────────
    def _nearest(self, node: seq.Nearest) -> None:
        if node.sight in (">=", ">", "any") and not self._options.ahead:
            raise self._looks_right(node)
        parts = conjuncts_of(node.selector)
        among = sum(is_equality_of_numbers(part, self._finite.__contains__) for part in parts)
        conjuncts = tuple(self._conjunct(node, part, among) for part in parts)
        asked = Sought(node, conjuncts, self._finite[node.values], self._finite[node.default])
        self._finite[node] = self._attending.nearest(asked)

    def _conjunct(self, node: seq.Nearest, part: seq.Selection, among: int) -> Conjunct | Matched:
        if not is_equality_of_numbers(part, self._finite.__contains__):
            if any(is_equality_of_numbers(leaf, self._finite.__contains__) for leaf in seq.leaves(part)):
                remedy = "make the equality one of the conjuncts, or an attention of its own"
                raise self._graph.refusal(
                    node, f"{seq.called(node)} compares numbers within a disjunction or a negation", remedy
                )
            remedy = "compare fewer labels and truth values in one conjunct"
            refused = self._graph.refusal(node, f"{seq.called(node)} compares too many values together", remedy)
            return finite_conjunct(part, self._finite.__getitem__, self._bits, lambda: refused)
        return self._equality(part.keys, part.queries, among)  # type: ignore[union-attr]

    def _equality(self, keys: seq.Operation, queries: seq.Operation, among: int) -> Matched:
        """Return the conjunct that says that two numbers are equal, one of several of a selector."""
        key, query = self._amount(keys), self._amount(queries)
        margin = margin_of(key, query, among)
        found = squared(self._counting, keys, key, margin)
        if found is not None:
            asked = found.number if queries is keys else self._counting.exact(query, margin, 2)
            return Equality(keys, found, queries, asked, margin)
        if (chosen := per(self._counting, [key, query])) is not None:
            number, negative = chosen
            divided = [
                division(self._counting, node, amount, number, negative=negative, margin=margin)
                for node, amount in ((keys, key), (queries, query))
            ]
            if divided[0] is not None and divided[1] is not None:
                return QuotientEquality(number, divided[0], divided[1], margin)
        what = f"the key {seq.called(keys)} is a sum whose square no head can compute"
        remedy = f"compare counts alone, or sums of counts to the left with factors of up to {MOST_PER} in all"
        raise self._graph.refusal(keys, what, remedy)

    # ── what is refused ─────────────────────────────────────────────────────────────────────────────────────
    def _looks_right(self, node: seq.Operation) -> CompileError:
        remedy = "omit --mask future, so that the weights see the whole word"
        return self._graph.refusal(
            node, f"{seq.called(node)} looks at later positions, which a decoder does not see", remedy
        )

    def _check_count(self, node: seq.Operation) -> None:
        if self._options.unique:
            what = f"{seq.called(node)} counts, which leftmost and rightmost attention do not"
            raise self._graph.refusal(node, what, "omit --variant unique")
        if isinstance(node, seq.Reckoned) and node.sight == ">=" and not self._options.ahead:
            raise self._looks_right(node)
        if self._options.steep and not self._options.ahead:
            remedy = "add --mask none: queries grow with the length, which an encoder knows; or omit --steep"
            raise self._graph.refusal(node, f"{seq.called(node)} counts, which takes a temperature in a decoder", remedy)

    def _refused_attention(self, node: seq.Nearest, what: str, remedy: str) -> CompileError:
        return self._graph.refusal(node, f"{seq.called(node)} {what}", remedy)

    # ── outputs ─────────────────────────────────────────────────────────────────────────────────────────────
    def answered(self, name: str, node: seq.Operation, *, asked: bool) -> tuple[Output, list[BitForm]] | None:
        """Return an output with the linear form of each of its rows; None if it is a number that is not looked up."""
        if node in self._amounts:
            if self._options.sign and not asked:
                return None
            exact: Timed = self._counting.exact(self._amounts[node], 6.0 * max(1, self._amounts[node].factors))
            return Output(name, None), [exact.form]
        bits = self._finite[node].bits
        if all(isinstance(value, bool) for value in bits):
            truth = self._finite[node].truth.form
            return Output(name, (FALSE, TRUE)), [added([{"1": 1}, truth], times=[1, -1]), truth]
        labels = {seq.text_of(value): bit.form for value, bit in bits.items()}
        return Output(name, (NOTHING, *labels), whole=whole_numbers(tuple(bits))), [self._bits.ends, *labels.values()]
