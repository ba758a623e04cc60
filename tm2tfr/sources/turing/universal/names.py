"""What the states and the symbols of a universal decoder are called, and its tokens spelled.

A class of machines has names of its own, the canonical ones; weights with a machine in the prompt have that machine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tm2tfr.errors import CompileError
from tm2tfr.sources.turing.tokens import ACC, BOS, HALT, REJ, Triple

GivenVerdict = Literal["ACC", "REJ"]
ARROW = "→"
"""How the token of a rule's answer begins."""
CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The canonical symbols, the blank first."""
HALT_STATE = "halt"
"""The canonical name of the state without rules."""
MOVES = (-1, 0, 1)


class RuleAnswer(NamedTuple):
    """What a rule answers: the new state, by its number, the symbol written, and the move."""

    state: int
    symbol: int
    move: int


class Entry(NamedTuple):
    """A rule as it stands in a prompt: what is answered in `state` on `symbol`, both by their numbers."""

    state: int
    symbol: int
    answer: RuleAnswer | GivenVerdict


@dataclass(frozen=True)
class MachineNames:
    """The names of the states, of which the last has no rules, and of the symbols, of which the first is the blank.

    Raises:
        CompileError: if a name occurs twice or is empty, or a symbol is not one character.
    """

    states: tuple[str, ...]
    symbols: tuple[str, ...]

    def __post_init__(self) -> None:
        for what, names in (("states", self.states), ("symbols", self.symbols)):
            twice = next((name for n, name in enumerate(names) if name in names[:n]), None)
            if twice is not None:
                raise CompileError(f"two {what} of a universal decoder are called {twice!r}: use different names")
        wrong = next((a for a in self.symbols if len(a) != 1), None)
        if wrong is not None:
            raise CompileError(f"the symbol {wrong!r} is not one character: use one")
        if "" in self.states:
            raise CompileError("a state of a universal decoder has an empty name: name it")

    @property
    def blank(self) -> str:
        """The blank."""
        return self.symbols[0]

    @property
    def ruled(self) -> tuple[str, ...]:
        """The states that may have rules."""
        return self.states[:-1]

    # ── tokens ──────────────────────────────────────────────────────────────────────────────────────────────
    def triple(self, answer: RuleAnswer) -> str:
        """Return the token of a triple: ``(q1,0,+1)``."""
        return Triple(self.states[answer.state], self.symbols[answer.symbol], answer.move).token

    def key(self, state: int, symbol: int) -> str:
        """Return the token of what a rule is for: ``q0,1``."""
        return key_token(self.states[state], self.symbols[symbol])

    def value(self, answer: RuleAnswer | GivenVerdict) -> str:
        """Return the token of what a rule answers: ``→(q1,0,+1)`` or ``→ACC``."""
        return value_token(answer if isinstance(answer, str) else self.triple(answer))

    def rule(self, entry: Entry) -> tuple[str, str]:
        """Return the two tokens of a rule."""
        return self.key(entry.state, entry.symbol), self.value(entry.answer)

    def answers(self) -> Iterator[RuleAnswer]:
        """Yield every triple, in the order of the vocabulary."""
        for state in range(len(self.states)):
            for symbol in range(len(self.symbols)):
                yield from (RuleAnswer(state, symbol, move) for move in MOVES)

    def vocabulary(self, tapes: Sequence[str]) -> tuple[str, ...]:
        """Return the tokens: input symbols, BOS, verdicts, triples, keys and values of rules, and the names of tapes."""
        triples = (self.triple(answer) for answer in self.answers())
        return (*self.symbols[1:], BOS, ACC, REJ, HALT, *triples, *self.keys, *self.values, *tapes)

    @property
    def keys(self) -> tuple[str, ...]:
        """The tokens of what rules are for."""
        return tuple(key_token(q, a) for q in self.ruled for a in self.symbols)

    @property
    def values(self) -> tuple[str, ...]:
        """The tokens of what rules answer: the triples, then ACC and REJ."""
        return tuple(map(value_token, (*map(self.triple, self.answers()), ACC, REJ)))


def key_token(state: str, symbol: str) -> str:
    """Return the token of what a rule is for."""
    return f"{state},{symbol}"


def value_token(answer: str) -> str:
    """Return the token of what a rule answers: a triple or a verdict."""
    return f"{ARROW}{answer}"


def canonical(states: int, symbols: int) -> MachineNames:
    """Return the names of a class of machines: q0, q1, …, halt, and 0, 1, …"""
    return MachineNames((*(f"q{n}" for n in range(states)), HALT_STATE), tuple(CHARACTERS[:symbols]))


def filled(states: Sequence[str], symbols: Sequence[str], names: MachineNames) -> MachineNames:
    """Return `names` with others in their places, where these are not empty; where they are taken then, with primes."""
    found, signs = list(states), [*symbols, *[""] * (len(names.symbols) - len(symbols))]
    for n, state in enumerate(found):
        found[n] = state or _free(names.states[n], found)
    for n, symbol in enumerate(signs):
        signs[n] = symbol or next(a for a in (names.symbols[n], *CHARACTERS) if a not in signs)
    return MachineNames(tuple(found), tuple(signs))


def _free(name: str, taken: Iterable[str]) -> str:
    known = set(taken)
    while name in known:
        name += "'"
    return name
