"""The causal model of a RASP program's run: s-ops by what they are made of, at the positions that selectors select.

See `tm2tfr.contract.wired`: an s-op that no variable read holds is computed by its own definition, down to the tokens.
Variables are what subspaces are claimed to hold, see `tm2tfr.sources.rasp.model.claims`; ``steps`` and ``share`` are
computed from others, and can be seen and not set.

There is also a doubt where an s-op has a value that it has in no run, or a selector selects nothing that always selects
something.

Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

from tm2tfr.base.errors import CompileError
from tm2tfr.contract.modelled import CausalValue, Settings
from tm2tfr.contract.wired import WiredCausal, WiredRun, latest, plain
from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.library import word_of
from tm2tfr.sources.rasp.model.claims import (
    ClassOf,
    FoundOf,
    Gaze,
    GivenOf,
    Literals,
    MeanOf,
    PickedOf,
    SharesOf,
    SopNumbers,
    StepsOf,
    ValueOf,
    look,
)
from tm2tfr.sources.rasp.model.columns import thresholds
from tm2tfr.sources.rasp.model.spread import spread
from tm2tfr.sources.rasp.model.weights import RaspReads, RaspWeights
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.truth import plain_value, refuse_loops
from tm2tfr.sources.rasp.values import BINARY, CONVERSIONS, RELATIONS, UNARY, ValueRefused, number
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.listing import WiredHead
from tm2tfr.transformer.weights import Decoder

_Atoms = Mapping[rasp.SOp, rasp.Atom]
_Side = tuple[RaspReads, _Atoms]
"""What a query or a key is computed from: variables, and the values that the class of it stands for."""


class RaspRun(WiredRun):
    """The values of a run, each computed on first use."""

    def __init__(self, about: RaspWeights, word: Word, settings: Settings) -> None:
        super().__init__(tuple(map(shown_atom, word)), settings)
        self._about = about
        self._looked: dict[tuple[str, int], tuple[tuple[int, ...], str]] = {}

    def learn(self) -> None:
        """Compute every variable at every position."""
        for what in self._about.spaces:
            if what not in self._about.fixed:
                for i in range(len(self.tokens)):
                    self.held(what, i)
        for output in self._about.answered:
            for i in range(len(self.tokens)):
                self.noted(partial(self.answered, output, i))

    def answered(self, output: Output, i: int) -> CausalValue:
        sop = self._about.answered[output]
        value = self.seen(sop, i, self._about.reads(self._about.outputs[output.name]))
        return self._about.shown(sop, value) if output.labels is not None or isinstance(value, str) else plain_value(value)

    # ── s-ops as they are seen
    def seen(self, sop: rasp.SOp, i: int, reads: RaspReads, *, but: str = "") -> rasp.Atom:  # noqa: PLR0911
        """Return the value of an s-op at position `i` for what reads these variables; `but` is not one of them."""
        node = self._about.same[sop]
        if self._about.learning and not but:
            self._about.readers.setdefault(node, {})[reads] = None
        known = self._about.atoms[node]
        if len(known) == 1:
            return next(iter(known.values()))
        name = reads.held.get(ValueOf(node.number))
        if name is not None and name != but:
            label = self.take(name, i)
            if isinstance(label, str) and label in known:
                return known[label]
            self.doubt(f"{self._about.names[node]} has no value at {i} then, as in no run")
            return next(iter(known.values()))
        if isinstance(node, rasp.Tokens):
            return self._allowed(node, CONVERSIONS[node.conversion](self._about.tokens[self.take(self._about.token, i)]), i)
        if isinstance(node, rasp.Indices):
            return i
        if isinstance(node, rasp.Constant):
            return node.value
        if isinstance(node, rasp.Aggregate):
            return self._brought(node, i, reads)
        return self._applied(node, i, reads)

    def _applied(self, node: rasp.SOp, i: int, reads: RaspReads) -> rasp.Atom:
        if not isinstance(node, rasp.Elementwise):
            raise TypeError(f"{node!r} is not an s-op of a program")
        values = [self.seen(argument, i, reads) for argument in node.arguments]
        try:
            value = _applied(node, values)
        except (ValueRefused, TypeError, KeyError):
            self.doubt(f"{self._about.names[node]} has no value at {i} then")
            return next(iter(self._about.atoms[node].values()))
        return self._allowed(node, value, i)

    def _allowed(self, node: rasp.SOp, value: rasp.Atom, i: int) -> rasp.Atom:
        """Return a value of an s-op, with a doubt if it has it in no run."""
        text = self._about.shown(node, value)
        if text not in self._about.atoms[node]:
            self.doubt(f"{self._about.names[node]} is {text} at {i} then, as in no run")
        return value

    def _brought(self, node: rasp.Aggregate, i: int, reads: RaspReads) -> rasp.Atom:
        """Return an aggregate as it is seen: what is brought, or the default where nothing is found."""
        atoms, n = self._about.atoms[self._about.same[node.values]], node.number
        found = reads.held.get(self._about.known.found(node.selector))
        if found is not None and (there := self.take(found, i)) != 1:
            if there != 0:
                self.doubt(f"{found} is {there} at {i} then, as in no run")
            return node.default
        if (picked := reads.held.get(PickedOf(n))) is not None:
            label = self.take(picked, i)
            texts = {self._about.shown(node.values, value): value for value in atoms.values()}
            if isinstance(label, str) and label in texts:
                return self._allowed(node, texts[label], i)
            self.doubt(f"what {self._about.names[node]} picks at {i} is not a value then, as in no run")
            return node.default
        mean = reads.means.get(n)
        if (steps := reads.held.get(StepsOf(n))) is not None:
            mean = self._about.reads(self._about.wires[steps].reads).means.get(n)
        if mean is not None:
            what, claim = mean
            value = self.take(what, i) / claim.scale + claim.least
            offered = [number(each) for each in atoms.values()]
            if not min(offered) <= value <= max(offered):
                self.doubt(f"{self._about.names[node]} is not a mean of values at {i} then")
            return self._allowed(node, plain_value(value), i)
        brought = [value for value in self._about.atoms[self._about.same[node]].values() if value != node.default]
        if found is not None and len(brought) <= 1:  # which needs no head of its own, as it is always the same
            return brought[0] if brought else node.default
        self.doubt(f"nothing says how {self._about.names[node]} is known at {i}")
        return node.default

    # ── variables
    def computed(self, what: str, i: int) -> CausalValue:  # noqa: PLR0911
        about, claim = self._about, self._about.claims[what]
        if isinstance(claim, GivenOf):
            return self.tokens[i]
        reads, space = about.reads(about.wires[what].reads), about.spaces[what]
        match claim:
            case ValueOf():
                sop = about.sops[claim.sop]
                label: CausalValue = about.shown(sop, self.seen(sop, i, reads, but=what))
                return self._together(what, label, reads, i)
            case ClassOf():
                text = self._text(claim.sops, i, reads)
                return self._together(what, dict(space.groups).get(text), reads, i)
            case PickedOf():
                values = about.known.aggregate(claim.sop).values
                shares = self._shares([about.shown(values, self.seen(values, j, reads))] for j in self._places(what, i))
                return next(iter(shares)) if len(shares) == 1 else shares
            case MeanOf():
                values, places = about.known.aggregate(claim.sop).values, self._places(what, i)
                scaled = [claim.scale * (number(self.seen(values, j, reads)) - claim.least) for j in places]
                return sum(scaled, Fraction(0)) / len(places)
            case StepsOf():
                return self._steps(what, reads, claim, i)
            case SharesOf():
                return self._shares(self._classes(what, claim, reads, i))
            case FoundOf():
                return self._found(what, reads, claim, i)
        raise KeyError(what)

    def _together(self, what: str, value: CausalValue, reads: RaspReads, i: int) -> CausalValue:
        """Return the value of a table, with a doubt if what it reads does not come together in any run."""
        if not self.why:
            given = {name: self._about.spaces[name].holds for name in reads.names if name in self._about.fixed}
            names = [name for name in reads.names if given.get(name) in (None, "position")]
            found = tuple(i if name in given else plain(self.held(name, i)[0]) for name in names)
            if self._about.seldom(what, found):
                self.doubt(f"what {what!r} is computed from at {i} comes together in no run")
        return value

    def _steps(self, what: str, reads: RaspReads, claim: StepsOf, i: int) -> CausalValue:
        if claim.sop not in reads.means:
            self.doubt(f"nothing says how {what} is known at {i}")
            return {}
        x = self.take(reads.means[claim.sop][0], i)
        reached = {label: (x - a) / (b - a) for label, (a, b) in thresholds(self._about.spaces[what]).items()}
        return {label: min(share, Fraction(1)) for label, share in reached.items() if share > 0}

    def _classes(self, what: str, claim: SharesOf, reads: RaspReads, i: int) -> Iterator[list[str]]:
        """Yield the labels of the classes of each key that a head attends to."""
        kind = reads.held.get(ClassOf("keys", claim.cluster, claim.sops))
        for j in self._places(what, i):
            text = self._text(claim.sops, j, reads) if kind is None else self.take(kind, j)
            yield [label for value, label in self._about.spaces[what].groups if value == text]

    def _shares(self, keys: Iterator[list[str]]) -> dict[str, Fraction]:
        """Return the share of each label among the keys."""
        every = list(keys)
        found: dict[str, Fraction] = {}
        for label in (label for labels in every for label in labels):
            found[label] = found.get(label, Fraction(0)) + Fraction(1, len(every))
        return found

    def _found(self, what: str, reads: RaspReads, claim: FoundOf, i: int) -> CausalValue:
        """Return whether the positions attended to satisfy all clusters: what is more than 1/2 of 1 short counts as 0."""
        gaze = self._about.known.gazes[claim.selector]
        if not gaze.clusters:  # it compares nothing, so it selects all positions, and no share of them is brought
            return 1
        shares = [name for own, name in reads.held.items() if isinstance(own, SharesOf) and own.selector == claim.selector]
        if not shares:
            self.doubt(f"nothing says how {what} is known at {i}")
            return 0
        places = self._places(shares[0], i)
        carried = self._about.reads({name for share in shares for name in self._about.wires[share].reads})
        holds = sum(self._holds(cluster, i, j, reads, carried) for cluster in gaze.clusters for j in places)
        over = Fraction(holds, len(places)) - len(gaze.clusters) + Fraction(1, 2)
        return plain_value(min(max(4 * over, Fraction(0)), Fraction(1)))

    def _text(self, sops: SopNumbers, i: int, reads: RaspReads) -> str:
        """Return the values of s-ops as text, separated by commas."""
        own = self._about.sops
        return ",".join(
            str(self.take(self._about.token, i)) if n is None else self._about.shown(own[n], self.seen(own[n], i, reads))
            for n in sops
        )

    # ── where heads look
    def _places(self, what: str, i: int) -> tuple[int, ...]:
        """Return the positions that the head of a variable attends to from position `i`."""
        head = self._about.wires[what].head
        gaze = None if head is None else look(head.attends)
        if head is None or gaze is None:
            raise TypeError(f"no head brings {what}")
        if (head.attends, i) not in self._looked:
            self._looked[head.attends, i] = self.noted(lambda: self._attended(head, gaze, i))
        places, why = self._looked[head.attends, i]
        self.doubt(why)
        return places

    def _attended(self, head: WiredHead, gaze: Gaze, i: int) -> tuple[int, ...]:
        visible, about = range(len(self.tokens) if gaze.ahead else i + 1), self._about
        queries, keys = about.reads(head.query), about.reads(head.key)
        counts = [sum(self._holds(cluster, i, j, queries, keys) for cluster in gaze.clusters) for j in visible]
        most = max(counts)
        if most < len(gaze.clusters):
            if about.learning:
                about.empties.add(gaze.selector)
            elif gaze.selector not in about.empties:
                name = about.names[about.selectors[gaze.selector]]
                self.doubt(f"the selector {name} selects nothing from {i} then, as in no run")
        return tuple(j for j, count in zip(visible, counts, strict=True) if count == most)

    def _holds(self, cluster: Literals, i: int, j: int, queries: RaspReads, keys: RaspReads) -> bool:
        """Return whether the literals of a cluster are as wanted, from position `i` at position `j`."""
        of_key, of_query = self._class("keys", cluster, keys, j), self._class("queries", cluster, queries, i)
        if of_key is None or of_query is None:
            return False
        query, key = (queries, of_query), (keys, of_key)
        return all(self._selects(self._about.selectors[n], i, j, query, key) == wanted for n, wanted in cluster)

    def _class(self, side: str, cluster: Literals, reads: RaspReads, i: int) -> _Atoms | None:
        """Return the values that stand for the class of those that a cluster compares; None: they satisfy no cluster.

        Where no variable holds the class there are no such values, and each s-op is seen as always.
        """
        about, known = self._about, reads.classes.get((side, cluster))
        if known is None:
            return {}
        what, sops = known
        label = self.take(what, i)
        if not isinstance(label, str):
            return None
        named = [about.same[about.sops[n]] for n in sops if n is not None]
        texts = label.split(",")
        if len(named) < len(texts):  # the token is one of them
            self.doubt(f"nothing says what {label} stands for")
            return {}
        values = {sop: about.atoms[sop][text] for sop, text in zip(named, texts, strict=True) if text in about.atoms[sop]}
        if len(values) < len(named):
            self.doubt(f"nothing says what {label} stands for")
        return values

    def _selects(self, selector: rasp.Selector, i: int, j: int, queries: _Side, keys: _Side) -> bool:
        if isinstance(selector, rasp.Combined):
            parts = [self._selects(part, i, j, queries, keys) for part in selector.parts]
            return not parts[0] if selector.operator == "not" else (all if selector.operator == "and" else any)(parts)
        if not isinstance(selector, rasp.Select):
            raise TypeError(f"{selector!r} is not a selector of a program")
        key, query = self._compared(selector.key, j, keys), self._compared(selector.query, i, queries)
        try:
            return bool(RELATIONS[selector.relation](key, query))
        except (ValueRefused, TypeError):
            self.doubt(f"{self._about.names[selector]} has no value from {i} at {j} then")
            return False

    def _compared(self, sop: rasp.SOp, i: int, side: _Side) -> rasp.Atom:
        reads, values = side
        node = self._about.same[sop]
        return values[node] if node in values else self.seen(sop, i, reads)


def _applied(node: rasp.Elementwise, values: Sequence[rasp.Atom]) -> rasp.Atom:
    if node.operator == "if":
        then, condition, other = values
        return then if condition else other
    if node.operator in ("in", "table"):
        known = dict(node.entries)
        return values[0] in known if node.operator == "in" else known[values[0]]
    return UNARY[node.operator](*values) if len(values) == 1 else BINARY[node.operator](*values)


_LAST: list[RaspWeights] = []


def _learned(program: Program, decoder: Decoder) -> RaspWeights:
    about = RaspWeights(program, decoder)
    try:
        for stages in about.evaluated():
            run = RaspRun(about, stages.word, {})
            run.learn()
            about.learned.append((stages.values, run))
    except (KeyError, TypeError) as error:
        what = f"{program.name}: the weights are not wired as compiled ones are (what brings {error.args[0]!r}?)"
        raise CompileError(f"{what}: see what is wrong with them with 'tm2tfr check'") from error
    return about


def causal_model(program: Program, word: str, decoder: Decoder) -> WiredCausal:
    """Return the causal model of the run of a program's weights on `word`.

    Raises:
        InputError, Undefined: if it is not an input of the program, or the program is undefined on it.
        CompileError: for weights for inputs of any length, with loops, and those that are not wired as compiled ones are.
    """
    refuse_loops(program, decoder, "interventions are on values")
    tokens = word_of(program, word)
    evaluate([program.choosing(output.name).sop for output in decoder.outputs], tokens)
    about = latest(_LAST, program, decoder, lambda: _learned(program, decoder))
    variables = about.variables()
    held = {claim.sop: what for what, claim in about.claims.items() if isinstance(claim, ValueOf)}
    every = {**{name: sop for name, sop in program.library.items() if sop in about.same}, **program.sops}
    known = {name: about.same[sop].number for name, sop in every.items() if sop in about.same}
    aliases = {name: held[number] for name, number in known.items() if number in held}
    aliases.setdefault("tokens", about.token)
    others = {name: sop for name, sop in every.items() if name not in (*aliases, *variables)}

    def started(settings: Settings) -> RaspRun:
        return RaspRun(about, tokens, settings)

    read_off, fixed = spread(about, others, started)
    return WiredCausal(about, variables, aliases, started, fixed, read_off=read_off)
