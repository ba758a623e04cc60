"""From the s-ops and selectors of a program to the typed graph that is compiled, node by node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction

from tm2tfr.base.errors import CompileError
from tm2tfr.sources.rasp import sops
from tm2tfr.sources.rasp.naming import RaspNames
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.values import shown
from tm2tfr.sources.sequence import graph as seq

Structure = tuple[object, ...]
"""The parts of a node, apart from its key, name and text."""


def lowered(
    program: Program, outputs: Sequence[tuple[str, sops.SOp]], *, file: str = "", names: RaspNames | None = None
) -> seq.SequenceGraph:
    """Return the graph of a program with these outputs, the answer first.

    Two s-ops or selectors that are made in the same way become one node.

    Args:
        names: those of the program, if they are known.

    Raises:
        CompileError: if the alphabet of the program is not known.
    """
    if not program.alphabet:
        what = f"{program.name}: the tokens of its inputs are not known"
        raise CompileError(f"{what}: add the header '# alphabet: abc' to the program, or give --alphabet abc")
    by_value = {token: token for token in reversed(program.alphabet)}
    equal = next((token for token in program.alphabet if by_value[token] is not token), None)
    if equal is not None:
        what = f"{program.name}: the tokens {shown(by_value[equal])} and {shown(equal)} are equal"
        raise CompileError(f"{what}: list one of them in the alphabet")
    lowering = _Lowering(program.alphabet, names or RaspNames(program))
    lowering.add([node for _, node in outputs])
    return seq.SequenceGraph(
        name=program.name,
        file=file or program.name,
        alphabet=tuple(map(_whole, program.alphabet)),
        outputs=tuple((name, lowering.nodes[sop]) for name, sop in outputs),
    )


def _whole(value: sops.Atom) -> sops.Atom:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _typed(part: object) -> object:
    """Return a part so that equal ones are the same: 1 and True are equal, and not the same."""
    if isinstance(part, tuple):
        return tuple(map(_typed, part))
    return part if isinstance(part, seq.Operation) else (type(part), part)


def _text(token: sops.Atom) -> str:
    """Return a token as the authors' interpreter makes text of it: a fraction is a float."""
    return str(float(token)) if isinstance(token, Fraction) else str(token)


class _Lowering:
    def __init__(self, alphabet: Sequence[sops.Atom], names: RaspNames) -> None:
        self._names = names
        self._text = all(isinstance(token, str) for token in alphabet)
        self._texts = tuple((_whole(token), _text(token)) for token in alphabet)
        self.nodes: dict[sops.SOp, seq.Operation] = {}
        self._selectors: dict[sops.Selector, seq.Selection] = {}
        self._same: dict[Structure, seq.Operation] = {}
        self._same_selections: dict[Structure, seq.Selection] = {}
        self._loops: dict[sops.Repeat, seq.PassLoop] = {}

    def add(self, wanted: Sequence[sops.SOp]) -> None:
        """Add nodes for `wanted` and all that they are made of."""
        needed: dict[sops.Node, None] = {}
        waiting: list[sops.Node] = list(wanted)
        while waiting:
            node = waiting.pop()
            if node not in needed:
                needed[node] = None
                waiting.extend(sops.made_of(node))
        for node in sorted(needed, key=lambda each: each.number):
            if isinstance(node, sops.Selector):
                made = self._selector(node)
                self._selectors[node] = self._same_selections.setdefault(_structure(made), made)
            elif isinstance(node, sops.Repeat):
                self._loops[node] = self._loop(node)
            elif isinstance(node, sops.SOp):
                self.nodes[node] = self._node(node)

    def _loop(self, loop: sops.Repeat) -> seq.PassLoop:
        states = tuple(self.nodes[state] for state in loop.states)
        return seq.PassLoop(
            key=f"l{loop.number}",
            order=loop.number,
            states=tuple(state for state in states if isinstance(state, seq.PassState)),
            nexts=tuple(self.nodes[following] for following in loop.nexts),
            times=loop.times,
            until=None if loop.until is None else self.nodes[loop.until],
            span=loop.span,
        )

    def _selector(self, selector: sops.Selector) -> seq.Selection:
        key, name = f"c{selector.number}", self._names.of_weights[selector.number]
        if isinstance(selector, sops.Combined):
            parts = tuple(self._selectors[part] for part in selector.parts)
            return seq.Combine(key=key, name=name, operator=selector.operator, parts=parts, span=selector.span)
        if not isinstance(selector, sops.Select):
            raise CompileError(f"{selector!r} is not a selector: use select, and, or, not")
        keys, queries = self.nodes[selector.key], self.nodes[selector.query]
        return seq.Compare(key=key, name=name, keys=keys, queries=queries, relation=selector.relation, span=selector.span)

    def _node(self, sop: sops.SOp) -> seq.Operation:
        node = self._made(sop, seq.NodeFields(key=f"s{sop.number}", name=self._names.of_weights[sop.number], span=sop.span))
        if isinstance(node, seq.PassState):
            return node  # two of them with the same beginning are two
        return self._same.setdefault(_structure(node), node)

    def _made(self, sop: sops.SOp, about: seq.NodeFields) -> seq.Operation:  # noqa: PLR0911
        if isinstance(sop, sops.Tokens):
            return self._converted(sop.conversion, about)
        if isinstance(sop, sops.Indices):
            return seq.Position(**about)
        if isinstance(sop, sops.Constant):
            return seq.Fixed(value=_whole(sop.value), **about)
        if isinstance(sop, sops.Elementwise):
            entries = tuple((_whole(key), _whole(value)) for key, value in sop.entries)
            arguments = tuple(self.nodes[argument] for argument in sop.arguments)
            return seq.Apply(operator=sop.operator, arguments=arguments, entries=entries, **about)
        if isinstance(sop, sops.Aggregate):
            selector, values = self._selectors[sop.selector], self.nodes[sop.values]
            return seq.Attend(selector=selector, values=values, default=_whole(sop.default), **about)
        if isinstance(sop, sops.State):
            return seq.PassState(initial=self.nodes[sop.initial], **about)
        if isinstance(sop, sops.Looped):
            return seq.AfterLoop(loop=self._loops[sop.loop], value=self.nodes[sop.value], **about)
        raise CompileError(f"{sop!r} is not an s-op: use tokens, indices, functions of them, and aggregate")

    def _converted(self, conversion: sops.Conversion, about: seq.NodeFields) -> seq.Operation:
        if conversion == "asis" or (conversion == "str" and self._text):
            return seq.Token(**about)
        alone = seq.Token(key="s", name="token")
        token = self._same.setdefault(_structure(alone), alone)
        if conversion == "str":
            return seq.Apply(operator="table", arguments=(token,), entries=self._texts, **about)
        return seq.Apply(operator=conversion, arguments=(token,), **about)


def _structure(node: seq.Operation | seq.Selection) -> Structure:
    """Return the class and the parts of a node, which are equal for two nodes that are made in the same way."""
    parts = (getattr(node, field.name) for field in fields(node) if field.name not in seq.NodeFields.__annotations__)
    return type(node), *map(_typed, parts)
