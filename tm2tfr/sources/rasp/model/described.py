"""The variables and heads of a program's weights for readers: each with its equation, in the notation of the program."""

from __future__ import annotations

from tm2tfr.contract.labelling import HeadPattern, Seen
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.modelled import DescribedModel
from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.model.claims import (
    ClassOf,
    FoundOf,
    GivenOf,
    Literals,
    MeanOf,
    PickedOf,
    RaspClaim,
    SharesOf,
    SopNumbers,
    StepsOf,
    ValueOf,
)
from tm2tfr.sources.rasp.model.weights import RaspWeights
from tm2tfr.sources.rasp.program import Program
from tm2tfr.transformer.weights import Decoder

WIDTHS = ("selector_width", "_width_with_first")
"""The functions of the library whose value is the number of positions that their argument selects."""
_GIVEN = {
    "token": ("the token", "tokens"),
    "position": ("the position", "indices"),
    "1": ("one", "1"),
    "i": ("the position", "indices"),
    "i^2": ("its square", "indices²"),
}


def described_rasp(program: Program, decoder: Decoder) -> DescribedModel:
    """Return the variables of a program's weights, each with its equation, and the patterns of the heads.

    Raises:
        CompileError: for weights for inputs of any length.
    """
    return _Described(RaspWeights(program, decoder)).model()


class _Described:
    """Writes claims in the notation of the program.

    What has a name in the program has an equation, and so has every s-op and selector that a claim is about, or whose text
    is too long to be its name, see `tm2tfr.sources.rasp.naming`; all others are written out.
    """

    def __init__(self, weights: RaspWeights) -> None:
        self._weights, self._names = weights, weights.names
        self._claims = weights.claims
        self._nodes: dict[int, rasp.SOp | rasp.Selector] = {**weights.sops, **weights.selectors}
        self._heads: dict[str, list[str]] = {}
        for head in (each for layer in weights.decoder.layers for each in layer.heads):
            self._heads.setdefault("" if head.claim is None else head.claim.attends, []).append(head.name)
        self._gazes = {claim: gaze for claim, gaze in weights.known.heads.items() if gaze is not None}
        about = {claim.sop for claim in self._claims.values() if isinstance(claim, ValueOf | PickedOf | MeanOf)}
        about |= {gaze.selector for gaze in self._gazes.values()}
        self._by_name = self._names.referred((node for _, node in sorted(self._nodes.items())), about)

    def model(self) -> DescribedModel:
        """Return the variables and the patterns."""
        names, every = self._names, self._nodes
        held = {claim.sop for claim in self._claims.values() if isinstance(claim, ValueOf)}
        held |= {gaze.selector for gaze in self._gazes.values()}
        plain = rasp.Tokens | rasp.Indices
        defined = {
            names[node]: ModelVariable(
                name=names[node],
                meaning="an s-op" if isinstance(node, rasp.SOp) else self._of_selector(number),
                kind="label",
                formula=self._equation(node),
                stored=False,
            )
            for number, node in sorted(every.items())
            if number in self._by_name - held and not isinstance(node, plain)
        }
        formulas = {what: self._subspace(claim) for what, claim in self._claims.items()}
        return self._weights.described(defined.values(), formulas), tuple(map(self._head, self._gazes))

    # ── s-ops and selectors
    def _text(self, node: rasp.SOp | rasp.Selector) -> str:
        call, text = node.returned, self._names.text(node, self._by_name)
        width = call.arguments[0] if call is not None and call.function in WIDTHS else None
        if isinstance(width, rasp.Selector) and node.name:
            return f"selector_width({self._names.reference(width, self._by_name)}) = {text}"
        return text

    def _equation(self, node: rasp.SOp | rasp.Selector) -> str:
        name, text = self._names[node], self._text(node)
        return text if name == text else f"{name} = {text}"

    def _sop(self, number: int) -> str:
        return self._names.reference(self._weights.sops[number], self._by_name)

    def _selector(self, number: int) -> str:
        return self._names.reference(self._weights.selectors[number], self._by_name)

    def _values(self, sops: SopNumbers) -> str:
        texts = ["tokens" if number is None else self._sop(number) for number in sops]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    def _of_selector(self, number: int) -> str:
        """Return what a selector is that no head is named after: another head may compute an equal one."""
        gaze = self._weights.known.gazes.get(number)
        heads = [name for claim, own in self._gazes.items() if own == gaze for name in self._heads.get(claim, ())]
        return f"a selector: the head{'s' if heads[1:] else ''} {', '.join(heads)}" if heads else "a selector"

    def _cluster(self, literals: Literals) -> str:
        return " and ".join(f"{'' if true else 'not '}{self._selector(number)}" for number, true in literals)

    # ── claims
    def _subspace(self, claim: RaspClaim | None) -> tuple[str, str]:  # noqa: PLR0911
        """Return the claimed content of a subspace, and its equation."""
        sops = self._weights.sops
        match claim:
            case GivenOf():
                return _GIVEN[claim.what]
            case ValueOf():
                return f"the s-op {self._sop(claim.sop)}", self._equation(sops[claim.sop])
            case ClassOf():
                values, cluster = self._values(claim.sops), self._cluster(claim.cluster)
                return f"a class of {claim.side} that {cluster} treats alike", f"class of {values}"
            case PickedOf():
                brought = self._brought(claim.sop, "{}")
                return f"what {self._sop(claim.sop)} takes from its keys", brought
            case MeanOf():
                shifted = "{}" if not claim.least else f"({{}} - {claim.least})".replace("- -", "+ ")
                scaled = shifted if claim.scale == 1 else f"{claim.scale}·{shifted}"
                return f"the mean that {self._sop(claim.sop)} is computed from", self._brought(claim.sop, scaled)
            case StepsOf():
                return f"how far the mean of {self._sop(claim.sop)} is from a to b, for each label a..b", _STEPS
            case SharesOf():
                values, selector = self._values(claim.sops), self._selector(claim.selector)
                what = "for each class of keys, the fraction of the selected positions in it"
                return what, f"mean of the class of {values} over {selector}"
            case FoundOf():
                selector = self._selector(claim.selector)
                return f"whether {selector} selects a position", f"1 if {selector} selects a position, else 0"
        return "", ""

    def _brought(self, sop: int, scaled: str) -> str:
        node = self._weights.known.aggregate(sop)
        values = self._names.reference(node.values, self._by_name, operand=True)
        return f"mean of {scaled.format(values)} over {self._names.reference(node.selector, self._by_name)}"

    def _head(self, claim: str) -> HeadPattern:
        gaze = self._gazes[claim]
        selector, clusters = self._weights.selectors[gaze.selector], [*map(self._cluster, gaze.clusters)]
        visible = "" if gaze.ahead else " up to this one"
        if not clusters:
            meaning = f"all positions{visible}"
        elif len(clusters) == 1:
            meaning = f"the positions{visible} that {self._selector(gaze.selector)} selects; all if there are none"
        else:
            meaning = f"the positions{visible} at which the largest number of these holds: {'; '.join(clusters)}"
        seen: Seen = "several" if clusters else "all"
        name = ", ".join(self._heads.get(claim, ()))
        return HeadPattern(claim=claim, meaning=meaning, formula=self._equation(selector), seen=seen, name=name)


_STEPS = "min(max((mean - a)/(b - a), 0), 1)"
