"""The causal model of a formula's run, or of a B-RASP or S-RASP program's: the model along the wiring of weights.

See `tm2tfr.contract.wired`. A node of which nothing that is read says anything is computed by its definition from those
that it is made of. There is also a doubt where what is read does not settle what a node is (heads that look past other
heads, counts to the right), and where a number is not a whole one. BOS and EOS stay where they are.

Nothing here is taken from the compiler.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial

from tm2tfr.base.errors import listing
from tm2tfr.contract.model import ModelVariable, settled, votes_of
from tm2tfr.contract.modelled import CausalValue, Settings
from tm2tfr.contract.wired import KnownOrNot, WiredCausal, WiredRun, WiredWeights, latest, plain
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.library import word_of
from tm2tfr.sources.logic.model import claims
from tm2tfr.sources.logic.model.claims import SubspaceClaim
from tm2tfr.sources.logic.model.doubts import SeenColumns
from tm2tfr.sources.logic.model.seen import ENDS, SeenNodes, held_as, whole
from tm2tfr.sources.logic.nodes import Always, Input, Node, Place, Since, Text, Until, needed, parents
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.truth import answered, shown_value
from tm2tfr.sources.logic.write import output_names
from tm2tfr.transformer.attention import in_sight
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.listing import Wire, WiredHead
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

TRIED, LONGEST = 120, 8
"""The number of words, and their greatest length, that determine which values occur together."""
MOST_NAMED = 4
"""The most variables that are named instead of one that cannot be set."""


class LogicWeights(WiredWeights[LogicProgram]):
    """The common part of all runs of a formula's weights: claims, wiring, and the values that occur together."""

    def __init__(self, program: LogicProgram, decoder: Decoder) -> None:
        super().__init__(program, decoder, by_name=True)
        self.claims = {what: claims.subspace_claim(space.holds) for what, space in self.spaces.items()}
        self.answered = dict(zip(decoder.outputs, answered(program, decoder), strict=True))
        self.nodes = {node.number: node for node in needed(list(self.answered.values()))}
        self.called = {node.number: name for node, name in output_names(program).items()}
        self.token = next((what for what, claim in self.claims.items() if claim == claims.GivenClaim("token")), "token")
        self.steps: dict[str, bool] = {}
        chance = random.Random(0)
        self.words = [tuple(chance.choices(program.alphabet, k=1 + n * LONGEST // TRIED)) for n in range(TRIED)]
        self.labels: dict[int, frozenset[str]] = {}
        self.names: tuple[str | None, ...] = ()

    def learn(self) -> None:
        """Note what occurs in runs on the words."""
        labels: dict[int, set[str]] = {n: set() for n, node in self.nodes.items() if node.kind == "label"}
        for word in self.words:
            right = evaluate(self.answered.values(), word)
            for n, known in labels.items():
                known.update(map(str, right[self.nodes[n]]))
        self.labels = {n: frozenset(known) for n, known in labels.items()}
        held = (label for space in self.spaces.values() for label in space.labels or ())
        every = (*self.decoder.vocabulary, *held, *(label for known in self.labels.values() for label in known))
        self.names = (None, *dict.fromkeys(every))
        for word in self.words:
            LogicRun(self, word, {}).learn()

    def variables(self) -> dict[str, ModelVariable]:
        """Return the variables, by the names of their subspaces."""
        return {
            what: self._variable(what, space, claim)
            for what, space in self.spaces.items()
            if (claim := self.claims[what]) is not None and not _is_feature(claim)
        }

    def _variable(self, what: str, space: Subspace, claim: SubspaceClaim) -> ModelVariable:
        bit = self._is_bit(what)
        return ModelVariable(
            name=what,
            meaning=space.name,
            kind="number" if space.labels is None else "label",
            since=space.since or (-1, "embedding"),
            read_by=self.read_by[what],
            subspace=space.name,
            labels=tuple(label for label in space.labels or () if label not in ENDS),
            nothing=what != self.token,
            least=0 if bit else None,
            largest=1 if bit else None,
            unset="" if self.settable(what) else f"{_unset(claim)}{self._instead(self._nearest(what))}",
        )

    def _is_bit(self, what: str) -> bool:
        claim, holds = self.claims[what], self.spaces[what].holds
        found = isinstance(claim, claims.NodeClaim) and claim.what == "found"
        return found or isinstance(claim, claims.BitClaim | claims.StepClaim) or holds.startswith(("rounded ", "within "))

    def settable(self, what: str) -> bool:
        """Return whether a variable can be set: a label, a bit, or a number that a head looks up."""
        claim = self.claims[what]
        if claim is None or _is_feature(claim):
            return False
        counted = isinstance(claim, claims.NodeClaim) and claim.what == "number"
        return self.spaces[what].labels is not None or self._is_bit(what) or counted

    @cached_property
    def _readers(self) -> Mapping[str, list[str]]:
        """The variables that are computed from each, and those that heads bring by it."""
        readers: dict[str, list[str]] = {what: [] for what in self.spaces}
        for reader, wire in self.wires.items():
            head = wire.head
            for read in sorted({*wire.reads, *(head.query | head.key if head else ())}):
                readers[read].append(reader)
        return readers

    def _nearest(self, what: str) -> list[str]:
        """Return the variables that can be set which are computed from one that cannot, in as few steps as there are."""
        met, layer = {what}, [what]
        while layer:
            layer = [each for each in dict.fromkeys(r for w in layer for r in self._readers.get(w, ())) if each not in met]
            met.update(layer)
            if found := [each for each in layer if self.settable(each)]:
                return found
        return []

    def _instead(self, names: Sequence[str]) -> str:
        return f": set {listing(names, most=MOST_NAMED)}" if names else ""

    # ── the nodes of the program by name
    @cached_property
    def holders(self) -> Mapping[Node, tuple[str, bool]]:
        """Return the variable that holds each node itself, or, with False, its opposite."""
        found: dict[Node, tuple[str, bool]] = {}
        for node in self.nodes.values():
            for what, claim in self.claims.items():
                itself = isinstance(claim, claims.NodeClaim) and (claim.what, claim.node) == (node.kind, node.number)
                true = True if itself or (isinstance(node, Input) and what == self.token) else held_as(claim, node)
                if true is not None and not found.get(node, ("", False))[1]:
                    found[node] = what, true
        return found

    def _near(self, node: Node, reads: Iterable[str]) -> list[str]:
        """Return the variables that can be set from which a node that none holds is computed, given what reads it."""
        near = [each for each in sorted(reads) if self.settable(each)]
        near = near or [each for what in sorted(reads) for each in self._nearest(what)]
        holders = self.holders
        for part in parents(node) if not near else ():
            near += [holders[part][0]] if part in holders else self._near(part, ())
        apart = [each for each in dict.fromkeys(near) if each != self.token]
        return apart or near[:1]

    def names_of_nodes(self) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
        """Return the variable that each name of a node means, that whose opposite it is, and why others have none."""
        aliases, opposites, fixed, holders = dict[str, str](), dict[str, str](), dict[str, str](), self.holders
        names = [(self.called[number], node) for number, node in self.nodes.items() if number in self.called]
        names += [(name, node) for name, node in self.program.definitions.items() if name]
        outputs = {node: name for name, node in zip(self.outputs, self.answered.values(), strict=True)}
        for name, node in names:
            what, true = holders.get(node, ("", True))
            if name in self.spaces or name in aliases:
                continue
            if what and true:
                aliases[name] = what
            elif what:
                opposites[name] = what
            elif isinstance(node, Always | Text) or not any(isinstance(each, Input | Place) for each in needed([node])):
                fixed[name] = "it is the same everywhere"
            else:
                near = self._near(node, self.outputs.get(outputs.get(node, ""), ()))
                fixed[name] = f"no vector holds it, and what reads it computes it{self._instead(near)}"
        return aliases, opposites, fixed


class LogicRun(WiredRun):
    """The values of a run, each computed on first use."""

    def __init__(self, weights: LogicWeights, word: tuple[str, ...], settings: Settings) -> None:
        tokens = (ENDS[0], *word, *ENDS[1:][: ENDS[1] in weights.decoder.vocabulary])
        ends = any(name == weights.token and tokens[p] in ENDS for name, p in settings)
        super().__init__(tokens, settings, "BOS and EOS are where they are in every run" if ends else "")
        self.weights = weights
        self._columns: dict[str, Sequence[KnownOrNot]] = {}
        self._seen: dict[tuple[frozenset[str], str], SeenColumns] = {}
        self._places: dict[WiredHead, Sequence[tuple[Sequence[int], str]]] = {}

    def learn(self) -> None:
        """Compute every variable at every position."""
        for p in range(len(self.tokens)):
            for what, claim in self.weights.claims.items():
                if claim is not None and not _is_feature(claim):
                    self.held(what, p)
            for name, reads in self.weights.outputs.items():
                self.together(f"output {name}", reads, p)

    def seen(self, reads: Iterable[str], but: str = "") -> SeenColumns:
        """Return the nodes as they are for what reads these variables, except for the one that is computed."""
        own, key = self.weights, (frozenset(reads), but)
        if key not in self._seen:
            of = {what: own.claims[what] for what in key[0] if what != but}
            nodes = SeenNodes(self.tokens, own.nodes, of, self.held, labels=own.labels, spaces=own.spaces, names=own.called)
            tokens = [nodes.token(p) for p in range(len(self.tokens))]
            self._seen[key] = SeenColumns(nodes, tokens, own.names)
        return self._seen[key]

    def computed(self, what: str, i: int) -> CausalValue:
        if what not in self._columns:
            self._columns[what] = self._column(what)
        value, why = self._columns[what][i]
        self.doubt(why)
        return value

    def _column(self, what: str) -> Sequence[KnownOrNot]:
        claim, wire, space = self.weights.claims[what], self.weights.wire(what), self.weights.spaces[what]
        if claim == claims.GivenClaim("token"):
            return [(token, "") for token in self.tokens]
        if claim is None or isinstance(claim, claims.GivenClaim):
            return [(0, "")] * len(self.tokens)
        if wire.head is not None:
            return self._brought(what, claim, wire, wire.head)
        if space.holds.startswith(("rounded ", "within rounded ")):
            return self._rounded(what, space, wire)
        column = self.seen(wire.reads, what).known(claim)
        if isinstance(claim, claims.NodeClaim) and claim.what == "label":
            column = [(value if value in (space.labels or ()) else None, why) for value, why in column]
        return [(value, why or self.together(what, wire.reads, p)) for p, (value, why) in enumerate(column)]

    def _rounded(self, what: str, space: Subspace, wire: Wire) -> Sequence[KnownOrNot]:
        """Return what is rounded: 0 up to 1/4, 1 from 3/4 on, and nothing outside the word if it says ``within``."""
        raw = space.holds.partition("rounded ")[2]
        source = next((each for each in wire.reads if self.weights.spaces[each].holds == raw), None)
        if source is None:
            return [(0, f"nothing says what {what} is rounded from")] * len(self.tokens)
        column: list[KnownOrNot] = []
        for p in range(len(self.tokens)):
            value, why = self.held(source, p)
            if space.holds.startswith("within ") and self.tokens[p] in ENDS:
                column.append((0 if space.labels is None else None, why))
            elif space.labels is None:
                column.append((_clamped(value), why))
            else:
                shares = {label: number for label, share in votes_of(value).items() if (number := _clamped(share))}
                column.append((settled(shares), why))
        return column

    def together(self, what: str, reads: Iterable[str], p: int, said: str = "") -> str:
        """Return a doubt if bits and labels that are read come together in no run; said: what they are there for."""
        own = self.weights
        named = ((each, own.claims[each]) for each in sorted(reads))
        names = [each for each, claim in named if claim is not None and not _is_feature(claim) and not _is_number(claim)]
        values = (self.tokens[p] in ENDS, *(plain(self.held(each, p)[0]) for each in names))
        return (
            f"what {said or f'{what!r} is computed from'} at {p} comes together in no run"
            if own.seldom(what, values)
            else ""
        )

    # ── where heads look, and what they bring ───────────────────────────────────────────────────────────────
    def _brought(self, what: str, claim: SubspaceClaim, wire: Wire, head: WiredHead) -> Sequence[KnownOrNot]:
        looked = self._looked(head)
        if isinstance(claim, claims.NodeClaim | claims.DividedClaim):  # the position that is looked up
            numbers = [Fraction(sum(places), len(places)) for places, _ in looked]
            power = 2 if claim.what.endswith("square") else 1
            return [(whole(number**power), why) for number, (_, why) in zip(numbers, looked, strict=True)]
        label = claims.labelled(claim)
        if not isinstance(claim, claims.MeanClaim):
            return [(None if label else 0, why or f"nothing says how {what} is brought") for _, why in looked]
        relayed = bool(claim.head.shift) or any(
            self.weights.wire(each).head for each in wire.reads if each != self.weights.token
        )
        carried = self._relayed(claim, wire) if relayed else self.seen(wire.reads).known(claim.of)
        column: list[KnownOrNot] = []
        for places, why in looked:
            for j in () if relayed else places:
                why = why or self.together(f"{what} carries", wire.reads, j)  # noqa: PLW2901
            doubt = why or next((doubt for _, doubt in (carried[j] for j in places) if doubt), "")
            column.append((_mean([carried[j][0] for j in places], label), doubt))
        return column

    def _relayed(self, claim: claims.MeanClaim, wire: Wire) -> Sequence[KnownOrNot]:
        """Return what another head has brought to each position."""
        source = next((each for each in sorted(wire.reads) if _of_mean(self.weights.claims[each]) == claim.of), None)
        if source is None:
            nothing = None if claims.labelled(claim) else 0
            return [(nothing, "nothing says what is brought on from another head")] * len(self.tokens)
        return [self.held(source, j) for j in range(len(self.tokens))]

    def _looked(self, head: WiredHead) -> Sequence[tuple[Sequence[int], str]]:
        """Return the positions that a head attends to from each."""
        if head not in self._places:
            asks, offers = (f"the head {head.name!r} {does}" for does in ("asks for", "finds"))
            places = range(len(self.tokens))
            asked = [self.together(f"query {head.attends}", head.query, p, asks) for p in places]
            offered = [self.together(f"key {head.attends}", head.key, p, offers) for p in places]
            doubt = next(filter(None, offered), "")
            looked = self._looking(head)
            self._places[head] = [(j, why or doubt or own) for why, (j, own) in zip(asked, looked, strict=True)]
        return self._places[head]

    def _looking(self, head: WiredHead) -> Sequence[tuple[Sequence[int], str]]:
        claim, n = claims.head_claim(head.attends), len(self.tokens)
        if claim is None:
            return [((p,), f"nothing says where the head {head.name!r} looks") for p in range(n)]
        if claim.kind == "all":
            return [(in_sight(claim.mask, p, n), "") for p in range(n)]
        seen = self.seen({*head.query, *head.key})
        whole_bits = [each for each in head.key if isinstance(self.weights.claims[each], claims.BitClaim)]
        node = self.weights.nodes.get(claim.node)
        if isinstance(node, Since | Until) and len(whole_bits) == 1 and self.weights.token not in head.key:
            seen.step = whole_bits[0], self._says_step(whole_bits[0], node)
        past = f"nothing says where the head {head.name!r} looks, past another head" if claim.shift else ""
        return [((j,), why or past) for j, why in seen.places(claim)]

    def _says_step(self, what: str, node: Since | Until) -> bool:
        """Return whether a bit is 1 where a step continues, as it is in runs; otherwise it is 0 there."""
        steps = self.weights.steps
        if what not in steps:
            same = 0
            for word in self.weights.words:
                run, right = LogicRun(self.weights, word, {}), evaluate([node.left, node.right], word)
                for p in range(1, len(word) + 1):
                    on = bool(right[node.left][p - 1]) and not right[node.right][p - 1]
                    same += 1 if bool(run.held(what, p)[0]) == on else -1
            steps[what] = same > 0
        return steps[what]

    def answered(self, output: Output, i: int) -> CausalValue:
        node, reads = self.weights.answered[output], self.weights.outputs[output.name]
        seen = self.seen(reads).seen
        seen.why = ""
        value: CausalValue = seen.value(node, i)
        why = seen.why or self.together(f"output {output.name}", reads, i)
        if node.kind == "number" and output.labels is None and self.tokens[i] in ENDS and why:
            value = 0
        self.doubt(why)
        return shown_value(value, node.kind)


def _is_feature(claim: SubspaceClaim) -> bool:
    return isinstance(claim, claims.GivenClaim) and claim.what != "token"


def _is_number(claim: SubspaceClaim) -> bool:
    (*_, last) = claims.nested(claim)
    return isinstance(last, claims.DividedClaim) or (
        isinstance(last, claims.NodeClaim) and last.what not in ("label", "found")
    )


def _unset(claim: SubspaceClaim) -> str:
    """Return why a variable cannot be set."""
    if isinstance(claim, claims.MeanClaim) and claim.head.kind == "all":
        return "it is a mean over positions"
    if isinstance(claim, claims.MeanClaim | claims.InsideClaim):
        return "it is what a head brings, before it is rounded"
    return "it is a share" if isinstance(claim, claims.ShareClaim) else "it is one of several vectors of one number"


def _clamped(value: CausalValue) -> int | Fraction:
    return whole(min(max(2 * (Fraction(value or 0) - Fraction(1, 4)), Fraction(0)), Fraction(1)))


def _mean(values: Sequence[CausalValue], labels: bool) -> CausalValue:
    if not labels:
        return whole(Fraction(sum(Fraction(value) for value in values), len(values)))
    total: dict[str, Fraction] = {}
    for value in values:
        for label, share in votes_of(value).items():
            total[label] = total.get(label, Fraction(0)) + Fraction(share) / len(values)
    return settled(total)


def _of_mean(claim: SubspaceClaim | None) -> SubspaceClaim | None:
    while isinstance(claim, claims.InsideClaim):
        claim = claim.of
    return claim.of if isinstance(claim, claims.MeanClaim) else claim


_LAST: list[LogicWeights] = []


def _learned(program: LogicProgram, decoder: Decoder) -> LogicWeights:
    weights = LogicWeights(program, decoder)
    weights.learn()
    return weights


def causal_model(program: LogicProgram, word: str, decoder: Decoder) -> WiredCausal:
    """Return the causal model of the run of a formula's weights on `word`.

    Raises:
        InputError: if it is not a word over its alphabet.
        CompileError: if the weights have an output that is not a part of it.
    """
    tokens = word_of(program, word)
    weights = latest(_LAST, program, decoder, lambda: _learned(program, decoder))
    aliases, opposites, fixed = weights.names_of_nodes()
    started = partial(LogicRun, weights, tokens)
    return WiredCausal(weights, weights.variables(), aliases, started, fixed, opposites)
