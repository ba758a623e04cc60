"""The names of states and symbols of a universal decoder, and the spelling of its tokens.

A class of machines has names of its own, the canonical ones; weights with a machine in the prompt have that machine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tm2tfr.base.errors import CompileError, counted, visible
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import ACC, ARROW, BOS, HALT, REJ, VERDICTS, Triple

GivenVerdict = Literal["ACC", "REJ"]
CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The canonical symbols, the blank first."""
HALT_STATE = "halt"
"""The canonical name of the state without rules."""
MOVES = (-1, 0, 1)


class RuleAnswer(NamedTuple):
    """The answer of a rule: the number of the new state, the symbol written, and the move."""

    state: int
    symbol: int
    move: int


class Entry(NamedTuple):
    """A rule in a prompt: the answer in `state` on `symbol`, both as numbers."""

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
        """Return the token for a rule's state and symbol: ``q0,1``."""
        return key_token(self.states[state], self.symbols[symbol])

    def value(self, answer: RuleAnswer | GivenVerdict) -> str:
        """Return the token for a rule's answer: ``→(q1,0,+1)`` or ``→ACC``."""
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
    """Return the token for a rule's state and symbol."""
    return f"{state},{symbol}"


def value_token(answer: str) -> str:
    """Return the token for a rule's answer: a triple or a verdict."""
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


# ── a machine as it stands in the prompt of a universal decoder: which of its states and symbols is which, and its rules
NOT_STATES = frozenset(map(value_token, (ACC, REJ)))
"""Names that states of a machine in the prompt cannot have: those of the states in which its reference stops."""


class Placed(NamedTuple):
    """The names of the states and symbols of a decoder, and the rules of the machine in its prompt."""

    names: MachineNames
    entries: tuple[Entry, ...]


def placed(machine: Machine, names: MachineNames, tape: str) -> Placed:
    """Return `machine` in the prompt of a decoder.

    The start state is q0, the others with rules follow in the machine's order. In a machine that decides, a
    rule answers with the verdict of the state that it enters, and one is added, which rejects, wherever there is none. In
    a machine that only halts, the first state without rules is the decoder's own, and others are states like any.

    Args:
        names: those of the decoder's class.
        tape: ``one-way``, ``two-way`` or ``both``.

    Raises:
        CompileError: if the machine has too many states or symbols, with the numbers that would do, or another tape, or a
            state with the name of a verdict.
    """
    refuse_other_tape(machine, tape)
    every = filled(*_fitted(machine, names), names)
    if taken := next((q for q in every.states if q in NOT_STATES), None):
        problem = f"{visible(machine.name)}: its state {taken!r} has the name of a verdict in the prompt"
        raise CompileError(f"{problem}: rename it")
    states = {q: n for n, q in enumerate(every.states)}
    symbols = {a: n for n, a in enumerate(every.symbols)}
    return Placed(every, tuple(_entries(machine, states, symbols)))


def refuse_other_tape(machine: Machine, tape: str) -> None:
    """Raise CompileError if `machine` has another tape than `tape`, ``one-way``, ``two-way`` or ``both``."""
    if tape not in ("both", machine.tape):
        problem = (
            f"{visible(machine.name)}: its tape is {machine.tape}, and this decoder is for machines with a {tape} tape"
        )
        raise CompileError(f"{problem}: use one for both tapes, which is the default")


def size_of(machine: Machine) -> tuple[int, int]:
    """Return the sizes of the smallest decoder that `machine` fits into: S and K.

    S counts the states that have rules (the start state in any case) and, in a machine that halts without verdicts, the
    halting states beyond the first. K counts the tape symbols, the blank among them.
    """
    ruled, _, symbols = _own(machine)
    return len(ruled), len(symbols)


def _own(machine: Machine) -> tuple[list[str], list[str], list[str]]:
    """Return the machine's states in the places of those with rules, that without rules if it has one, and its symbols."""
    halting = [q for q in machine.states if q in machine.halting_states and q != machine.start]
    resting = [] if machine.decides else halting
    ruled = [machine.start, *(q for q in machine.states if q not in halting and q != machine.start), *resting[1:]]
    return ruled, resting[:1], [machine.blank, *(a for a in machine.tape_alphabet if a != machine.blank)]


def _fitted(machine: Machine, names: MachineNames) -> tuple[list[str], list[str]]:
    """Return the machine's states and symbols in the places of the decoder's, with empty ones in between.

    Raises:
        CompileError: if they do not fit.
    """
    ruled, resting, symbols = _own(machine)
    room, most = len(names.ruled), len(names.symbols)
    if len(ruled) > room or len(symbols) > most:
        further = len(ruled) - len([q for q in ruled if q not in machine.halting_states or q == machine.start])
        sizes = [f"{counted(len(ruled) - further, 'state')} with rules", counted(len(symbols), "symbol")]
        if further:
            sizes.insert(1, f"{further + 1} halting states, all but the first of which count as well")
        has = f"{', '.join(sizes[:-1])}{',' if further else ''} and {sizes[-1]}"
        problem = f"{visible(machine.name)}: it has {has}, and this decoder runs machines with at most {room} and {most}"
        if len(symbols) > len(CHARACTERS):
            raise CompileError(f"{problem}, and none has more than {len(CHARACTERS)} symbols: compile the machine alone")
        raise CompileError(f"{problem}: use the size {len(ruled)},{len(symbols)} or a larger one")
    return [*ruled, *[""] * (room - len(ruled)), *(resting or [""])], symbols


def _entries(machine: Machine, states: Mapping[str, int], symbols: Mapping[str, int]) -> Iterator[Entry]:
    if machine.decides and (verdict := _verdict(machine, machine.start)) is not None:
        yield from (Entry(states[machine.start], symbols[a], verdict) for a in machine.tape_alphabet)
    for (q, a), rule in machine.transitions.items():
        verdict = _verdict(machine, rule.state) if machine.decides else None
        answer = RuleAnswer(states[rule.state], symbols[rule.write], rule.move) if verdict is None else verdict
        yield Entry(states[q], symbols[a], answer)
    if machine.decides:
        yield from (Entry(states[q], symbols[a], "REJ") for q, a in machine.missing_rules)


def _verdict(machine: Machine, state: str) -> GivenVerdict | None:
    outcome = machine.outcome_of(state)
    return None if outcome is None else VERDICTS[outcome]  # type: ignore[return-value]
