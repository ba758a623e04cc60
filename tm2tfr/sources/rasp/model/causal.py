"""The causal model of a RASP program's run: s-ops by what they are made of, at the positions that selectors select.

See `tm2tfr.contract.wired`: an s-op of which nothing that is read says anything is computed by its own definition, down to
the tokens. The variables are, by what subspaces hold (see `tm2tfr.sources.rasp.model.claims`): ``token``; ``value
s12``, the label of an s-op, or of the kind that values of several are of; ``picked s12`` and ``mean s12 K L``, what an
aggregate brings from the positions that its head attends to, a label, or K (mean - L); ``found c7``, whether the selector
selects anything. ``steps`` and ``share`` are computed from these, can be seen and not set.

There is also a doubt where an s-op has a value that it has in no run, or a selector selects nothing that always selects
something.

Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tm2tfr.base.errors import CompileError
from tm2tfr.contract.modelled import CausalValue, Settings
from tm2tfr.contract.wired import KnownOrNot, WiredCausal, WiredRun, latest, plain
from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.library import word_of
from tm2tfr.sources.rasp.model.claims import Gaze, look, s_ops
from tm2tfr.sources.rasp.model.weights import FIXED, RaspWeights, among
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.truth import plain_value
from tm2tfr.sources.rasp.values import BINARY, CONVERSIONS, RELATIONS, UNARY, ValueRefused, number, shown_value
from tm2tfr.transformer.listing import WiredHead
from tm2tfr.transformer.outputs import Output
from tm2tfr.transformer.weights import Decoder


class RaspRun(WiredRun):
    """The values of a run, each computed when it is asked for."""

    def __init__(self, about: RaspWeights, word: Word, settings: Settings) -> None:
        super().__init__(tuple(map(shown_atom, word)), settings)
        self._about = about
        self._looked: dict[tuple[str, int], tuple[tuple[int, ...], str]] = {}

    def learn(self) -> None:
        """Compute every variable at every position."""
        for what in self._about.spaces:
            if what not in FIXED:
                for i in range(len(self.tokens)):
                    self.held(what, i)

    def computed(self, what: str, i: int) -> KnownOrNot:
        kind, _, rest = what.partition(" #")[0].partition(" ")
        return _KINDS[kind](self, what, rest, i)

    def answered(self, output: Output, i: int) -> KnownOrNot:
        sop = self._about.answered[output]
        value, why = self.seen(sop, i, self._about.outputs[output.name])
        if output.labels is not None or isinstance(value, str):
            return shown_value(value, self._about.numeric[sop]), why
        return plain_value(value), why

    # ── s-ops as they are seen ──────────────────────────────────────────────────────────────────────────────
    def seen(self, sop: rasp.SOp, i: int, reads: frozenset[str] | set[str], *, but: str = "") -> KnownOrNot:  # noqa: PLR0911
        """Return the value of an s-op at position `i` for what reads these variables; `but` is not one of them."""
        about = self._about
        node = about.same[sop]
        known = about.atoms[node]
        if len(known) == 1:
            return next(iter(known.values())), ""
        name = among(reads, f"value s{node.number}")
        if name is not None and name != but:
            return self._atom(node, *self.held(name, i), i)
        if isinstance(node, rasp.Tokens):
            token, why = self.held("token", i)
            return self._allowed(node, CONVERSIONS[node.conversion](self._token(token)), why, i)
        if isinstance(node, rasp.Indices):
            return i, ""
        if isinstance(node, rasp.Constant):
            return node.value, ""
        if isinstance(node, rasp.Aggregate):
            return self._brought(node, i, reads)
        return self._applied(node, i, reads)

    def _applied(self, node: rasp.SOp, i: int, reads: frozenset[str] | set[str]) -> KnownOrNot:
        if not isinstance(node, rasp.Elementwise):
            raise TypeError(f"{node!r} is not an s-op of a program")
        found = [self.seen(argument, i, reads) for argument in node.arguments]
        why = next((why for _, why in found if why), "")
        values = [value for value, _ in found]
        try:
            value = _applied(node, values)
        except (ValueRefused, TypeError, KeyError):
            return next(iter(self._about.atoms[node].values())), why or f"{_name(node)} has no value at {i} then"
        return self._allowed(node, value, why, i)

    def _allowed(self, node: rasp.SOp, value: rasp.Atom, why: str, i: int) -> KnownOrNot:
        """Return a value of an s-op, with a doubt if it has it in no run."""
        text = shown_value(value, self._about.numeric[node])
        if not why and text not in self._about.atoms[node]:
            why = f"{_name(node)} is {text} at {i} then, as in no run"
        return value, why

    def _atom(self, node: rasp.SOp, label: CausalValue, why: str, i: int) -> KnownOrNot:
        known = self._about.atoms[node]
        if isinstance(label, str) and label in known:
            return known[label], why
        nothing = f"{_name(node)} has no value at {i} then, as in no run"
        return next(iter(known.values())), why or nothing

    def _token(self, text: CausalValue) -> rasp.Atom:
        return next((token for token in self._about.program.alphabet if shown_atom(token) == text), text)

    def _brought(self, node: rasp.Aggregate, i: int, reads: frozenset[str] | set[str]) -> KnownOrNot:  # noqa: PLR0911
        """Return an aggregate as it is seen: what is brought, or the default where nothing is found."""
        about, n = self._about, node.number
        found = among(reads, f"found c{node.selector.number}")
        doubt = ""
        if found is not None:
            there, doubt = self.held(found, i)
            if there == 0:
                return node.default, doubt
            if there != 1:
                return node.default, doubt or f"{found} is {there} at {i} then, as in no run"
        if (picked := among(reads, f"picked s{n}")) is not None:
            label, why = self.held(picked, i)
            texts = {shown_value(v, about.numeric[node.values]): v for v in about.atoms[about.same[node.values]].values()}
            if isinstance(label, str) and label in texts:
                return self._allowed(node, texts[label], why or doubt, i)
            return node.default, why or doubt or f"what {_name(node)} picks at {i} is no value then, as in no run"
        mean = among(reads, f"mean s{n} ")
        if (steps := among(reads, f"steps s{n}")) is not None:
            mean = among(about.wires[steps].reads, f"mean s{n} ")
        if mean is not None:
            carried, why = self.held(mean, i)
            scale, least = map(Fraction, mean.partition(" #")[0].split(" ")[2:])
            value = carried / scale + least
            offered = [number(each) for each in about.atoms[about.same[node.values]].values()]
            if not min(offered) <= value <= max(offered):
                why = why or f"{_name(node)} is no mean of values at {i} then"
            return self._allowed(node, plain_value(value), why or doubt, i)
        if found is not None:
            (value, *_) = about.atoms[about.same[node.values]].values()
            return value, doubt
        return node.default, f"nothing says how {_name(node)} is known at {i}"

    # ── variables ───────────────────────────────────────────────────────────────────────────────────────────
    def _of_token(self, what: str, rest: str, i: int) -> KnownOrNot:
        return self.tokens[i], ""

    def _of_value(self, what: str, rest: str, i: int) -> KnownOrNot:
        """A table: a label of an s-op, or of the kind that several values are of; what comes together has to occur."""
        about, reads = self._about, self._about.wires[what].reads
        side, _, of = rest.partition(" ")
        if side in ("keys", "queries"):
            text, why = self._text(of.partition(" of ")[2], i, reads)
            label: CausalValue = dict(about.spaces[what].groups).get(text)
        else:
            sop = about.sops[int(rest[1:])]
            value, why = self.seen(sop, i, reads, but=what)
            label = shown_value(value, about.numeric[sop])
        return label, why or self._together(what, reads, i)

    def _together(self, what: str, reads: set[str], i: int) -> str:
        """Return a doubt if what is read does not come together in any run."""
        found = tuple(
            i if name == "position" else plain(self.held(name, i)[0]) for name in sorted(reads) if name not in _LINES
        )
        if not self._about.seldom(what, found):
            return ""
        return f"what {self._about.spaces[what].name!r} is computed from at {i} comes together in no run"

    def _of_picked(self, what: str, rest: str, i: int) -> KnownOrNot:
        node = self._aggregate(rest)
        places, why = self._places(what, i)
        shares: dict[str, Fraction] = {}
        for j in places:
            value, doubt = self.seen(node.values, j, self._about.wires[what].reads)
            why = why or doubt
            label = shown_value(value, self._about.numeric[node.values])
            shares[label] = shares.get(label, Fraction(0)) + Fraction(1, len(places))
        return (next(iter(shares)) if len(shares) == 1 else shares), why

    def _of_mean(self, what: str, rest: str, i: int) -> KnownOrNot:
        name, *numbers = rest.split(" ")
        node, (scale, least) = self._aggregate(name), map(Fraction, numbers)
        places, why = self._places(what, i)
        total = Fraction(0)
        for j in places:
            value, doubt = self.seen(node.values, j, self._about.wires[what].reads)
            why = why or doubt
            total += scale * (number(value) - least)
        return total / len(places), why

    def _of_steps(self, what: str, rest: str, i: int) -> KnownOrNot:
        mean = among(self._about.wires[what].reads, f"mean {rest} ")
        if mean is None:
            return {}, f"nothing says how {what} is known at {i}"
        x, why = self.held(mean, i)
        found: dict[str, Fraction] = {}
        for label in self._about.spaces[what].labels or ():
            start, end = map(Fraction, label.split(".."))
            if share := min(max((x - start) / (end - start), Fraction(0)), Fraction(1)):
                found[label] = share
        return found, why

    def _of_share(self, what: str, rest: str, i: int) -> KnownOrNot:
        names = rest.partition(" of ")[2] if " of " in rest else ""
        places, why = self._places(what, i)
        space, found = self._about.spaces[what], dict[str, Fraction]()
        reads = self._about.wires[what].reads
        kind = among(reads, f"value keys {rest.split(' ')[1]} of {names}")
        for j in places:
            text, doubt = self.held(kind, j) if kind is not None else self._text(names, j, reads)
            why = why or doubt
            for value, label in space.groups:
                if value == text:
                    found[label] = found.get(label, Fraction(0)) + Fraction(1, len(places))
        return found, why

    def _of_found(self, what: str, rest: str, i: int) -> KnownOrNot:
        """Whether the positions attended to satisfy all clusters: what is more than 1/2 of 1 short counts as 0."""
        reads = self._about.wires[what].reads
        shares = sorted(name for name in reads if name.startswith(f"share {rest} "))
        if not shares:
            return 0, f"nothing says how {what} is known at {i}"
        head = self._about.wires[shares[0]].head
        gaze = None if head is None else look(head.attends)
        if head is None or gaze is None:
            return 0, f"nothing says how {what} is known at {i}"
        places, why = self._places(shares[0], i)
        carried = frozenset(name for share in shares for name in self._about.wires[share].reads)
        total = Fraction(0)
        for cluster in gaze.clusters:
            for j in places:
                holds, doubt = self._holds(cluster, i, j, frozenset(reads), carried)
                why = why or doubt
                total += Fraction(int(holds), len(places))
        over = total - len(gaze.clusters) + Fraction(1, 2)
        found = min(max(4 * over, Fraction(0)), Fraction(1))
        return plain_value(found), why

    def _aggregate(self, name: str) -> rasp.Aggregate:
        node = self._about.sops[int(name[1:])]
        if not isinstance(node, rasp.Aggregate):
            raise TypeError(f"{node!r} is not an aggregate")
        return node

    def _text(self, names: str, i: int, reads: frozenset[str] | set[str]) -> KnownOrNot:
        """Return the values of listed s-ops as text, separated by commas."""
        texts, why = list[str](), ""
        for n in s_ops(names) or ():
            if n is None:
                token, doubt = self.held("token", i)
                texts.append(str(token))
            else:
                value, doubt = self.seen(self._about.sops[n], i, reads)
                texts.append(shown_value(value, self._about.numeric[self._about.sops[n]]))
            why = why or doubt
        return ",".join(texts), why

    # ── where heads look ────────────────────────────────────────────────────────────────────────────────────
    def _places(self, what: str, i: int) -> tuple[tuple[int, ...], str]:
        """Return the positions that the head of a variable attends to from position `i`."""
        head = self._about.wires[what].head
        gaze = None if head is None else look(head.attends)
        if head is None or gaze is None:
            raise TypeError(f"no head brings {what}")
        if (head.attends, i) not in self._looked:
            self._looked[head.attends, i] = self._attended(head, gaze, i)
        return self._looked[head.attends, i]

    def _attended(self, head: WiredHead, gaze: Gaze, i: int) -> tuple[tuple[int, ...], str]:
        visible = range(len(self.tokens) if gaze.ahead else i + 1)
        why, counts = "", []
        for j in visible:
            count = 0
            for cluster in gaze.clusters:
                holds, doubt = self._holds(cluster, i, j, head.query, head.key)
                why = why or doubt
                count += holds
            counts.append(count)
        most = max(counts)
        if most < len(gaze.clusters):
            if self._about.learning:
                self._about.empties.add(gaze.selector)
            elif gaze.selector not in self._about.empties:
                why = why or f"the selector c{gaze.selector} selects nothing from {i} then, as in no run"
        return tuple(j for j, count in zip(visible, counts, strict=True) if count == most), why

    def _holds(
        self, cluster: Sequence[tuple[int, bool]], i: int, j: int, queries: frozenset[str], keys: frozenset[str]
    ) -> tuple[bool, str]:
        """Return whether the literals of a cluster are as wanted, from position `i` at position `j`."""
        claim = ",".join(f"{'' if wanted else '!'}c{n}" for n, wanted in cluster)
        of_key, at_key = self._kind("keys", claim, keys, j)
        of_query, at_query = self._kind("queries", claim, queries, i)
        why = at_key or at_query
        if of_key is None or of_query is None:
            return False, why
        for n, wanted in cluster:
            true, doubt = self._selects(self._about.selectors[n], i, j, (queries, of_query), (keys, of_key))
            why = why or doubt
            if true != wanted:
                return False, why
        return True, why

    def _kind(
        self, side: str, claim: str, reads: frozenset[str], i: int
    ) -> tuple[Mapping[rasp.SOp, rasp.Atom] | None, str]:
        """Return the values that stand for the kind that is held of those that a cluster compares; None: they satisfy none.

        Without a variable that holds it there are none, and each s-op is seen as always.
        """
        about = self._about
        found = among(reads, f"value {side} {claim} of ")
        if found is None:
            return {}, ""
        label, why = self.held(found, i)
        if not isinstance(label, str):
            return None, why
        named = [
            about.same[about.sops[n]] for n in s_ops(found.partition(" #")[0].partition(" of ")[2]) or () if n is not None
        ]
        texts = label.split(",")
        if len(named) < len(texts):  # the token is one of them
            return {}, why or f"nothing says what {label} stands for"
        values = {sop: about.atoms[sop].get(text) for sop, text in zip(named, texts, strict=True)}
        known = {sop: value for sop, value in values.items() if value is not None}
        return known, why or ("" if len(known) == len(values) else f"nothing says what {label} stands for")

    def _selects(
        self,
        selector: rasp.Selector,
        i: int,
        j: int,
        queries: tuple[frozenset[str], Mapping[rasp.SOp, rasp.Atom]],
        keys: Any,
    ) -> tuple[bool, str]:
        if isinstance(selector, rasp.Combined):
            parts = [self._selects(part, i, j, queries, keys) for part in selector.parts]
            true = [holds for holds, _ in parts]
            why = next((why for _, why in parts if why), "")
            if selector.operator == "not":
                return not true[0], why
            return (all(true) if selector.operator == "and" else any(true)), why
        if not isinstance(selector, rasp.Select):
            raise TypeError(f"{selector!r} is not a selector of a program")
        (key, of_key), (query, of_query) = self._compared(selector.key, j, keys), self._compared(selector.query, i, queries)
        try:
            return bool(RELATIONS[selector.relation](key, query)), of_key or of_query
        except (ValueRefused, TypeError):
            return False, of_key or of_query or f"c{selector.number} has no value from {i} at {j} then"

    def _compared(self, sop: rasp.SOp, i: int, seen: tuple[frozenset[str], Mapping[rasp.SOp, rasp.Atom]]) -> KnownOrNot:
        reads, kinds = seen
        node = self._about.same[sop]
        return (kinds[node], "") if node in kinds else self.seen(sop, i, reads)


_KINDS: Mapping[str, Callable[[RaspRun, str, str, int], KnownOrNot]] = {
    "token": RaspRun._of_token,
    "value": RaspRun._of_value,
    "picked": RaspRun._of_picked,
    "mean": RaspRun._of_mean,
    "steps": RaspRun._of_steps,
    "share": RaspRun._of_share,
    "found": RaspRun._of_found,
}
_LINES = ("1", "i", "i^2")


def _name(sop: rasp.SOp) -> str:
    return sop.name or f"s{sop.number}"


def _applied(node: rasp.Elementwise, values: Sequence[rasp.Atom]) -> rasp.Atom:
    if node.operator == "if":
        then, condition, other = values
        return then if condition else other
    if node.operator in ("in", "table"):
        known = dict(node.entries)
        return values[0] in known if node.operator == "in" else known[values[0]]
    found: rasp.Atom = UNARY[node.operator](*values) if len(values) == 1 else BINARY[node.operator](*values)
    return found


_LAST: list[RaspWeights] = []


def _learned(program: Program, decoder: Decoder) -> RaspWeights:
    about = RaspWeights(program, decoder)
    try:
        for stages in about.evaluated():
            RaspRun(about, stages.word, {}).learn()
    except (KeyError, TypeError) as error:
        what = f"{program.name}: the weights are not wired as compiled ones are (what brings {error.args[0]!r}?)"
        raise CompileError(f"{what}: see what is wrong with them with 'tm2tfr check'") from error
    return about


def causal_model(program: Program, word: str, decoder: Decoder) -> WiredCausal:
    """Return the causal model of the run of a program's weights on `word`.

    Raises:
        InputError, Undefined: if it is not an input of the program, or the program is undefined on it.
        CompileError: for weights for inputs of any length, and those that are not wired as compiled ones are.
    """
    tokens = word_of(program, word)
    evaluate([program.choosing(output.name).sop for output in decoder.outputs], tokens)
    about = latest(_LAST, program, decoder, lambda: _learned(program, decoder))
    variables = about.variables()
    named = {sop.name: f"value s{about.same[sop].number}" for sop in about.sops.values() if sop.name}
    aliases = {name: value for name, value in named.items() if value in about.spaces and name not in variables}
    return WiredCausal(about, variables, aliases | {"tokens": "token"}, lambda settings: RaspRun(about, tokens, settings))
