"""What the stream can hold before each feed-forward layer, and what the layer must add: finitely many cases.

Derived from the machine alone, following Section 8.2 of the chapter; nothing is taken from the compiler except
the spelling of tokens. Directions are given by name; `feed_forward` supplies their coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS, VERDICTS, Triple, parsed
from tm2tfr.transformer.residual import at

Coordinates = Mapping[str, int]
"""Direction -> integer; 0 if absent."""

V, MV, HV = "1/(i+1)", "m/(i+1)", "h/(i+1)"
FEATURES = (V, "1", "i", "i^2")
"""The position features, Eq. 8.4."""


@dataclass(frozen=True)
class Ray:
    """A `cases.Case` with directions by name."""

    label: str
    at: Coordinates
    wanted: Coordinates
    along: Coordinates
    wanted_along: Coordinates
    low: int | None = 0
    high: int | None = 0
    integers: bool = True
    variable: str = "s"


class Question(NamedTuple):
    """A token, or a state (meaning any triple into it), with the symbol under the head, [h = 0], and the answer."""

    token: str | None
    state: str | None
    symbol: str
    at_zero: bool
    answer: str


@dataclass(frozen=True)
class Domain:
    """The machine and whether the stream has ``[h=0]``, the flag of the left-boundary repair.

    Args:
        called: direction -> the name that the weights have for it, where that is another one.

    Raises:
        ValueError: for a flag on a two-way tape, which has no left boundary.
    """

    machine: Machine
    flagged: bool
    called: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.flagged and self.two_way:
            raise ValueError(f"{self.machine.name}: a two-way tape has no left boundary, so it cannot have a flag for it")

    def shown(self, direction: str) -> str:
        """Return the name that the weights have for a direction."""
        return self.called.get(direction, direction)

    @property
    def two_way(self) -> bool:
        """Whether h can be negative."""
        return self.machine.tape == "two-way"

    @property
    def sigma(self) -> tuple[str, ...]:
        """The input alphabet."""
        return self.machine.input_alphabet or ()

    @cached_property
    def subspaces(self) -> dict[str, tuple[str, ...] | None]:
        """Subspace -> the labels that the machine needs there, or None for a number. ``e_x``, ``e_y``: see `tokens`."""
        gamma, halves = self.machine.tape_alphabet, ("h+/(i+1)", "h-/(i+1)", "h_{i-1}+/(i+1)", "h_{i-1}-/(i+1)")
        numbers = [V, "1", "i", "i^2", "m", MV, HV, "h", "h^2", "h_{i-1}", "h_{i-1}^2", "h_{j*-1}", "[h_{j*-1}=h]"]
        numbers += [*halves, "h-"] if self.two_way else []
        numbers += ["[h=0]"] if self.flagged else []
        labelled = {"e_q": self.machine.states, "e_b": gamma, "e_x(h)": self.sigma, "e_b(j*-1)": gamma, "e_a": gamma}
        labelled |= {"e_x(h+)": self.sigma} if self.two_way else {}
        return {**dict.fromkeys(numbers), **labelled, "e_x": self.tokens, "e_y": self.answers}

    # ── Step 4 and the tokens ───────────────────────────────────────────────────────────────────────────────
    def to_bos(self, symbol: str) -> str:
        """Return the answer to BOS if the first cell holds `symbol`: (q_start, a, 0) or a verdict (repair 8)."""
        verdict = self.machine.outcome_of(self.machine.start)
        return VERDICTS[verdict] if verdict else Triple(self.machine.start, symbol, 0).token

    def after(self, state: str, symbol: str, *, at_zero: bool) -> str:
        """Return the answer in `state` on `symbol`: what the simulator does next (Definition 8.1, repairs 4, 7)."""
        machine = self.machine
        if (verdict := machine.outcome_of(state)) is not None:
            return VERDICTS[verdict]
        rule = machine.transitions.get((state, symbol))
        if rule is None:
            return VERDICTS[machine.missing_outcome]
        verdict = machine.outcome_of(rule.state) if machine.decides else None
        if verdict is not None:
            return VERDICTS[verdict]
        stays = machine.tape == "one-way" and at_zero and rule.move < 0
        return Triple(rule.state, rule.write, 0 if stays else rule.move).token

    @cached_property
    def triples(self) -> tuple[Triple, ...]:
        """The triples that can be fed back."""
        found = dict.fromkeys(self.to_bos(a) for a in (*self.sigma, self.machine.blank))
        for state, symbol in self.machine.transitions:
            for at_zero in (False, True):
                found[self.after(state, symbol, at_zero=at_zero)] = None
        return tuple(triple for token in found if (triple := parsed(token)) is not None)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that can be fed: input symbols, BOS, triples."""
        return (*self.sigma, BOS, *(triple.token for triple in self.triples))

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The tokens that can be answered: input symbols (the copy of the prompt), triples, verdicts."""
        return tuple(dict.fromkeys(question.answer for question in self.questions()))

    def questions(self) -> Iterator[Question]:
        """Yield all that can be asked of the last layer; the prompt and BOS have head position 0."""
        machine = self.machine
        for token in self.sigma:
            yield from (Question(token, None, a, True, token) for a in self.sigma)
        for a in (*self.sigma, machine.blank):
            yield Question(BOS, None, a, True, self.to_bos(a))
        for state in dict.fromkeys(triple.state for triple in self.triples):
            for a in machine.tape_alphabet:
                for at_zero in (False,) if self.two_way else (True, False):
                    yield Question(None, state, a, at_zero, self.after(state, a, at_zero=at_zero))

    # ── the cases of each layer ─────────────────────────────────────────────────────────────────────────────
    def reads(self, layer: int) -> frozenset[str]:
        """Return the subspaces that the cases of `layer` (from 1) vary; no other may be read."""
        third = {"e_x(h+)", "h-", "1"} if self.two_way else {"h", "1"}
        return (
            frozenset({"e_x", "1", V}),
            frozenset({V, MV, HV}),
            frozenset(third),
            frozenset({"h_{j*-1}", "h", "1"}),
            frozenset({"[h_{j*-1}=h]", "e_b(j*-1)", "e_x(h)", "1"}),
            frozenset({"e_x", "e_q", "e_b", "m", "e_a", "[h=0]", "1"}),
        )[layer - 1]

    def unpack(self) -> Iterator[Ray]:
        """Layer 1, Eq. 8.5: every token that can be fed, v = 1/(i+1) anywhere in [0, 1]."""
        for token in (*self.sigma, BOS):
            yield Ray(f"token {token}", {at("e_x", token): 1, "1": 1}, {}, {V: 1}, {}, 0, 1, False, "1/(i+1)")
        for triple in self.triples:
            fed = {at("e_x", triple.token): 1, "1": 1}
            wanted = {at("e_q", triple.state): 1, at("e_b", triple.symbol): 1, "m": triple.move}
            moved = {MV: triple.move}
            yield Ray(f"token {triple.token}", fed, wanted, {V: 1}, moved, 0, 1, False, "1/(i+1)")

    def parts(self) -> Iterator[Ray]:
        """Layer 2 of a two-way tape, repair 5: h and h - m by sign. No biases: it suffices to take 1/(i+1) as 1."""
        if not self.two_way:
            for m in (-1, 0, 1):
                yield Ray(f"m = {m:+d}", {V: 1, MV: m}, {}, {HV: 1}, {}, 0, None, True, "h")
            return
        for m in (-1, 0, 1):
            for low, high in ((None, -2), (-1, -1), (0, 0), (1, 1), (2, None)):
                sign, before = (low if low is not None else -1), (low if low is not None else -2) - m
                wanted = {"h_{i-1}+/(i+1)": -m} if before > 0 else {"h_{i-1}-/(i+1)": m} if before < 0 else {}
                along = {"h+/(i+1)": 1} if sign > 0 else {"h-/(i+1)": -1} if sign < 0 else {}
                along |= {"h_{i-1}+/(i+1)": 1} if before > 0 else {"h_{i-1}-/(i+1)": -1} if before < 0 else {}
                yield Ray(f"m = {m:+d}", {V: 1, MV: m}, wanted, {HV: 1}, along, low, high, True, "h")

    def symbol_of_cell(self) -> Iterator[Ray]:
        """Layer 3: ``e_x(h)`` left of 0 on a two-way tape; ``[h=0]`` on a one-way one."""
        if not self.two_way:
            flag = {"[h=0]": 1} if self.flagged else {}
            yield Ray("at cell 0", {"1": 1}, flag, {"h": 1}, {}, 0, 0, True, "h")
            yield Ray("right of cell 0", {"1": 1}, {}, {"h": 1}, {}, 1, None, True, "h")
            return
        for a in (None, *self.sigma):
            found = {"1": 1} if a is None else {at("e_x(h+)", a): 1, "1": 1}
            kept = {} if a is None else {at("e_x(h)", a): 1}
            told = f"e_x(h+) = {a or '⊥'}"
            yield Ray(told, found, kept, {"h-": 1}, {}, 0, 0, True, "h-")
            yield Ray(told, found, {}, {"h-": 1}, {}, 1, None, True, "h-")

    def match(self) -> Iterator[Ray]:
        """Layer 4: ``[h_{j*-1}=h]``, for some h, and every h_{j*-1}; h = 0 stands for all, see `feed_forward`."""
        for h in (0, 1, 2):
            start = {"h": h, "1": 1}
            for low, high, bit in ((None, h - 1, 0), (h, h, 1), (h + 1, None, 0)):
                wanted = {"[h_{j*-1}=h]": 1} if bit else {}
                yield Ray(f"h = {h}", start, wanted, {"h_{j*-1}": 1}, {}, low, high, True, "h_{j*-1}")

    def symbol(self) -> Iterator[Ray]:
        """Layer 5, Eq. 8.18: flag × latest write × input symbol, each of them possibly missing."""
        for f in (0, 1):
            for b in (None, *self.machine.tape_alphabet):
                for u in (None, *self.sigma):
                    stream = {"1": 1, "[h_{j*-1}=h]": f}
                    stream |= {at("e_b(j*-1)", b): 1} if b is not None else {}
                    stream |= {at("e_x(h)", u): 1} if u is not None else {}
                    a = b if f and b is not None else u if u is not None else self.machine.blank
                    told = f"[h_{{j*-1}}=h] = {f}, written {b or '⊥'}, input {u or '⊥'}"
                    yield Ray(told, stream, {at("e_a", a): 1}, {}, {})

    def lines(self, layer: int) -> Iterator[Ray]:
        """Return the cases of `layer`, 1 to 5."""
        return (self.unpack, self.parts, self.symbol_of_cell, self.match, self.symbol)[layer - 1]()
