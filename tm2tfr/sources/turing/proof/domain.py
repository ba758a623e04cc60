"""The possible streams before each feed-forward layer, and the right outputs: finitely many cases.

Derived from the machine alone, following Section 8.2 of the chapter; nothing is taken from the compiler except
the spelling of tokens. Directions are given by name; `feed_forward` supplies their coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from tm2tfr.contract.model import SourceModel
from tm2tfr.sources.turing.model import turing_model
from tm2tfr.sources.turing.proof import cases as steps
from tm2tfr.sources.turing.proof.cases import HV, MV, NUMBERS, SIGNED, Case, Coordinates, LayerInputs, Question, V
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS, VERDICTS, Triple, parsed
from tm2tfr.transformer.residual import at


@dataclass(frozen=True)
class Domain(LayerInputs):
    """The machine and whether the stream has ``[h=0]``, the flag of the left-boundary repair.

    Args:
        called: direction -> the name that the weights have for it, where that is another one.

    Raises:
        ValueError: for a flag on a two-way tape, which has no left boundary.
    """

    manners: ClassVar = ("carried", "scaled", "plain", "differences", "plain", "questions")

    machine: Machine
    flagged: bool
    called: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.flagged and self.two_way:
            raise ValueError(f"{self.machine.name}: a two-way tape has no left boundary, so it cannot have a flag for it")

    @property
    def two_way(self) -> bool:
        """Whether h can be negative."""
        return self.machine.tape == "two-way"

    @property
    def sigma(self) -> tuple[str, ...]:
        """The input alphabet."""
        return self.machine.input_alphabet or ()

    @property
    def gamma(self) -> tuple[str, ...]:
        return self.machine.tape_alphabet

    @cached_property
    def _model(self) -> SourceModel:
        return turing_model(self.machine, ())

    def holds(self, what: str, layer: int, part: str) -> bool:
        return self._model.holds(what, layer, part)

    @cached_property
    def subspaces(self) -> dict[str, tuple[str, ...] | None]:
        numbers = (*NUMBERS, *(SIGNED if self.two_way else ()), *(("[h=0]",) if self.flagged else ()))
        gamma = self.gamma
        labelled = {"e_q": self.machine.states, "e_b": gamma, "e_x(h)": self.sigma, "e_b(j*-1)": gamma, "e_a": gamma}
        labelled |= {"e_x(h+)": self.sigma} if self.two_way else {}
        return {**dict.fromkeys(numbers), **labelled, "e_x": self.tokens, "e_y": self.answers}

    # ── Step 4 and the tokens ───────────────────────────────────────────────────────────────────────────────
    def to_bos(self, symbol: str) -> str:
        """Return the answer to BOS if the first cell holds `symbol`: (q_start, a, 0) or a verdict (repair 8)."""
        verdict = self.machine.outcome_of(self.machine.start)
        return VERDICTS[verdict] if verdict else Triple(self.machine.start, symbol, 0).token

    def after(self, state: str, symbol: str, *, at_zero: bool) -> str:
        """Return the answer in `state` on `symbol`: the simulator's next step (Definition 8.1, repairs 4, 7)."""
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

    def context(self, question: Question) -> Coordinates:
        flag = {"[h=0]": 1} if question.at_zero and self.flagged else {}
        return {at("e_a", question.symbol): 1, "1": 1, **flag}

    def asked(self, question: Question, token: str) -> str:
        return f"token {token} on symbol {question.symbol}{', at cell 0' if question.at_zero else ''}"

    # ── the cases of each layer ─────────────────────────────────────────────────────────────────────────────
    def reads(self, layer: int) -> frozenset[str]:
        third = {"e_x(h+)", "h-", "1"} if self.two_way else {"h", "1"}
        return (
            frozenset({"e_x", "1", V}),
            frozenset({V, MV, HV}),
            frozenset(third),
            frozenset({"h_{j*-1}", "h", "1"}),
            frozenset({"[h_{j*-1}=h]", "e_b(j*-1)", "e_x(h)", "1"}),
            frozenset({"e_x", "e_q", "e_b", "m", "e_a", "[h=0]", "1"}),
        )[layer - 1]

    def unpack(self) -> Iterator[Case[str]]:
        """Layer 1, Eq. 8.5: every token that can be fed."""
        yield from map(steps.unpacked, (*self.sigma, BOS))
        yield from map(steps.unpacked_triple, self.triples)

    def symbol_of_cell(self) -> Iterator[Case[str]]:
        """Layer 3: ``e_x(h)`` left of 0 on a two-way tape; ``[h=0]`` on a one-way one."""
        if not self.two_way:
            flag = {"[h=0]": 1} if self.flagged else {}
            yield Case("at cell 0", {"1": 1}, flag, {"h": 1}, {}, 0, 0, True, "h")
            yield Case("right of cell 0", {"1": 1}, {}, {"h": 1}, {}, 1, None, True, "h")
            return
        for a in (None, *self.sigma):
            found = {"1": 1} if a is None else {at("e_x(h+)", a): 1, "1": 1}
            kept = {} if a is None else {at("e_x(h)", a): 1}
            told = f"e_x(h+) = {a or '⊥'}"
            yield Case(told, found, kept, {"h-": 1}, {}, 0, 0, True, "h-")
            yield Case(told, found, {}, {"h-": 1}, {}, 1, None, True, "h-")

    def lines(self, layer: int) -> Iterator[Case[str]]:
        return (
            self.unpack,
            lambda: steps.parts(two_way=self.two_way),
            self.symbol_of_cell,
            steps.match,
            lambda: steps.symbol(self.gamma, self.sigma, self.machine.blank),
        )[layer - 1]()
