"""The possible streams of the universal decoder before each feed-forward layer, for every machine of a class at once.

Derived from the sizes of the class alone. A position before the input is fed the name of a tape, or a part of a rule;
then come input symbols, BOS, and triples. Which rules there are is left open: whatever a rule can be occurs in a case.

What is not 0 or 1. Where no rule is for (q, a), the head of layer 6 carries means over several positions to ``r*_q``,
``r*_a`` and ``out``: numbers from 0 to 1 (`LayerInputs.free`), after rounding too, since they are p/n with p ≤ n,
rounded once, and rounding is monotone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import ClassVar

from tm2tfr.base.errors import EngineError
from tm2tfr.contract.model import SourceModel
from tm2tfr.contract.source import AnyRow
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.proof import cases as steps
from tm2tfr.sources.turing.proof.cases import HV, MV, NUMBERS, SIGNED, Case, Coordinates, LayerInputs, Manner, Question, V
from tm2tfr.sources.turing.tokens import ACC, ARROW, BOS, HALT, REJ, Triple
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.model import universal_model
from tm2tfr.sources.turing.universal.names import (
    Entry,
    GivenVerdict,
    MachineNames,
    RuleAnswer,
    key_token,
    value_token,
)
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Decoder

FOUND: Coordinates = {"[r*_q=q]": 1, "[r*_a=a]": 1}
"""The two flags that say that there is a rule."""


@dataclass(frozen=True)
class ClassDomain(LayerInputs):
    """All machines with these states and symbols at most; see `LayerInputs`.

    Args:
        names: of the states, of which the last has no rules, and of the symbols, of which the first is the blank.
        tapes: the tokens that name a tape.
        two_way, walled: whether any of the machines may move left of cell 0; whether any has a left end of the tape.
        called: direction -> the name that the weights have for it, where that is another one.
        moving: whether layer 2 stands for those of its units that read the head's position, and not for all others.
    """

    manners: ClassVar = ("carried", "plain", "plain", "differences", "plain", "plain", "questions")

    names: MachineNames
    tapes: tuple[str, ...]
    two_way: bool
    walled: bool
    called: Mapping[str, str] = field(default_factory=dict, compare=False)
    moving: bool = False

    @property
    def of_moves(self) -> ClassDomain:
        """The domain in which layer 2 stands for its units that read the head's position."""
        return replace(self, moving=True)

    def holds(self, what: str, layer: int, part: str) -> bool:
        return self._model.holds(what, layer, part)

    @cached_property
    def _model(self) -> SourceModel:
        return universal_model(self.names, self.tapes, two_way=self.two_way, walled=self.walled)

    @property
    def sigma(self) -> tuple[str, ...]:
        """The input alphabet: all symbols but the blank."""
        return self.names.symbols[1:]

    @property
    def gamma(self) -> tuple[str, ...]:
        return self.names.symbols

    @property
    def longest(self) -> int:
        """The largest number of tokens that describe a machine: two for each state and symbol, and one for the tape."""
        return 2 * len(self.names.keys) + bool(self.tapes)

    @cached_property
    def subspaces(self) -> dict[str, tuple[str, ...] | None]:
        names, numbers = self.names, [*NUMBERS, "[rule]", "[key]", "[value]", "k/(i+1)", *FOUND]
        numbers += SIGNED if self.two_way else ()
        numbers += ["[one-way]"] if self.tapes else []
        numbers += ["[left end]"] if self.walled else []
        of_states = dict.fromkeys(("e_q(key)", "r_q", "r*_q"), names.ruled)
        of_symbols = dict.fromkeys(("e_b", "e_b(j*-1)", "e_a", "e_a(key)", "r_a", "r*_a"), self.gamma)
        inputs = dict.fromkeys(("e_x(h)", *(["e_x(h+)"] if self.two_way else [])), self.sigma)
        tokens = {"e_x": self.tokens, "e_y": self.answers, "out": names.values, "e_q": names.states}
        return {**dict.fromkeys(numbers), **of_states, **of_symbols, **inputs, **tokens}

    # ── the tokens ──────────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def triples(self) -> tuple[Triple, ...]:
        """The triples: all of them."""
        states, symbols = self.names.states, self.names.symbols
        return tuple(Triple(states[q], symbols[b], m) for q, b, m in self.names.answers())

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that can be fed: those of a prompt, and triples."""
        return (*self.copied, BOS, *(triple.token for triple in self.triples))

    @cached_property
    def copied(self) -> tuple[str, ...]:
        """The tokens of a prompt but BOS, which are answered by themselves."""
        return (*self.sigma, *self.names.keys, *self.names.values, *self.tapes)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        return (*self.copied, *(triple.token for triple in self.triples), ACC, REJ, HALT)

    # ── the last layer ──────────────────────────────────────────────────────────────────────────────────────
    def questions(self) -> Iterator[Question]:
        """Yield all that can be asked of the last layer; without a rule: see `ClassDomain.context`."""
        ends = (False, True) if self.walled else (False,)
        for a in self.gamma:
            for end in ends:
                yield from (Question(token, None, a, end, token) for token in self.copied)
                yield Question(BOS, None, a, end, Triple(self.names.states[0], a, 0).token)
                yield from (Question(None, q, a, end, HALT) for q in self.names.states)
                for rule, bumped in self._rules:
                    answer = bumped if end else rule
                    yield from (Question(None, q, a, end, answer, value_token(rule)) for q in self.names.ruled)

    @cached_property
    def _rules(self) -> tuple[tuple[str, str], ...]:
        """The possible answers of a rule, and their form at the left end, where a move to the left stays (repair 4)."""
        found = [(triple.token, triple._replace(move=max(triple.move, 0)).token) for triple in self.triples]
        return (*found, (ACC, ACC), (REJ, REJ))

    def context(self, question: Question) -> Coordinates:
        """Return the content of the stream before the last layer, beside the token and its parts.

        Where there is no rule, ``out`` and the two flags are 0; that nothing depends on them there, `answers` shows.
        """
        end = {"[left end]": 1} if question.at_zero else {}
        found = {at("out", question.rule): 1, **FOUND} if question.rule else {}
        return {at("e_a", question.symbol): 1, "1": 1, **end, **found}

    def asked(self, question: Question, token: str) -> str:
        end = ", at the left end of the tape" if question.at_zero else ""
        rule = f", with the rule {question.rule}" if question.rule else ", without a rule" if question.state else ""
        return f"token {token} on symbol {question.symbol}{end}{rule}"

    # ── the cases of each layer ─────────────────────────────────────────────────────────────────────────────
    def manner(self, layer: int) -> Manner:
        return "scaled" if layer == 2 and self.moving else super().manner(layer)

    def free(self, layer: int) -> frozenset[str]:
        """Return the subspaces with numbers between 0 and 1; the last layer, which reads them too, has its own proof."""
        return frozenset({"r*_q", "r*_a"}) if layer == 6 else frozenset()

    def reads(self, layer: int) -> frozenset[str]:
        third = {"h", "1"} | ({"e_x(h+)", "h-"} if self.two_way else set()) | ({"[one-way]"} if self.tapes else set())
        return (
            frozenset({"e_x", "1", V}),
            frozenset({V, MV, HV}) if self.moving else frozenset({"e_q(key)", "e_a(key)", "[value]", "1"}),
            frozenset(third),
            frozenset({"h_{j*-1}", "h", "1"}),
            frozenset({"[h_{j*-1}=h]", "e_b(j*-1)", "e_x(h)", "1"}),
            frozenset({"e_q", "e_a", "r*_q", "r*_a", "1"}),
            frozenset({"e_x", "e_q", "e_b", "m", "e_a", "[left end]", "out", *FOUND, "1"}),
        )[layer - 1]

    def unpack(self) -> Iterator[Case[str]]:
        """Layer 1, Eq. 8.5, and what part of a rule a token is."""
        yield from map(steps.unpacked, (*self.sigma, BOS))
        yield from map(steps.unpacked_triple, self.triples)
        for tokens, kind in ((self.names.keys, {"[key]": 1}), (self.names.values, {"[value]": 1}), (self.tapes, {})):
            yield from (steps.unpacked(token, {"[rule]": 1, **kind}) for token in tokens)

    def rule_ends(self) -> Iterator[Case[str]]:
        """Layer 2, the units that do not read the head's position: ``r_q`` and ``r_a`` are the last key's at a value.

        A value has a key before it; at the tape, input symbols and all that follows, there may be one or none.
        """
        for ends in (0, 1):
            if not ends:
                yield Case("no key yet", {"1": 1}, {}, {}, {})
            for q in self.names.ruled:
                for a in self.gamma:
                    stream = {at("e_q(key)", q): 1, at("e_a(key)", a): 1, "1": 1, "[value]": ends}
                    rule = {at("r_q", q): 1, at("r_a", a): 1} if ends else {}
                    yield Case(f"[value] = {ends}, last key {key_token(q, a)}", stream, rule, {}, {})

    def cell(self) -> Iterator[Case[str]]:
        """Layer 3: the input symbol of a cell (no symbol left of cell 0), and ``[left end]``: one-way and h = 0."""
        for a in (None, *self.sigma) if self.two_way else (None,):
            for one_way in (0, 1) if self.tapes else (int(self.walled),):
                stream = {"1": 1} | ({at("e_x(h+)", a): 1} if a else {}) | ({"[one-way]": one_way} if self.tapes else {})
                kept = {at("e_x(h)", a): 1} if a else {}
                told = f"e_x(h+) = {a or '⊥'}" if self.two_way else ""
                told += (", " if told else "") + f"a {'one' if one_way else 'two'}-way tape"
                end = {"[left end]": 1} if one_way else {}
                yield Case(told, stream, {**kept, **end}, {"h": 1}, {}, 0, 0, True, "h")
                yield Case(told, stream, kept, {"h": 1}, {}, 1, None, True, "h")
                if not one_way:
                    yield Case(told, stream, {}, {"h": -1, "h-": 1}, {}, 1, None, True, "h-")

    def flags(self) -> Iterator[Case[str]]:
        """Layer 6: of what the head carries, the shares of the right state and of the right symbol."""
        ways = (("[r*_q=q]", "r*_q", self.names.ruled), ("[r*_a=a]", "r*_a", self.gamma))
        for q in (None, *self.names.states):
            for a in self.gamma:
                stream = {at("e_a", a): 1, "1": 1} | ({at("e_q", q): 1} if q else {})
                for flag, found, labels in ways:
                    for label in labels:
                        right = {flag: 1} if label == (q if found == "r*_q" else a) else {}
                        told = f"state {q or '⊥'} on symbol {a}"
                        yield Case(told, stream, {}, {at(found, label): 1}, right, 0, 1, False, at(found, label))

    def lines(self, layer: int) -> Iterator[Case[str]]:
        return (
            self.unpack,
            (lambda: steps.parts(two_way=self.two_way)) if self.moving else self.rule_ends,
            self.cell,
            steps.match,
            lambda: steps.symbol(self.gamma, self.sigma, self.names.blank),
            self.flags,
        )[layer - 1]()


# ── A machine and an input on which wrong weights of the universal decoder go wrong, found by trying.
#
# Some machines walk. Others are made up while they run: wherever there is no rule yet, one is added that answers with a
# token that no machine has had before. So a few machines use every part of a rule; tokens that a refusal names come
# first.
GivenAnswer = RuleAnswer | GivenVerdict
"""The answer of a rule."""
STEPS = 40
"""The number of steps of each run that is tried."""
MACHINES = 100
"""The number of machines that are made up, beside those for what a refusal names."""
MOST = 1200
"""The number of positions that are tried in all."""
WORDS = ("", "1", "11", "12", "21", "121", "2112")
"""Inputs, of those that are over the alphabet."""


def failing_run(decoder: Decoder, universal: Universal, about: str = "") -> str | None:
    """Return, in words, a run that `decoder` gets wrong; None if none of those that are tried is.

    Args:
        universal: the class, with the names that the decoder's tokens have.
        about: the refusal; rules with the tokens that it names are tried first.
    """
    own = dict(zip(universal.empty.vocabulary, universal.vocabulary, strict=True))
    named = {token for token, name in own.items() if name in about}
    left = MOST
    for tape, word, entries in _machines(universal, named):
        tokens = [*([tape] if universal.tapes else []), *(t for e in entries for t in universal.canonical.rule(e)), *word]
        text = " ".join(tokens)
        found = prompt.read(text, universal.empty)
        truth = UniversalTruth(found, found.right.input or "", max_steps=STEPS)
        session = Dense().start(decoder)
        for row in map(_row, truth.rows()):
            wanted = str(row.y)
            try:
                answer = decoder.vocabulary[session.feed(decoder.numbers[own[str(row.x)]])]
            except EngineError:
                break
            if answer != own[wanted]:
                whose = f"on the prompt {text} BOS" if text else "on the prompt BOS"
                return f"{whose}, position {row.i} answers {answer} but the simulator {own[wanted]}"
            left -= 1
        if left <= 0:
            return None
    return None


def _row(row: AnyRow) -> Row:
    return Row(*row)


def _machines(universal: Universal, named: set[str]) -> Iterator[tuple[str, str, tuple[Entry, ...]]]:
    """Yield machines, each with its tape and its input."""
    names, chance = universal.canonical, random.Random(0)
    tapes = universal.tapes or (universal.tape,)
    words = [word for word in WORDS if set(word) <= {*names.symbols[1:]}]
    for tape, word in product(tapes, words[:2]):
        yield from ((tape, word, rules) for rules in _walkers(names))
    answers: list[GivenAnswer] = [*names.answers(), ACC, REJ]  # type: ignore[list-item]
    chosen = [answer for answer in answers if named & {names.value(answer), names.value(answer).removeprefix(ARROW)}]
    for answer, tape, word in product(chosen, tapes, words[:2]):
        waiting = [answer, *chance.sample(answers, len(answers))]
        yield tape, word, _made_up(names, tape, word, waiting, chance.randint(1, 6))
    waiting = []
    for n in range(MACHINES):
        waiting = waiting or chance.sample(answers, len(answers))
        tape, word = tapes[n % len(tapes)], words[(n // len(tapes)) % len(words)]
        yield tape, word, _made_up(names, tape, word, waiting, 1 + n % 8)


def _walkers(names: MachineNames) -> Iterator[tuple[Entry, ...]]:
    """Yield machines that do nothing, walk one way, and go back and forth over more and more cells, as far as they fit."""
    last = len(names.symbols) - 1
    yield ()
    yield (Entry(0, 0, RuleAnswer(0, last, 1)),)
    yield (Entry(0, 0, RuleAnswer(0, last, -1)),)
    if last and len(names.ruled) > 1:
        right = Entry(0, 0, RuleAnswer(1, last, -1)), Entry(0, last, RuleAnswer(0, last, 1))
        yield (*right, Entry(1, 0, RuleAnswer(0, last, 1)), Entry(1, last, RuleAnswer(1, last, -1)))


def _made_up(names: MachineNames, tape: str, word: str, waiting: list[GivenAnswer], most: int) -> tuple[Entry, ...]:
    """Return a machine with at most `most` rules, made up while it runs; `waiting`: the answers that its rules take."""
    cells = {n: names.symbols.index(a) for n, a in enumerate(word)}
    rules: dict[tuple[int, int], GivenAnswer] = {}
    state = head = 0
    for _ in range(STEPS):
        place = state, cells.get(head, 0)
        if place not in rules:
            if len(rules) == most or not waiting or state == len(names.ruled):
                break
            rules[place] = waiting.pop(_best(names, rules, cells, head, waiting) if rules else 0)
        answer = rules[place]
        if isinstance(answer, str):
            break
        cells[head] = answer.symbol
        state, head = answer.state, head + answer.move
        head = max(head, 0) if tape == "one-way" else head
    return tuple(Entry(*place, answer) for place, answer in rules.items())


def _best(
    names: MachineNames,
    rules: dict[tuple[int, int], GivenAnswer],
    cells: dict[int, int],
    head: int,
    waiting: Sequence[GivenAnswer],
) -> int:
    """Return which answer to take: the first after which the machine continues to a place that has no rule."""
    for n, answer in enumerate(waiting):
        if not isinstance(answer, str) and answer.state < len(names.ruled):
            symbol = answer.symbol if answer.move == 0 else cells.get(head + answer.move, 0)
            if (answer.state, symbol) not in rules:
                return n
    return 0
