"""The nodes of a program as a part of the weights sees them: by what it reads, and by their definitions from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from tm2tfr.contract.modelled import CausalValue
from tm2tfr.contract.wired import KnownOrNot
from tm2tfr.sources.logic import nodes as tl
from tm2tfr.sources.logic.evaluate import HERE, LogicValue, here, satisfied
from tm2tfr.sources.logic.model import claims
from tm2tfr.sources.logic.model.claims import SubspaceClaim
from tm2tfr.transformer.residual import Subspace

HeldAt = Callable[[str, int], KnownOrNot]
"""(variable, position) -> its value, and why that is not known."""
ENDS = ("BOS", "EOS")
_KINDS: Mapping[type[tl.Node], tuple[str, ...]] = {
    tl.Since: ("since",),
    tl.Until: ("until",),
    tl.Previous: ("back", "parity"),
    tl.Next: ("ahead", "parity"),
    tl.Predicate: ("lookup",),
}
_ORDER: Mapping[str, Callable[[Callable[[int], bool]], bool]] = {
    ">=": lambda least: least(0),
    ">": lambda least: least(1),
    "<": lambda least: not least(0),
    "<=": lambda least: not least(1),
    "==": lambda least: least(0) and not least(1),
    "!=": lambda least: not least(0) or least(1),
}


class SeenNodes:
    """What nodes are at a position, for a part of the weights that reads some variables.

    Where what is read does not settle what a node is, there is a doubt.

    Args:
        tokens: those fed, with BOS and EOS.
        nodes: the nodes of the program by their numbers.
        reads: variable -> its claim; one that is computed here is not among them.
        held: their contents.
        labels: the number of a node that is a label -> those that it has in runs; a subspace may have all but one.
        spaces: the subspace of each variable.
        names: what nodes are called, by their numbers.

    Attributes:
        why: the first doubt about a requested value since `why` was emptied.
    """

    def __init__(
        self,
        tokens: tuple[str, ...],
        nodes: Mapping[int, tl.Node],
        reads: Mapping[str, SubspaceClaim | None],
        held: HeldAt,
        *,
        labels: Mapping[int, frozenset[str]],
        spaces: Mapping[str, Subspace],
        names: Mapping[int, str],
    ) -> None:
        self.tokens, self.nodes, self._held, self._labels, self._spaces = tokens, nodes, held, labels, spaces
        self.claims = [(what, claim) for what, claim in sorted(reads.items()) if claim is not None]
        self._holders = {claim: what for what, claim in reversed(self.claims)}
        self._token = next((what for what, claim in self.claims if claim == claims.GivenClaim("token")), None)
        self.why, self._names = "", names

    def take(self, what: str, p: int) -> CausalValue:
        """Return the value of a variable at position `p`."""
        value, why = self._held(what, p)
        self.why = self.why or why
        return value

    def called(self, node: tl.Node) -> str:
        """Return the name of a node."""
        return self._names.get(node.number, "a part of it")

    def doubt(self, why: str) -> None:
        """Note that something is not known."""
        self.why = self.why or why

    def token(self, p: int) -> str:
        """Return the token at position `p`, as far as it is read."""
        return self.tokens[p] if self._token is None else str(self.take(self._token, p))

    def within(self, p: int) -> bool:
        """Return whether position `p` is one of the word."""
        return self.token(p) not in ENDS

    def selected(self, node: tl.Node, p: int) -> bool:
        """Return whether a retrieval selects anything."""
        found = self.found(node, p) if isinstance(node, tl.Retrieve) else None
        if found is None:
            self.doubt(f"nothing says whether {self.called(node)} selects anything at {p}")
        return bool(found)

    def goes_on(self, node: tl.Node, p: int) -> bool:
        """Return whether a step of since or until continues."""
        if isinstance(node, tl.Since | tl.Until):
            return self.bit(node.left, p) and not self.bit(node.right, p)
        self.doubt(f"nothing says where the head of {self.called(node)} looks")
        return False

    def equal(self, claim: claims.EqualityClaim, p: int) -> bool:
        """Return whether the number that was brought from the key is the one here."""
        conjunct = claims.equality(self.nodes[claim.node], claim.conjunct)
        for what, said in self.claims:
            brought = said.of if isinstance(said, claims.MeanClaim) else None
            if conjunct is not None and brought == claims.NodeClaim("number", conjunct.key.number):
                return bool(self.take(what, p) == self.number(conjunct.query, p))
        self.doubt(f"nothing says whether the numbers of {self._names[claim.node]} are equal at {p}")
        return False

    # ── bits ────────────────────────────────────────────────────────────────────────────────────────────────
    def bit(self, node: tl.Node, p: int) -> bool:
        """Return whether a bit is true at position `p`."""
        for true in (False, True):
            if (what := self._holders.get(truth_of(node, true))) is not None:
                value = bool(self.take(what, p))
                return value if true else self.within(p) and not value
        for true in (False, True):
            if (what := self._holders.get(claims.ShareClaim(truth_of(node, true)))) is not None:
                return bool(self.take(what, p)) == true
        literals, true = conjunction(node)
        flat = flattened(node, true)
        for what, claim in self.claims if literals else ():
            if alternative(claim) in (literals, flat):
                value = bool(self.take(what, p))
                return value if true else self.within(p) and not value
        return self.within(p) and self._defined(node, p)

    def value(self, node: tl.Node, p: int) -> LogicValue | None:
        """Return a bit, a label or a number at position `p`."""
        of: Mapping[str, Callable[[tl.Node, int], LogicValue | None]]
        of = {"bit": self.bit, "label": self.label, "number": self.number}
        return of[node.kind](node, p)

    def _defined(self, node: tl.Node, p: int) -> bool:
        if isinstance(node, tl.Comparison):
            return self._compared(node, p)
        looked_up = isinstance(node, tl.Predicate) and any(
            isinstance(claim, claims.MeanClaim) and claim.head.kind == "lookup" for _, claim in self.claims
        )
        if looked_up or isinstance(node, tl.Since | tl.Until | tl.Previous | tl.Next | tl.Retrieve):
            return bool(self._carried(node, p))
        if isinstance(node, tl.Predicate):
            return satisfied(node, int(self.number(node.of, p)), sum(token not in ENDS for token in self.tokens))
        if type(node) in HERE:
            return bool(here(node, self.value, p))
        self.doubt(f"nothing says what {self.called(node)} is at {p}")
        return False

    def _compared(self, node: tl.Comparison, p: int) -> bool:
        def least(number: int) -> bool:
            if (what := self._holders.get(claims.StepClaim(number, node.number))) is not None:
                return bool(self.take(what, p))
            return self.number(node.left, p) - self.number(node.right, p) >= number

        return _ORDER[node.relation](least)

    def _carried(self, node: tl.Node, p: int) -> CausalValue:
        """Return what the head of an operator brought of it: the one thing that is read and comes from where it looks."""
        if isinstance(node, tl.Retrieve) and (retrieved := self._retrieved(node, p)) is not None:
            return retrieved
        found = []
        for what, claim in self.claims:
            brought = bare(claim)
            if isinstance(brought, claims.MeanClaim) and brought.head.kind in _KINDS.get(type(node), ()):
                found.append((what, brought))
        for alike in (
            [what for what, brought in found if brought.head.node == node.number],
            [what for what, brought in found if literal_of(brought.of) == (getattr(node, "of", node).number, True)],
        ):
            if len(found) > 1 and len(alike) == 1:
                found = [(what, brought) for what, brought in found if what == alike[0]]
        if len(found) != 1:
            self.doubt(f"nothing alone says what {self.called(node)} is at {p}")
            return 0
        value = self.take(found[0][0], p)
        if value not in (0, 1):
            self.doubt(f"{self.called(node)} is neither true nor false at {p} then")
        return value

    # ── retrieval ───────────────────────────────────────────────────────────────────────────────────────────
    def _retrieved(self, node: tl.Retrieve, p: int) -> CausalValue:
        """Return the result of a retrieval: a value at the key, or the default; None if the values read leave it open."""
        selected = self.found(node, p)
        if selected is None:
            return None
        if not selected:
            return self.bit(node.default, p) if node.kind == "bit" else self.label(node.default, p)
        return self._at_key(node.values, p)

    def found(self, node: tl.Retrieve, p: int) -> bool | None:
        """Return whether a retrieval selects anything; None if the values read do not determine it."""
        if (what := self._holders.get(claims.NodeClaim("found", node.number))) is not None:
            return bool(self.take(what, p))
        there = [bare(claim) for _, claim in self.claims]
        if not any(isinstance(claim, claims.MeanClaim) and claim.head.kind in RETRIEVING for claim in there):
            return None
        within = next((what for what, claim in self.claims if of_key(claim) == claims.BitClaim(((),))), None)
        holds = [self._conjunct(node, n, part, p) for n, part in enumerate(claims.conjuncts(node))]
        if None in holds:
            return None
        return self.within(p) and (within is None or self.take(within, p) == 1) and all(holds)

    def _conjunct(self, node: tl.Retrieve, n: int, part: tl.Score, p: int) -> bool | None:  # noqa: PLR0911
        match part:
            case tl.AtQuery():
                return self.bit(part.bit, p)
            case tl.AtKey():
                value = self._at_key(part.bit, p)
                return None if value is None else bool(value)
            case tl.Equal() if part.key.kind == "number":
                for what, claim in self.claims:
                    if isinstance(claim, claims.EqualityClaim) and (claim.node, claim.conjunct) == (node.number, n):
                        return bool(self.take(what, p))
                return None
            case tl.Equal():
                value = self._at_key(part.key, p)
                return None if value is None else bool(value == self.label(part.query, p))
            case tl.AllOf() | tl.AnyOf():
                found = [self._conjunct(node, n, each, p) for each in part.parts]
                return None if None in found else (all if isinstance(part, tl.AllOf) else any)(found)
            case tl.NotOf():
                value = self._conjunct(node, n, part.part, p)
                return None if value is None else not value
        return None

    def _at_key(self, node: tl.Node, p: int) -> CausalValue:
        """Return a node at the position that a retrieval found, as it was brought; None if it was not."""
        one_by_one: dict[str, str] = {}
        for what, claim in self.claims:
            brought = of_key(claim)
            literal = literal_of(brought)
            if literal is not None and literal[0] == node.number:
                return bool(self.take(what, p)) == literal[1]
            if brought == claims.NodeClaim("label", node.number) or (
                isinstance(node, tl.Input) and brought == claims.GivenClaim("token")
            ):
                label = self.take(what, p)
                return label if isinstance(label, str) else self._no_key(node, p)
            if (
                isinstance(brought, claims.BitClaim)
                and len(brought.alternatives) == 1
                and len(brought.alternatives[0]) == 1
            ):
                ((said,),) = brought.alternatives
                if said.node == node.number and said.label is not None and said.true:
                    one_by_one[said.label] = what
        values = {label: self.take(what, p) for label, what in one_by_one.items()}
        true = [label for label, value in values.items() if value == 1]
        if values and not any(values.values()):
            return ""  # outside the word there is no label
        if isinstance(node, tl.Always):
            return node.value
        if isinstance(node, tl.Text):
            return node.value
        return true[0] if len(true) == 1 else None if not values else self._no_key(node, p)

    def _no_key(self, node: tl.Node, p: int) -> str:
        self.doubt(f"no value of {self.called(node)} is brought to {p} then")
        return ""

    # ── labels and numbers ──────────────────────────────────────────────────────────────────────────────────
    def label(self, node: tl.Node, p: int) -> str | None:  # noqa: PLR0911
        """Return the label at position `p`; None outside the word."""
        other: str | None = None
        if (what := self._holders.get(claims.NodeClaim("label", node.number))) is not None:
            value = self.take(what, p)
            if isinstance(value, str):
                return value
            left = self._labels.get(node.number, frozenset()) - set(self._spaces[what].labels or ())
            other = next(iter(left)) if value is None and len(left) == 1 else "" if value is None else None
        if not self.within(p):
            return None
        match node:
            case tl.Input():
                if self._token is None:
                    self.doubt(f"the token at {p} is not read")
                return self.token(p)
            case tl.Text() | tl.Choose():
                chosen = here(node, self.value, p)
                return None if chosen is None else str(chosen)
            case tl.Retrieve() if isinstance(value := self._retrieved(node, p), str):
                return value
        if other is not None:
            if not other:
                self.doubt(f"nothing says which label {self.called(node)} has at {p}")
            return other
        self.doubt(f"nothing says what {self.called(node)} is at {p}")
        return None

    def number(self, node: tl.Node, p: int) -> int:
        """Return the number at position `p`, inside the word or not; a bit counts as 1 or 0."""
        kinds = ("negative", "number", "positive")
        held = {kind: self._holders.get(claims.NodeClaim(kind, node.number)) for kind in kinds}
        parts = {kind: self.take(what, p) for kind, what in held.items() if what is not None}
        if "number" in parts:
            return self._whole(node, parts["number"], p)
        if len(parts) == 2:
            return self._whole(node, parts["positive"] - parts["negative"], p)
        if isinstance(node, tl.CountLeft):
            return self._counted(node, p)
        if isinstance(node, tl.Sum | tl.Place):
            return int(here(node, self.value, p) or 0)
        if node.kind == "bit":
            return int(self.bit(node, p))
        self.doubt(f"nothing says what {self.called(node)} is at {p}")
        return 0

    def _counted(self, node: tl.CountLeft, p: int) -> int:
        mean = claims.MeanClaim(claims.HeadClaim("all", "future"), truth_of(node.of, True))
        if (what := self._holders.get(mean)) is not None:
            return self._whole(node, self.take(what, p) * (p + 1), p)
        self.doubt(f"nothing says what {self.called(node)} is at {p}")
        return 0

    def _whole(self, node: tl.Node, value: CausalValue, p: int) -> int:
        number = Fraction(value)
        if number.denominator != 1:
            self.doubt(f"{self.called(node)} is not a whole number at {p} then")
        return int(number)


# ── what claims and connectives say, as literals: a node, and whether it has to be true ───────────────
RETRIEVING = ("latest", "earliest", "back", "ahead")
"""The kinds of heads that fetch the result of a retrieval."""


def truth_of(node: tl.Node, true: bool) -> claims.BitClaim:
    """Return the claim that a bit is true, or false."""
    return claims.BitClaim(((claims.TruthOf(node.number, None, true),),))


def literal_of(claim: SubspaceClaim | None) -> tuple[int, bool] | None:
    """Return the node that a claim says is true, or false, if it says no more."""
    if isinstance(claim, claims.BitClaim) and len(claim.alternatives) == 1 and len(claim.alternatives[0]) == 1:
        ((literal,),) = claim.alternatives
        return (literal.node, literal.true) if literal.label is None else None
    return None


def bare(claim: SubspaceClaim | None) -> SubspaceClaim | None:
    """Return a claim without saying that it is about the inside of the word."""
    while isinstance(claim, claims.InsideClaim):
        claim = claim.of
    return claim


def of_key(claim: SubspaceClaim | None) -> SubspaceClaim | None:
    """Return what a retrieval's head is claimed to have brought; None if it is another head, or none."""
    brought = bare(claim)
    return brought.of if isinstance(brought, claims.MeanClaim) and brought.head.kind in RETRIEVING else None


def alternative(claim: SubspaceClaim | None) -> frozenset[tuple[int, bool]] | None:
    """Return the literals of a claim that is one conjunction of truth values."""
    if not isinstance(claim, claims.BitClaim) or len(claim.alternatives) != 1:
        return None
    return frozenset((each.node, each.true) for each in claim.alternatives[0] if each.label is None)


def conjunction(node: tl.Node) -> tuple[frozenset[tuple[int, bool]], bool]:
    """Return the literals that a connective is the conjunction of, or, with False, the negation of one; none of others."""
    if isinstance(node, tl.And):
        return frozenset(_signed_literal(part) for part in node.parts), True
    if isinstance(node, tl.Or):
        return frozenset((number, not true) for number, true in map(_signed_literal, node.parts)), False
    if isinstance(node, tl.Not):
        literals, true = conjunction(node.of)
        return literals, not true
    return frozenset(), True


def flattened(node: tl.Node, true: bool) -> frozenset[tuple[int, bool]]:
    """Return the literals of which a connective, or its negation, is the conjunction, through connectives in it."""
    if isinstance(node, tl.Not):
        return flattened(node.of, not true)
    if isinstance(node, tl.And if true else tl.Or):
        return frozenset(literal for part in node.parts for literal in flattened(part, true))
    return frozenset([(node.number, true)])


def held_as(claim: SubspaceClaim | None, node: tl.Node) -> bool | None:
    """Return whether what has a claim is 1 where a bit is true inside the word, or, with False, where it is false there.

    None: it is neither. A comparison may be true outside the word as well.
    """
    if isinstance(claim, claims.StepClaim) and isinstance(node, tl.Comparison) and claim.node == node.number:
        return {(">", 1): True, (">=", 0): True, ("<", 0): False, ("<=", 1): False}.get((node.relation, claim.least))
    said, literal = literal_of(claim), _signed_literal(node)
    if said is not None and said[0] in (node.number, literal[0]):
        return said[1] == (literal[1] or said[0] == node.number)
    literals, true = conjunction(node)
    return true if literals and alternative(claim) in (literals, flattened(node, true)) else None


def _signed_literal(node: tl.Node) -> tuple[int, bool]:
    true = True
    while isinstance(node, tl.Not):
        node, true = node.of, not true
    return node.number, true


def whole(number: int | Fraction) -> int | Fraction:
    """Return a number, a whole one as an int."""
    return Fraction(number).numerator if Fraction(number).denominator == 1 else number
