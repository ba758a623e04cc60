"""A formula's run as equations, some of whose variables may be set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tm2tfr.contract.causality import CausalRun, CausalValue, Settings
from tm2tfr.contract.model import ModelVariable
from tm2tfr.sources.logic.causal.seen import ENDS, SeenValues
from tm2tfr.sources.logic.causal.weights import FEATURE, LogicWeights, is_feature, is_number
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.library import word_of
from tm2tfr.sources.logic.nodes import Node, Retrieve, Since, Until
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.specification import claims
from tm2tfr.sources.logic.specification.heads import equality, looked, stands_for
from tm2tfr.sources.logic.specification.stream import given
from tm2tfr.sources.logic.truth import shown_value
from tm2tfr.transformer.listing import Wire, WiredHead
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder


class LogicRun:
    """The values of a run, each computed when it is asked for."""

    def __init__(self, about: LogicWeights, word: tuple[str, ...], settings: Settings) -> None:
        self.about, self.word, self._set = about, word, settings
        self.tokens = ("BOS", *word, *(["EOS"] if about.eos else []))
        ends = any(name == "token" and self.tokens[p] in ENDS for name, p in settings)
        self._strange = "BOS and EOS are where they are in every run" if ends else ""
        self._known: dict[tuple[str, int], tuple[CausalValue, str]] = {}
        self._places: dict[tuple[str, int], tuple[tuple[int, ...], str]] = {}

    def all(self) -> None:
        """Compute every variable at every position."""
        for what, claim in self.about.claims.items():
            if claim is not None and not is_feature(claim):
                for p in range(len(self.tokens)):
                    self.held(what, p)
        for name, reads in self.about.outputs.items():
            for p in range(len(self.tokens)):
                self.together(f"output {name}", reads, p)

    def held(self, what: str, p: int) -> tuple[CausalValue, str]:
        """Return what a variable is at position `p`, and why that is not known."""
        if (what, p) in self._set:
            return self._set[what, p], self._strange
        if (what, p) not in self._known:
            value, why = self._computed(what, p)
            self._known[what, p] = value, why or self._strange
        return self._known[what, p]

    def seen(self, reads: Iterable[str], but: str = "") -> SeenValues:
        """Return the nodes as they are for what reads these variables."""
        about = self.about
        own, known = about.reads(reads), about.by_number
        return SeenValues(self.word, known, about.eos, own, self.held, but, labels=about.labels, spaces=about.spaces)

    def _computed(self, what: str, p: int) -> tuple[CausalValue, str]:
        claim, wire = self.about.claims[what], self.about.wires.get(what, Wire())
        if claim == claims.GivenClaim("token"):
            return self.tokens[p], ""
        if claim is None or (claim != claims.GivenClaim("token") and isinstance(claim, claims.GivenClaim)):
            return 0, ""
        if wire.head is not None:
            return self._brought(what, claim, wire, wire.head, p)
        there = self.seen(wire.reads, what)
        text = self.about.spaces[what].holds
        if text.startswith(("rounded ", "within rounded ")):
            return self._rounded(what, text, wire, there, p)
        value = self._of(claim, there, p, self.about.spaces[what])
        why = there.why or self.together(what, wire.reads, p)
        return value, why

    def _of(  # noqa: PLR0911
        self, claim: claims.SubspaceClaim, there: SeenValues, p: int, space: Subspace | None = None
    ) -> CausalValue:
        """Return what a claim says of position `p`, as the nodes are seen."""
        match claim:
            case claims.GivenClaim():
                return there.token(p) if claim.what == "token" else given(claim.what, p, there)  # type: ignore[arg-type]
            case claims.BitClaim():
                return int(
                    there.inside(p) and any(all(_true(each, there, p) for each in way) for way in claim.alternatives)
                )
            case claims.StepClaim():
                node: Any = there.by_number[claim.node]
                return int(there.number(node.left, p) - there.number(node.right, p) >= claim.least)
            case claims.ShareClaim():
                return Fraction(self._of(claim.of, there, p), p + 1)
            case claims.InsideClaim():
                return self._of(claim.of, there, p) if there.inside(p) else None if claims.labelled(claim) else 0
            case claims.NodeClaim() if claim.what == "label":
                label = there.label(there.by_number[claim.node], p)
                return label if space is None or space.labels is None or label in space.labels else None
            case claims.NodeClaim() if claim.what == "found":
                retrieve = there.by_number[claim.node]
                found = there.found(retrieve, p) if isinstance(retrieve, Retrieve) else None
                if found is None:
                    there.doubt(f"nothing says whether s{claim.node} selects anything at {p}")
                return int(bool(found))
            case claims.EqualityClaim():
                return self._equal(claim, there, p)
            case claims.NodeClaim():
                return _signed(claim.what, there.number(there.by_number[claim.node], p))
        there.doubt(f"nothing says how {type(claim).__name__} of the weights is computed")
        return None if claims.labelled(claim) else 0

    def _equal(self, claim: claims.EqualityClaim, there: SeenValues, p: int) -> CausalValue:
        """Return whether the number that was brought from the key is the one here."""
        conjunct = equality(there.by_number[claim.node], claim.conjunct)
        for what, said in there.claims:
            brought = said.of if isinstance(said, claims.MeanClaim) else None
            if conjunct is not None and brought == claims.NodeClaim("number", conjunct.key.number):
                return int(there.take(what, p) == there.number(conjunct.query, p))
        there.doubt(f"nothing says whether the numbers of s{claim.node} are equal at {p}")
        return 0

    def _rounded(self, what: str, text: str, wire: Wire, there: SeenValues, p: int) -> tuple[CausalValue, str]:
        """Return what is rounded: 0 up to 1/4, 1 from 3/4 on, and nothing outside the word if it says ``within``."""
        raw = text.partition("rounded ")[2]
        source = next((each for each in wire.reads if self.about.spaces[each].holds == raw), None)
        if source is None:
            return 0, f"nothing says what {what} is rounded from"
        value, inside = there.take(source, p), there.inside(p) or text.startswith("rounded ")
        if self.about.spaces[what].labels is None:
            return (_clamped(value) if inside else 0), there.why
        shares = value if isinstance(value, Mapping) else {} if value is None else {value: 1}
        found = {label: number for label, share in shares.items() if (number := _clamped(share))} if inside else {}
        return _settled(found), there.why

    def together(self, what: str, reads: Iterable[str], p: int) -> str:
        """Return a doubt if bits and labels that are read come together in no run."""
        about = self.about
        names = sorted(each for each in reads if about.claims[each] is not None and not is_feature(about.claims[each]))  # type: ignore[arg-type]
        numbers = {each for each in names if is_number(about.claims[each])}
        held = (_plain(self.held(each, p)[0]) for each in names if each not in numbers)
        found = (self.tokens[p] in ENDS, *held)
        if about.learning:
            about.together.setdefault(what, set()).add(found)
            return ""
        return (
            ""
            if found in about.together.get(what, ())
            else f"what {what!r} is computed from at {p} comes together in no run"
        )

    # ── where heads look, and what they bring ───────────────────────────────────────────────────────────────
    def _brought(
        self, what: str, claim: claims.SubspaceClaim, wire: Wire, head: WiredHead, p: int
    ) -> tuple[CausalValue, str]:
        places, why = self._looked(head, p)
        if isinstance(claim, claims.NodeClaim | claims.DividedClaim):
            number = Fraction(sum(places), len(places))
            return _whole(number * number if claim.what.endswith("square") else number), why
        if not isinstance(claim, claims.MeanClaim):
            return (None if claims.labelled(claim) else 0), why or f"nothing says how {what} is brought"
        there = self.seen(wire.reads)
        if claim.head.shift or any(self.about.wires.get(each, Wire()).head for each in wire.reads if each != "token"):
            return self._relayed(claim, wire, places, why, there)
        values = [self._of(claim.of, there, stands_for(claim.head, there, j)) for j in places]  # type: ignore[arg-type]
        for j in places:
            why = why or self.together(f"{what} carries", wire.reads, j)
        return _mean(values, claims.labelled(claim)), why or there.why

    def _relayed(
        self, claim: claims.MeanClaim, wire: Wire, places: Sequence[int], why: str, there: SeenValues
    ) -> tuple[CausalValue, str]:
        """Return what a head brings of what another head has brought to where it looks."""
        values = []
        for j in places:
            source = next((each for each in sorted(wire.reads) if _of_mean(self.about.claims[each]) == claim.of), None)
            if source is None:
                there.doubt("nothing says what is brought on from another head")
                values.append(None if claims.labelled(claim) else 0)
            else:
                values.append(there.take(source, j))
        return _mean(values, claims.labelled(claim)), why or there.why

    def _looked(self, head: WiredHead, p: int) -> tuple[tuple[int, ...], str]:
        key = f"{head.attends} {sorted(head.query)} {sorted(head.key)}", p
        if key not in self._places:
            self._places[key] = self._looking(head, p)
        return self._places[key]

    def _looking(self, head: WiredHead, p: int) -> tuple[tuple[int, ...], str]:
        claim: claims.HeadClaim | None = claims.head_claim(head.attends)
        there = self.seen({*head.query, *head.key})
        if claim is None:
            return (p,), f"nothing says where {head.attends} looks"
        why = self.together(f"{head.attends} asks", head.query, p)
        for j in range(len(self.tokens)):
            why = why or self.together(f"{head.attends} offers", head.key, j)
        if claim.kind in ("since", "until"):
            return self._marked(claim, head, there, p), why or there.why
        places = tuple(looked(claim, there, p))  # type: ignore[arg-type]
        if claim.shift:
            there.doubt(f"nothing says where {head.attends} looks, past another head")
        return places, why or there.why

    def _marked(self, claim: claims.HeadClaim, head: WiredHead, there: SeenValues, p: int) -> tuple[int, ...]:
        """Return the latest position up to `p`, or the earliest from `p` on, where no step of since or until goes on."""
        about = self.about
        wholes = [each for each in head.key if isinstance(about.claims[each], claims.BitClaim) and each != "token"]
        node: Any = there.by_number[claim.node]
        step = -1 if claim.kind == "since" else 1
        j = p
        while 0 <= j < len(self.tokens) and self.tokens[j] not in ENDS:
            if len(wholes) == 1 and "token" not in head.key:
                goes_on = bool(there.take(wholes[0], j)) == self._says_step(wholes[0], node)
            elif isinstance(node, Since | Until):
                goes_on = there.bit(node.left, j) and not there.bit(node.right, j)
            else:
                there.doubt(f"nothing says where {head.attends} looks")
                break
            if not goes_on:
                break
            j += step
        return (min(max(j, 0), len(self.tokens) - 1),)

    def _says_step(self, what: str, node: Any) -> bool:
        """Return whether a bit is 1 where a step goes on, as it is in runs; otherwise it is 0 there."""
        if what not in self.about.steps:
            same = 0
            for word in self.about.words:
                run, right = LogicRun(self.about, word, {}), evaluate([node.left, node.right], word)
                for p in range(1, len(word) + 1):
                    on = bool(right[node.left][p - 1]) and not right[node.right][p - 1]
                    same += 1 if bool(run.held(what, p)[0]) == on else -1
            self.about.steps[what] = same > 0
        return bool(self.about.steps[what])


def _true(literal: Any, there: SeenValues, p: int) -> bool:
    node: Node = there.by_number[literal.node]
    if literal.label is None:
        return bool(there.bit(node, p) == literal.true)
    return bool((there.label(node, p) == literal.label) == literal.true)


def _signed(what: str, x: int) -> int:
    part = max(0, x) if what.startswith("positive") else max(0, -x) if what.startswith("negative") else x
    return part * part if what.endswith("square") else part


def _clamped(value: CausalValue) -> Any:
    return _whole(min(max(2 * (Fraction(value or 0) - Fraction(1, 4)), Fraction(0)), Fraction(1)))


def _whole(number: Fraction) -> int | Fraction:
    return number.numerator if number.denominator == 1 else number


def _settled(shares: Mapping[str, Any]) -> CausalValue:
    return next(iter(shares)) if len(shares) == 1 and 1 in shares.values() else shares or None


def _mean(values: Sequence[CausalValue], labels: bool) -> CausalValue:
    if not labels:
        return _whole(Fraction(sum(Fraction(value) for value in values), len(values)))
    found: dict[str, Fraction] = {}
    for value in values:
        shares = value if isinstance(value, Mapping) else {} if value is None else {value: 1}
        for label, share in shares.items():
            found[label] = found.get(label, Fraction(0)) + Fraction(share) / len(values)
    return _settled(found)


def _of_mean(claim: claims.SubspaceClaim | None) -> claims.SubspaceClaim | None:
    while isinstance(claim, claims.InsideClaim):
        claim = claim.of
    return claim.of if isinstance(claim, claims.MeanClaim) else claim


def _plain(value: CausalValue) -> Any:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value


class LogicCausal:
    """The causal model of a run, see `tm2tfr.contract.causality.CausalModel`."""

    def __init__(self, about: LogicWeights, word: tuple[str, ...]) -> None:
        self._about, self._word = about, word
        self.variables: Mapping[str, ModelVariable] = about.variables()
        self.fixed: Mapping[str, str] = {what: FEATURE for what in about.spaces if what not in self.variables}
        named = {node.name: node.number for node in about.by_number.values() if node.name}
        forms = ("is s{}", "label s{}", "number s{}")
        self.aliases: Mapping[str, str] = {
            name: form.format(n) for name, n in named.items() for form in forms if form.format(n) in self.variables
        }

    def run(self, settings: Settings, max_positions: int) -> CausalRun:
        """Return the run in which variables have these values."""
        about, run = self._about, LogicRun(self._about, self._word, settings)
        cells: list[dict[str, CausalValue]] = [{} for _ in run.tokens]
        doubts: dict[tuple[str, int], str] = {}
        for what in self.variables:
            for p, own in enumerate(cells):
                own[what], why = run.held(what, p)
                if why:
                    doubts[what, p] = why
        answers, unanswered = [], dict[int, dict[int, str]]()
        for p in range(len(run.tokens)):
            said = []
            for k, (output, node) in enumerate(zip(about.decoder.outputs, about.nodes, strict=True)):
                there = run.seen(about.outputs[output.name])
                value: Any = {"bit": there.bit, "label": there.label, "number": there.number}[node.kind](node, p)
                why = there.why or run.together(f"output {output.name}", about.outputs[output.name], p)
                if node.kind == "number" and output.labels is None and run.tokens[p] in ENDS and why:
                    value = 0
                said.append(shown_value(value, node.kind))
                if why:
                    unanswered.setdefault(p, {})[k] = why
            answers.append(tuple(said))
        return CausalRun(run.tokens, tuple(answers), tuple(cells), doubts, unanswered)


_LAST: list[LogicWeights] = []
"""The weights of the last models: what comes together in their runs is found once."""


def causal_model(program: LogicProgram, word: str, decoder: Decoder) -> LogicCausal:
    """Return the causal model of the run of a formula's weights on `word`.

    Raises:
        InputError: if it is not a word over its alphabet.
        CompileError: if the weights have an output that is no part of it.
    """
    given = word_of(program, word)
    about = next((each for each in _LAST if each.of(program, decoder)), None)
    if about is None:
        about = LogicWeights(program, decoder)
        for each in about.words:
            LogicRun(about, each, {}).all()
        about.learning = False
        _LAST[:] = [about, *_LAST[:3]]
    return LogicCausal(about, given)
