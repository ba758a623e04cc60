"""Formulas and programs to weights: their outputs, whether they see the whole word, and the statements of the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tm2tfr.base.choices import (
    LOGIC,
)
from tm2tfr.base.errors import CompileError, Diagnostic
from tm2tfr.base.text.words import alphabet_of, written
from tm2tfr.contract.options import LogicOptions
from tm2tfr.sources.logic import nodes
from tm2tfr.sources.logic.nodes import Node, looks_right
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.theta import weighed
from tm2tfr.sources.logic.write import answered_names, output_names
from tm2tfr.sources.sequence import graph as seq
from tm2tfr.sources.sequence.compiler.framed import FramedOptions, compile_framed
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder


# ── From the nodes of a formula or a program to the typed graph that is compiled, node by node.
#
# ⊖φ is ``▶_j [j < i] φ(j) : ⊥`` and φ1 since φ2 is ``▶_j [j ≤ i, ¬φ1 ∨ φ2] φ1(j) : ⊥``, as ⊕ and until are with ◀ and
# later positions: at the latest position where φ1 fails or φ2 holds, φ1 decides (the proof of Theorem 15). What has a
# number in the program has it in the key of its operation, ``s12``; what is there for the graph alone has none.
def lowered(
    outputs: Sequence[tuple[str, nodes.Node]],
    names: Mapping[nodes.Node, str] | None = None,
    *,
    name: str,
    file: str,
    alphabet: Sequence[str],
) -> tuple[seq.SequenceGraph, Mapping[nodes.Node, seq.Operation]]:
    """Return the graph with these outputs, the answer first, and the operation of each node.

    Args:
        names: what nodes are called; None: as their authors do.
        file: what complaints call the text.
    """
    lowering = _Lowering(names or {})
    for node in nodes.needed([node for _, node in outputs]):
        lowering.add(node)
    pairs = tuple((name, lowering.found[node]) for name, node in outputs)
    return seq.SequenceGraph(name=name, file=file, alphabet=tuple(alphabet), outputs=pairs), lowering.found


class _Lowering:
    def __init__(self, names: Mapping[nodes.Node, str]) -> None:
        self._names = names
        self.found: dict[nodes.Node, seq.Operation] = {}
        self._true, self._false = seq.Fixed(key="true", value=True), seq.Fixed(key="false", value=False)

    def add(self, node: nodes.Node) -> None:
        """Add the operation of a node, that of whatever it is made of being there."""
        about = seq.NodeFields(key=f"s{node.number}", name=self._names.get(node, node.name), span=node.span)
        self.found[node] = self._lowered(node, [self.found[each] for each in nodes.parents(node)], about)

    def _lowered(self, node: nodes.Node, own: Sequence[seq.Operation], about: seq.NodeFields) -> seq.Operation:  # noqa: PLR0911
        off = self._false
        match node:
            case nodes.Input():
                return seq.Token(**about)
            case nodes.Text() | nodes.Always():
                return seq.Fixed(value=node.value, **about)
            case nodes.Previous():
                every = self._everything()
                return seq.Nearest(choice="latest", sight="<", selector=every, values=own[0], default=off, **about)
            case nodes.Next():
                every = self._everything()
                return seq.Nearest(choice="earliest", sight=">", selector=every, values=own[0], default=off, **about)
            case nodes.Since():
                left, marked = self._marked(node)
                return seq.Nearest(choice="latest", sight="<=", selector=marked, values=left, default=off, **about)
            case nodes.Until():
                left, marked = self._marked(node)
                return seq.Nearest(choice="earliest", sight=">=", selector=marked, values=left, default=off, **about)
            case nodes.Retrieve():
                return self._retrieved(node, about)
        return _number(node, own, about) or _applied(node, own, about)

    def _marked(self, node: nodes.Since | nodes.Until) -> tuple[seq.Operation, seq.Selection]:
        """Return the left side, and the selector of the keys at which it fails or the right side holds."""
        left, right = self.found[node.left], self.found[node.right]
        fails = seq.Apply(key=f"not {left.key}", operator="not", arguments=(left,))
        mark = seq.Apply(key=f"not {left.key} or {right.key}", operator="or", arguments=(fails, right))
        return left, seq.Compare(key=mark.key, keys=mark, queries=self._true, relation="==")

    def _everything(self) -> seq.Selection:
        return seq.Combine(key="everything", operator="and", parts=())

    def _retrieved(self, node: nodes.Retrieve, about: seq.NodeFields) -> seq.Operation:
        parts = tuple(map(self._selection, conjuncts(node.score)))
        selector = seq.Combine(key=f"score of s{node.number}", operator="and", parts=parts, span=node.span)
        values, default = self.found[node.values], self.found[node.default]
        choice, sight = node.choice, node.sight
        return seq.Nearest(choice=choice, sight=sight, selector=selector, values=values, default=default, **about)

    def _selection(self, score: nodes.Score) -> seq.Selection:
        if isinstance(score, nodes.Equal):
            key, query = self.found[score.key], self.found[score.query]
            return seq.Compare(key=f"{key.key} = {query.key}", keys=key, queries=query, relation="==")
        if isinstance(score, nodes.AtKey):
            bit = self.found[score.bit]
            return seq.Compare(key=f"{bit.key} at the key", keys=bit, queries=self._true, relation="==")
        if isinstance(score, nodes.AtQuery):
            bit = self.found[score.bit]
            return seq.Compare(key=f"{bit.key} at the query", keys=self._true, queries=bit, relation="==")
        if isinstance(score, nodes.NotOf):
            return seq.Combine(key="not", operator="not", parts=(self._selection(score.part),))
        parts = tuple(map(self._selection, score.parts))
        return seq.Combine(key="of several", operator="and" if isinstance(score, nodes.AllOf) else "or", parts=parts)


def conjuncts(score: nodes.Score) -> list[nodes.Score]:
    """Return the parts of a conjunction, those of conjunctions within it in their place; otherwise the score itself."""
    if not isinstance(score, nodes.AllOf):
        return [score]
    return [each for part in score.parts for each in conjuncts(part)]


def _applied(node: nodes.Node, own: Sequence[seq.Operation], about: seq.NodeFields) -> seq.Apply:
    """Return the operation of a function of values at the same position."""
    entries: tuple[tuple[str, bool], ...] = ()
    match node:
        case nodes.Choose():
            operator, own = "if", (own[1], own[0], own[2])
        case nodes.OneOf():
            operator, entries = "in", tuple((value, True) for value in node.values)
        case nodes.Same():
            operator = "=="
        case nodes.Comparison():
            operator = node.relation
        case _:
            operator = type(node).__name__.lower()
    return seq.Apply(operator=operator, arguments=tuple(own), entries=entries, **about)


def _number(node: nodes.Node, own: Sequence[seq.Operation], about: seq.NodeFields) -> seq.Operation | None:
    match node:
        case nodes.Place():
            return seq.Weighted(terms=((1, seq.Position(key=f"{about['key']} from 0")),), constant=1, **about)
        case nodes.CountLeft() | nodes.CountRight():
            return seq.Reckoned(values=own[0], sight="<=" if isinstance(node, nodes.CountLeft) else ">=", **about)
        case nodes.Sum():
            factors = [factor for factor, _ in node.terms]
            return seq.Weighted(terms=tuple(zip(factors, own, strict=True)), constant=node.constant, **about)
        case nodes.Predicate():
            return seq.Property(
                of=own[0],
                predicate=node.predicate,
                modulus=node.modulus,
                remainder=node.remainder,
                rule=weighed(node.rule) if node.rule else "",
                **about,
            )
    return None


def prepared(program: LogicProgram, options: LogicOptions) -> LogicProgram:
    """Return the program with the requested definition and alphabet.

    Raises:
        CompileError: if it has no such definition, or its alphabet is not known, or lacks a token that it names.
    """
    if options.define is not None:
        program = program.choosing(options.define)
    if options.alphabet is not None:
        program = replace(program, alphabet=tuple(map(str, alphabet_of(options.alphabet))))
    return program


def compile_program(program: LogicProgram, options: LogicOptions) -> Decoder:
    """Return the weights of a formula or program, for words of any length over its alphabet.

    They answer every node at every position, the one that is compiled first, see `output_names`; where numbers are not
    looked up, the weights say so.

    Raises:
        CompileError: where it cannot be compiled, with the place and the reason; if it looks right and is asked not to; if
            its alphabet is not known.
    """
    program = prepared(program, options)
    if not program.alphabet:
        what = f"{program.name}: the tokens of its words are not known"
        raise CompileError(f"{what}: add the header '# alphabet: ab' to the text, or give --alphabet ab")
    file = program.file
    ahead = _ahead(program, options, file)
    names = output_names(program)
    answered = answered_names(program, defined=options.answers == "definitions")
    outputs = [(name, node) for node, name in answered.items()]
    graph, _ = lowered(outputs, names, name=program.name, file=file, alphabet=program.alphabet)
    chosen = FramedOptions(
        ahead=ahead,
        sign=options.compare == "sign",
        steep=options.steep,
        printed=options.variant == "paper",
        unique=options.variant == "unique",
    )
    stated = {"define": program.chosen, "alphabet": written(program.alphabet), "mask": "none" if ahead else "future"}
    stated |= {
        "compare": options.compare,
        "variant": options.variant,
        "answers": options.answers,
        "steep": str(options.steep),
    }
    said = provenance.stated(LOGIC, source=program.text, name=program.name, options=stated)
    decoder, left = compile_framed(graph, chosen, said)
    notes = [f"{name} is not an output: the sign head compares numbers that are never looked up" for name in left]
    notes += _without_effect(graph, chosen, decoder)
    return replace(decoder, provenance=provenance.noted(decoder.provenance, notes))


def _without_effect(graph: seq.SequenceGraph, chosen: FramedOptions, decoder: Decoder) -> list[str]:
    """Return a note on each option without which the weights are the same."""
    options = {
        "sign": "--compare sign changes nothing: there are no two numbers that the sign head compares",
        "printed": "--variant paper changes nothing: there is no ⊖, ⊕, since, until or count, whose heads it is about",
        "unique": "--variant unique changes nothing: no head attends to one of several positions",
    }
    asked = {name: note for name, note in options.items() if getattr(chosen, name)}
    plain = {name: compile_framed(graph, replace(chosen, **{name: False}))[0] for name in asked}
    return [note for name, note in asked.items() if plain[name].layers == decoder.layers]


def _ahead(program: LogicProgram, options: LogicOptions, file: str) -> bool:
    """Return whether the heads see later positions.

    Raises:
        CompileError: if an operator looks at later positions, and a decoder is asked for.
    """
    right = next((node for node in program.nodes if looks_right(node)), None)
    if right is None or options.mask == "none":
        return options.mask == "none"
    if options.mask is None:
        return True
    what, remedy = f"{_called(right)} looks at later positions, which a decoder does not see", "omit --mask future"
    raise CompileError(str(Diagnostic(what=what, remedy=remedy, file=file, span=right.span)))


def _called(node: Node) -> str:
    """Return a node as people know it: by name, or as that which the complaint points at."""
    return repr(node.name) if node.name else "this operator" if node.span else f"node {node.number}"
