"""The residual stream of the construction: the chapter's activation vectors (8.4)-(8.19), by name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from typing import Literal, TypeVar, cast

from tm2tfr.sources.turing.spec import Machine, Rule, TapeKind
from tm2tfr.sources.turing.tokens import ACC, BOS, HALT, REJ, VERDICTS, Triple
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Layer

# ── The tokens Σ' of the decoder: input symbols, BOS, verdicts, and the triples that the machine can emit.
#
# The chapter's alphabet (Section 8.2) with moves {-1, 0, +1} (repair 1), without the triples that never occur, and with
# HALT for machines that halt without a verdict.
Boundary = Literal["repaired", "chapter", "none"]
"""The move emitted for a step left of cell 0: m = 0 (repair 4), m = -1 (Exercise 8.3), or "there is no boundary"."""


@dataclass(frozen=True)
class Answers:
    """Step 4 of the chapter as a function into tokens: the answers of `machine`."""

    machine: Machine
    boundary: Boundary

    def to_bos(self, symbol: str) -> str:
        """Return the answer to BOS: (q_start, a, 0), or the verdict if q_start has one (repair 8)."""
        verdict = self.machine.outcome_of(self.machine.start)
        return VERDICTS[verdict] if verdict else Triple(self.machine.start, symbol, 0).token

    def to(self, state: str, symbol: str, *, at_left_end: bool = False) -> str:
        """Return the answer in `state` on `symbol`: ACC, REJ, HALT or a triple (repairs 4 and 7)."""
        machine = self.machine
        rule = None if state in machine.halting_states else machine.transitions.get((state, symbol))
        if rule is None:
            return VERDICTS[machine.outcome_of(state) or machine.missing_outcome]
        if machine.decides and rule.state in machine.halting_states:
            return VERDICTS[machine.outcome_of(rule.state) or machine.missing_outcome]
        return Triple(rule.state, rule.write, self.move(rule, at_left_end=at_left_end)).token

    def move(self, rule: Rule, *, at_left_end: bool) -> int:
        """Return the move that `rule` emits."""
        return 0 if self.boundary == "repaired" and at_left_end and rule.move < 0 else rule.move

    def both(self, state: str, symbol: str) -> tuple[str, str]:
        """Return the answer in `state` on `symbol`, and that at the left end."""
        usual = self.to(state, symbol)
        return usual, self.to(state, symbol, at_left_end=True) if self.boundary == "repaired" else usual

    def tokens(self) -> Iterator[str]:
        """Yield every answer that can occur after BOS, perhaps several times."""
        machine = self.machine
        for symbol in (*(machine.input_alphabet or ()), machine.blank):
            yield self.to_bos(symbol)
        for state, symbol in machine.transitions:
            yield from self.both(state, symbol)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Σ' in a fixed order: Σ, BOS, ACC, REJ, HALT where it can occur, and the triples."""
        ends = (ACC, REJ) if self.machine.decides else (ACC, REJ, HALT)
        return tuple(dict.fromkeys([*(self.machine.input_alphabet or ()), BOS, *ends, *self.tokens()]))


def vocabulary(machine: Machine, boundary: Boundary) -> tuple[str, ...]:
    """Return Σ' of `machine`, see `Answers.vocabulary`."""
    return Answers(machine, boundary).vocabulary


FEATURES = ("1/(i+1)", "1", "i", "i^2")


MOST_KEPT = 256
"""The number of cached layers of each kind."""
_Build = TypeVar("_Build", bound=Callable[..., Layer])


def without_rules(build: _Build) -> _Build:
    """Keep the layers that `build` makes: they follow from the alphabets and the number of tokens, whatever δ is.

    A sweep compiles thousands of machines that differ in δ only; engines recognise a layer that they know by its matrices.
    What else a layer follows from, such as the tokens themselves, is a further argument.
    """
    made: dict[Hashable, Layer] = {}

    @wraps(build)
    def kept(layout: Residual, machine: Machine, *further: Hashable) -> Layer:
        alphabets = machine.states, machine.input_alphabet, machine.tape_alphabet
        key = (layout.width, *alphabets, machine.blank, machine.tape, further)
        if key not in made:
            if len(made) >= MOST_KEPT:
                made.clear()
            made[key] = build(layout, machine, *further)
        return made[key]

    return cast("_Build", kept)


HALVES = ("h+/(i+1)", "h-/(i+1)", "h_{i-1}+/(i+1)", "h_{i-1}-/(i+1)")
"""The positive and negative parts of head positions on a two-way tape (repair 5), divided by i + 1."""
SHARES = ("1/(i+1)", "m/(i+1)", "h/(i+1)", *HALVES)


@lru_cache(maxsize=16 * MOST_KEPT)  # machines of one size differ in e_x and e_y alone
def _named(name: str, labels: tuple[str, ...] | None = None) -> Subspace:
    """Return a subspace that holds what it is called."""
    return Subspace(name, labels, holds=name, share=name in SHARES)


def layout(machine: Machine, tokens: tuple[str, ...], boundary: Boundary) -> Residual:
    """Return the residual stream for `machine`; subspaces are in the order of the chapter's vectors.

    Beside the chapter's: ``m/(i+1)`` (repair 2), ``[h=0]`` (repair 4), positive and negative parts of head
    positions on a two-way tape (repair 5), ``[h_{j*-1}=h]`` (repair 9), and ``e_y``, the answer.
    """
    return _stream(tokens, machine.states, machine.input_alphabet, machine.tape_alphabet, machine.tape, boundary)


@lru_cache(maxsize=MOST_KEPT)  # as for layers `without_rules`
def _stream(
    tokens: tuple[str, ...],
    states: tuple[str, ...],
    sigma: tuple[str, ...] | None,
    gamma: tuple[str, ...],
    tape: TapeKind,
    boundary: Boundary,
) -> Residual:
    two_way = tape == "two-way"
    subspaces = (
        _named("e_x", tokens),
        *map(_named, FEATURES),
        _named("e_q", states),
        _named("e_b", gamma),
        _named("m"),
        _named("m/(i+1)"),
        _named("h/(i+1)"),
        *map(_named, HALVES if two_way else ()),
        _named("h"),
        _named("h^2"),
        *((_named("h-"), _named("e_x(h+)", sigma)) if two_way else ()),
        _named("e_x(h)", sigma),
        *((_named("[h=0]"),) if boundary == "repaired" else ()),
        _named("h_{i-1}"),
        _named("h_{i-1}^2"),
        _named("h_{j*-1}"),
        _named("e_b(j*-1)", gamma),
        _named("[h_{j*-1}=h]"),
        _named("e_a", gamma),
        _named("e_y", tokens),
    )
    return Residual(subspaces)
