"""The common part of all runs of a RASP program's weights: its s-ops, their subspaces, and the values that occur."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from tm2tfr.base.errors import CompileError, Tm2tfrError
from tm2tfr.base.text.words import all_words
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.wired import WiredRun, WiredWeights
from tm2tfr.sources.rasp.evaluate import Stages, evaluate
from tm2tfr.sources.rasp.model.claims import ClassOf, GivenOf, Literals, MeanOf, RaspClaim, SopNumbers, ValueOf
from tm2tfr.sources.rasp.model.columns import RaspClaims
from tm2tfr.sources.rasp.naming import RaspNames
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.sops import Atom, SOp, Tokens, made_alike, needed
from tm2tfr.sources.rasp.values import shown_value
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

SHORT, LONG = 150, 60
"""The numbers of short inputs, and of random longer ones, that determine which values occur."""
PLACES = ("1", "i", "i^2", "position")
"""What subspaces hold that says where a position is."""
_SEEN = {"steps": "it is computed from the mean, which can be set", "share": "it is a share of what several positions have"}


class RaspReads:
    """The variables that a part of the weights reads, by their claimed contents.

    Attributes:
        names: their names.
        held: claim -> the variable.
        means: the number of an aggregate -> the variable that is its mean, and the claim of it.
        classes: ``keys`` or ``queries`` and a cluster -> the variable that holds the class of values, and their s-ops.
    """

    def __init__(self, names: Iterable[str], claims: Mapping[str, RaspClaim | None]) -> None:
        self.names = sorted(names)
        self.held: dict[RaspClaim, str] = {}
        self.means: dict[int, tuple[str, MeanOf]] = {}
        self.classes: dict[tuple[str, Literals], tuple[str, SopNumbers]] = {}
        for what in self.names:
            claim = claims[what]
            if claim is not None:
                self.held.setdefault(claim, what)
            if isinstance(claim, MeanOf):
                self.means.setdefault(claim.sop, (what, claim))
            if isinstance(claim, ClassOf):
                self.classes.setdefault((claim.side, claim.cluster), (what, claim.sops))


class RaspWeights(WiredWeights[Program]):
    """The common part of all runs of a program's weights: its s-ops, their subspaces, and the values that occur.

    Attributes:
        readers: s-op -> the variables from which it is known to each of those that read it.
        learned: what s-ops are in some runs, and the variables there.
    """

    def __init__(self, program: Program, decoder: Decoder) -> None:
        super().__init__(program, decoder, by_name=True)
        self.names = RaspNames(program)
        self.answered = {output: program.choosing(output.name).sop for output in decoder.outputs}
        self._wanted = list(self.answered.values()) or [program.sop]
        self.known = RaspClaims(needed(self._wanted), decoder)
        self.sops, self.selectors = self.known.sops, self.known.selectors
        self.claims = {what: self.known.of(space) for what, space in self.spaces.items()}
        unknown = next((what for what, claim in self.claims.items() if claim is None), None)
        if unknown is not None:
            what = f"{program.name}: nothing says how {unknown!r} depends on other variables, as in weights for any length"
            raise CompileError(f"{what}: compile it without --unbounded")
        alike = made_alike(needed(self._wanted), texts=all(isinstance(token, str) for token in program.alphabet))
        self.same = {sop: first for sop, first in alike.items() if isinstance(sop, SOp) and isinstance(first, SOp)}
        self.token = next((what for what, claim in self.claims.items() if claim == GivenOf("token")), "token")
        self.fixed = [what for what, space in self.spaces.items() if space.holds in PLACES]
        self.atoms: dict[SOp, dict[str, Atom]] = {}
        self.tokens = {shown_atom(token): token for token in reversed(program.alphabet)}
        self.empties: set[int] = set()
        self.readers: dict[SOp, dict[RaspReads, None]] = {}
        self.learned: list[tuple[Mapping[SOp, Sequence[Atom]], WiredRun]] = []
        self._reads: dict[frozenset[str], RaspReads] = {}

    def reads(self, names: Iterable[str]) -> RaspReads:
        """Return these variables by their claimed contents."""
        key = frozenset(names)
        if key not in self._reads:
            self._reads[key] = RaspReads(key, self.claims)
        return self._reads[key]

    def shown(self, sop: SOp, value: Atom) -> str:
        """Return a value of an s-op as labels have it."""
        return shown_value(value, self.known.numeric[sop])

    def evaluated(self) -> Iterator[Stages]:
        """Yield the interpreter's runs that determine which values occur, and record these."""
        runs = []
        for word in self._words():
            with suppress(Tm2tfrError):
                runs.append(evaluate(self._wanted, word))
        for stages in runs:
            for sop, values in stages.values.items():
                known = self.atoms.setdefault(self.same[sop], {})
                known.update((self.shown(sop, value), value) for value in values)
        yield from runs

    def _words(self) -> Iterator[Word]:
        alphabet, most = self.program.alphabet, self.decoder.positions or 10
        length, left = 1, SHORT
        while length <= most and len(alphabet) ** length <= left:
            left -= len(alphabet) ** length
            yield from all_words(alphabet, length)
            length += 1
        chance = random.Random(0)
        for _ in range(LONG + left):
            yield tuple(chance.choices(alphabet, k=chance.randint(min(length, most), most)))
        for n in range(length, most + 1, max(1, most // 10)):  # counts are large where all tokens are the same
            yield from ((token,) * n for token in alphabet[:2])

    def instead_of(self, sop: SOp) -> str:
        """Return what to set instead of an s-op: the first variable made of it, or a variable that changes it."""
        made = (
            what
            for what, claim in self.claims.items()
            if isinstance(claim, ValueOf) and any(self.same.get(node) is sop for node in needed([self.sops[claim.sop]]))  # type: ignore[call-overload]
        )
        found = next(made, None)
        if found is not None:
            return f"set {found}, which is made of it"
        changes = any(isinstance(node, Tokens) for node in needed([sop]))
        return f"set {self.token}" if changes else "no variable changes it: set another variable"

    def variables(self) -> dict[str, ModelVariable]:
        """Return the variables, by the names of their subspaces."""
        spaces = ((what, space) for what, space in self.spaces.items() if what not in self.fixed)
        return {what: _variable(what, space, self.read_by[what]) for what, space in spaces}


def _variable(what: str, space: Subspace, read_by: str) -> ModelVariable:
    kind = space.holds.partition(" ")[0]
    return ModelVariable(
        name=what,
        subspace=space.name,
        meaning=space.name,
        kind="number" if space.labels is None else "label",
        since=space.since or (-1, "embedding"),
        read_by=read_by,
        labels=space.labels or (),
        nothing=kind != "token",
        least=0 if kind == "found" else None,
        largest=1 if kind == "found" else None,
        whole=kind != "mean",
        unset=_SEEN.get(kind, ""),
    )
