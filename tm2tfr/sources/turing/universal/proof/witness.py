"""A machine and an input on which wrong weights of the universal decoder go wrong, found by trying.

Some machines walk. Others are made up while they run: wherever there is no rule yet, one is added that answers with a token
that no machine has had before. So a few machines use every part of a rule; tokens that a refusal names come first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

from tm2tfr.contract import AnyRow
from tm2tfr.engines.dense import Dense
from tm2tfr.errors import EngineError
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.tokens import ACC, REJ
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.names import ARROW, Entry, GivenVerdict, MachineNames, RuleAnswer
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.weights import Decoder

GivenAnswer = RuleAnswer | GivenVerdict
"""What a rule answers."""
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
    chosen = [said for said in answers if named & {names.value(said), names.value(said).removeprefix(ARROW)}]
    for said, tape, word in product(chosen, tapes, words[:2]):
        waiting = [said, *chance.sample(answers, len(answers))]
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
    """Return a machine with at most so many rules, whose answers are taken from `waiting`, made up while it runs."""
    cells = {n: names.symbols.index(a) for n, a in enumerate(word)}
    rules: dict[tuple[int, int], GivenAnswer] = {}
    state = head = 0
    for _ in range(STEPS):
        place = state, cells.get(head, 0)
        if place not in rules:
            if len(rules) == most or not waiting or state == len(names.ruled):
                break
            rules[place] = waiting.pop(_best(names, rules, cells, head, waiting) if rules else 0)
        said = rules[place]
        if isinstance(said, str):
            break
        cells[head] = said.symbol
        state, head = said.state, head + said.move
        head = max(head, 0) if tape == "one-way" else head
    return tuple(Entry(*place, said) for place, said in rules.items())


def _best(
    names: MachineNames,
    rules: dict[tuple[int, int], GivenAnswer],
    cells: dict[int, int],
    head: int,
    waiting: Sequence[GivenAnswer],
) -> int:
    """Return which answer to take: the first after which the machine goes on to a place that has no rule."""
    for n, said in enumerate(waiting):
        if not isinstance(said, str) and said.state < len(names.ruled):
            symbol = said.symbol if said.move == 0 else cells.get(head + said.move, 0)
            if (said.state, symbol) not in rules:
                return n
    return 0
