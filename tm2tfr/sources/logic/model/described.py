"""The variables and heads of a formula's or program's weights for readers: each with its equation, one level deep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from tm2tfr.contract.labelling import HeadPattern, claimed
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.modelled import DescribedModel
from tm2tfr.sources.logic import nodes as logic
from tm2tfr.sources.logic.model.causal import LogicWeights
from tm2tfr.sources.logic.model.claims import (
    BitClaim,
    DividedClaim,
    EqualityClaim,
    GivenClaim,
    HeadClaim,
    InsideClaim,
    MeanClaim,
    NodeClaim,
    ShareClaim,
    StepClaim,
    SubspaceClaim,
    TruthOf,
    conjuncts,
    equality,
    head_claim,
    means,
    reads,
    subspace_claim,
)
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.printer import STYLES, Printer
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.sequence.naming import MOST
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

_Kind = TypeVar("_Kind", bound=Node)
_GIVEN = {
    "token": ("the token", "BOS, the word, then EOS where there is one"),
    "bos": ("whether this is BOS", "i = 0"),
    "eos": ("whether this is EOS", "i = n+1"),
    "early": ("whether this is BOS or the first position of the word", "i ≤ 1"),
    "1": ("one", "1"),
    "i": ("the position", "i"),
    "i^2": ("its square", "i²"),
    "1/(i+1)": ("the position", "1/(i+1)"),
}
_INSIDE = "[1 ≤ i ≤ n]"
_SIGHT = {"future": "j ≤ i", "past": "j ≥ i", "none": "all j"}
_IN_SIGHT = {"future": "so far", "past": "from here on", "none": "of the run"}


def described_logic(program: LogicProgram, decoder: Decoder) -> DescribedModel:
    """Return the variables of the weights of a formula or program, each with its equation, and the heads' patterns."""
    return _Described(LogicWeights(program, decoder)).model()


class _Described:
    """Writes claims in the notation of the program.

    A node goes by its name, see `output_names`. What the program names, and what is called by a shortened text, has an
    equation; all others are written out.
    """

    def __init__(self, weights: LogicWeights) -> None:
        self._weights, self._nodes = weights, weights.nodes
        self._heads: dict[str, dict[str, None]] = {}
        for own in (each for layer in weights.decoder.layers for each in layer.heads):
            self._heads.setdefault("" if own.claim is None else own.claim.attends, {})[own.name] = None
        names: dict[Node, str] = {}
        self._printer = Printer(STYLES["ascii"], weights.program.language == "srasp", names)
        for number, node in sorted(self._nodes.items()):
            name = weights.called[number]
            if node.name or len(self._printer.text(node)) > MOST:
                names[node] = f"({name})" if " " in name else name
                self._printer.forget(node)
        self._written: Mapping[Node, str] = names

    def model(self) -> DescribedModel:
        """Return the variables and the patterns."""
        own = {what: node for node, (what, true) in self._weights.holders.items() if true}
        kinds = {"bit": "a truth value", "label": "a label", "number": "a number"}
        defined = [
            ModelVariable(
                name=self._weights.called[node.number],
                meaning=kinds[node.kind],
                kind="label" if node.kind == "label" else "number",
                formula=self._equation(node),
                stored=False,
            )
            for node in self._written
            if not self._weights.holders.get(node, ("", False))[1]
        ]
        formulas = {what: self._subspace(what, space, own) for what, space in self._weights.spaces.items()}
        return self._weights.described(defined, formulas), tuple(map(self._head, claimed(self._weights.decoder)))

    # ── nodes
    def _equation(self, node: Node) -> str:
        text = self._printer.text(node)
        compared = isinstance(node, logic.Comparison | logic.OneOf | logic.Same) and not _written_out(node)
        return f"{self._written[node]} = {f'({text})' if compared else text}" if node in self._written else text

    def _of(self, node: Node) -> str:
        return self._written.get(node) or self._printer.text(node)

    def _node(self, number: int) -> str:
        return self._of(self._nodes[number])

    def _known(self, number: int, kind: type[_Kind]) -> _Kind:
        node = self._nodes[number]
        if not isinstance(node, kind):
            raise TypeError(f"{node!r} is not a {kind.__name__}")
        return node

    def _condition(self, number: int, chosen: Sequence[int] | None = None) -> str:
        """Return the condition of a retrieval, or the conjunction of chosen parts of it."""
        node = self._known(number, logic.Retrieve)
        parts = conjuncts(node)
        return self._printer.condition(node, parts if chosen is None else [parts[k] for k in chosen])

    def _literal(self, literal: TruthOf) -> str:
        node = self._nodes[literal.node]
        if literal.label is not None:
            return f"{self._of(node)} {'=' if literal.true else '!='} {self._printer.style.label(literal.label)}"
        return self._of(node) if literal.true else f"!{self._operand(node)}"

    def _operand(self, node: Node) -> str:
        """Return a node as something that follows another word."""
        text = self._of(node)
        return text if node in self._written or _written_out(node) else f"({text})"

    # ── subspaces
    def _subspace(self, what: str, space: Subspace, own: Mapping[str, Node]) -> tuple[str, str]:
        """Return the claimed content of a subspace, and its equation."""
        before, rounded, raw = space.holds.partition("rounded ")
        claim = subspace_claim(raw if rounded and before in ("", "within ") else space.holds)
        if claim is None or not means(claim, self._nodes):
            return "", ""
        if rounded:
            return f"{self._meaning(claim)}, rounded", f"round({self._value(claim)}){' inside the word' if before else ''}"
        if what in own:
            return self._meaning(claim), self._equation(own[what])
        return self._meaning(claim), self._value(claim)

    def _meaning(self, claim: SubspaceClaim) -> str:  # noqa: PLR0911, PLR0912
        """Return the content of a subspace with this claim, in words."""
        match claim:
            case GivenClaim():
                return _GIVEN.get(claim.what, ("a feature of the position", ""))[0]
            case BitClaim(((),)):
                return "whether the position is inside the word"
            case BitClaim(((TruthOf(node, None, True),),)):
                return f"whether {self._node(node)} holds"
            case BitClaim():
                return "whether this holds"
            case NodeClaim("found"):
                return f"whether {self._node(claim.node)} selects a position"
            case NodeClaim():
                return f"the {_PARTS[claim.what]} {self._node(claim.node)}"
            case DividedClaim():
                part = "remainder" if claim.what == "reaches" else "quotient"
                return f"the {part} of {self._node(claim.node)} by {claim.per}{_DIVIDED[claim.what]}"
            case StepClaim():
                return f"whether the sides of {self._node(claim.node)} differ by {claim.least} or more"
            case EqualityClaim():
                return f"whether the numbers that {self._node(claim.node)} compares are equal"
            case InsideClaim():
                return f"{self._meaning(claim.of)}, inside the word"
            case ShareClaim():
                return f"{self._meaning(claim.of)}, divided by i+1"
            case MeanClaim() if claim.head.kind == "all":
                return f"a mean over the positions {_IN_SIGHT[claim.head.mask]}"
            case MeanClaim():
                return "what the head brings"

    def _part(self, claim: SubspaceClaim) -> str:
        """Return the content of a subspace with this claim, as a part of an expression."""
        text = self._value(claim)
        return f"({text})" if isinstance(claim, BitClaim) and re.search(r" [&|=] ", text) else text

    def _value(self, claim: SubspaceClaim) -> str:  # noqa: PLR0911, PLR0912
        """Return the content of a subspace with this claim, as an expression."""
        match claim:
            case GivenClaim("token"):
                return "token"
            case GivenClaim():
                return _GIVEN.get(claim.what, ("", claim.what))[1]
            case BitClaim(((),)):
                return _INSIDE
            case BitClaim():
                return " | ".join(" & ".join(map(self._literal, every)) for every in claim.alternatives) or "false"
            case NodeClaim("found"):
                return f"some j: {self._condition(claim.node)}"
            case NodeClaim():
                sign, _, power = claim.what.partition(" ")
                x = {"positive": "max(0, {})", "negative": "max(0, -{})"}.get(sign, "{}").format(self._node(claim.node))
                return f"{x}²" if power or sign == "square" else x
            case DividedClaim():
                x = f"max(0, {'' if claim.sign > 0 else '-'}{self._node(claim.node)})"
                if claim.what == "reaches":
                    return f"{x} % {claim.per} ≥ k, for each label k"
                return f"({x} // {claim.per})²" if claim.what.endswith("square") else f"{x} // {claim.per}"
            case StepClaim():
                compared = self._known(claim.node, logic.Comparison)
                return f"{self._of(compared.left)} - {self._of(compared.right)} ≥ {claim.least}"
            case EqualityClaim():
                conjunct = equality(self._nodes[claim.node], claim.conjunct)
                key, query = ("", "") if conjunct is None else (self._of(conjunct.key), self._of(conjunct.query))
                return f"{key} at {self._where(claim.head)} = {query}"
            case InsideClaim():
                return f"{self._value(claim.of)} inside the word"
            case ShareClaim():
                return f"({self._value(claim.of)})/(i+1)"
            case MeanClaim() if claim.head.kind == "all":
                return f"mean of {self._part(claim.of)} over {_SIGHT[claim.head.mask]}"
            case MeanClaim():
                return f"{self._part(claim.of)} at {self._where(claim.head)}"

    # ── heads
    def _where(self, head: HeadClaim) -> str:
        """Return the position that a head attends to, as short as it can be said."""
        nearest = "latest" if head.mask == "future" else "earliest"
        plain = {"back": "i-1", "ahead": "i+1", "parity": f"the {nearest} {_PARITY[head.least % 2]} j", "sign": "0 or 1"}
        if head.number is not None:
            return f"position {self._value(head.number)}"
        return plain[head.kind] if head.kind in plain else f"the j of {self._node(head.node)}"

    def _head(self, text: str) -> HeadPattern:
        head = head_claim(text)
        meaning, formula = ("", "") if head is None or not reads(head, self._nodes) else self._looked(head)
        return HeadPattern(
            claim=text,
            meaning=meaning,
            formula=formula,
            seen="all" if head and head.kind == "all" else "one",
            name=", ".join(self._heads.get(text, ())),
        )

    def _looked(self, head: HeadClaim) -> tuple[str, str]:  # noqa: PLR0911
        """Return where a head looks, in words and as an equation."""
        sight = _SIGHT[head.mask]
        match head.kind:
            case "all":
                return f"all positions {_IN_SIGHT[head.mask]}", sight
            case "back":
                return "the position before", "j = max(i-1, 0)"
            case "ahead":
                return "the position behind", "j = min(i+1, the last position)"
            case "parity" if head.mask == "past":
                return f"the earliest {_PARITY[head.least]} position from here on", f"earliest j ≥ i: j % 2 = {head.least}"
            case "parity":
                return f"the latest {_PARITY[head.least]} position so far", f"latest j ≤ i: j % 2 = {head.least}"
            case "lookup" if head.number is not None:
                number = self._value(head.number)
                return f"the position of the number {number}", f"j = {number}, or the nearest of {sight}"
            case "sign":
                step = self._value(StepClaim(head.least, head.node))
                return f"BOS where {step}, otherwise position 1", f"j = 0 if {step} else 1"
        node = self._nodes[head.node]
        if head.kind in ("since", "until"):
            when, of = ("latest", "so far") if head.kind == "since" else ("earliest", "from here on")
            if isinstance(node, logic.Since | logic.Until):
                fails = "" if isinstance(node.left, logic.Always) else f"not {self._operand(node.left)}, or "
                ends = fails + self._of(node.right)
            else:
                ends = self._condition(head.node)
            return f"the {when} position {of} that decides {self._of(node)}", f"{when} {sight}: {ends}; or an end"
        scores = (self._condition(head.node, own) if own else "1 ≤ j ≤ n" for own in head.clusters)
        at = {0: "", -1: ", at the position before j", 1: ", at the position behind j"}[head.shift]
        meaning = f"the {head.kind} position in sight that satisfies the condition of {self._of(node)} best{at}"
        return meaning, f"{head.kind} {sight}: {'; '.join(scores)}"


_PARITY = ("even", "odd")
_PARTS = {
    "label": "label",
    "number": "number",
    "square": "square of",
    "positive": "positive part of",
    "negative": "negative part of",
    "positive square": "square of the positive part of",
    "negative square": "square of the negative part of",
}
_DIVIDED = {"quotient": "", "quotient square": ", squared", "reaches": ", as a thermometer"}


def _written_out(node: Node) -> bool:
    """Return whether a node is as short as a name."""
    letter = isinstance(node, logic.OneOf) and len(node.values) == 1 and isinstance(node.of, logic.Input)
    return letter or isinstance(node, logic.Input | logic.Text | logic.Always | logic.Place)
