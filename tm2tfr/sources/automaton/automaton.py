"""Finite automata, deterministic and complete, and operations on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tm2tfr.base.errors import CompileError, counted, did_you_mean

STATE, ACCEPTS = "state", "accepts"
"""The outputs of the weights at each token: the state after it, and whether that state accepts."""
TRAP = "trap"
"""The state that is added for missing transitions; it gets a number if this name is taken."""
RESERVED_TOKENS = ("BOS", "EOS", "⊥")
"""Tokens that the transformer reserves; the last stands for ⊥."""


@dataclass(frozen=True, kw_only=True)
class WordVerdict:
    """A word, and whether the automaton should accept it, by its author."""

    word: tuple[str, ...]
    accepted: bool


@dataclass(frozen=True, kw_only=True)
class Automaton:
    """A deterministic finite automaton with a transition for each state and each token.

    Args:
        name: the name of its file without the extension, or the text of a regular expression.
        states: the names of the states, in any order.
        alphabet: its tokens.
        transitions: (state, token) -> the next state, for every pair.
        start: the start state.
        accepting: the accepting states.
        title: one line about it.
        examples: words with their verdicts, by its author.
        made: the original that it was converted from, ``an NFA of 3 states``; empty: not converted.
        trap: the state that was added for missing transitions; empty: none.
        pattern: the regular expression that it was made of; empty: none.

    Raises:
        CompileError: if it is not complete, or names an unknown state or token.
    """

    name: str
    states: tuple[str, ...]
    alphabet: tuple[str, ...]
    transitions: Mapping[tuple[str, str], str] = field(repr=False, hash=False)
    start: str
    accepting: tuple[str, ...]
    title: str = ""
    examples: tuple[WordVerdict, ...] = field(default=(), repr=False)
    made: str = ""
    trap: str = ""
    pattern: str = ""

    def __repr__(self) -> str:
        tokens = ", ".join(self.alphabet[:8]) + (", …" if len(self.alphabet) > 8 else "")
        return f"<Automaton {self.name}: {counted(len(self.states), 'state')} over {tokens}>"

    def __post_init__(self) -> None:
        for what, names in (("state", self.states), ("token", self.alphabet)):
            if not names:
                raise CompileError(f"{self.name}: the automaton has no {what}s: give it at least one")
            twice = next((name for n, name in enumerate(names) if name in names[:n]), None)
            if twice is not None:
                raise CompileError(f"{self.name}: the {what} {twice!r} is there twice: rename one of them")
        if "" in self.states:
            raise CompileError(f"{self.name}: a state has no name: name it")
        token = next((token for token in self.alphabet if token in RESERVED_TOKENS or not token), None)
        if token is not None:
            problem = f"the token {token!r} is reserved" if token else "a token is empty"
            raise CompileError(f"{self.name}: {problem}: rename it")
        for state in (self.start, *self.accepting, *self.transitions.values()):
            if state not in self.states:
                close = did_you_mean(state, self.states)
                raise CompileError(f"{self.name}: there is no state {state!r}{close}: use one of the states")
        missing = next(((q, a) for q in self.states for a in self.alphabet if (q, a) not in self.transitions), None)
        if missing is not None:
            problem = f"no transition from the state {missing[0]!r} reads {missing[1]!r}"
            raise CompileError(f"{self.name}: {problem}: add it, since there is one for each state and token")

    @property
    def chosen(self) -> str:
        """The output that the verdict is read from."""
        return ACCEPTS

    @cached_property
    def reachable(self) -> tuple[str, ...]:
        """The states that some word leads to, in the order of a search from the start state."""
        found = {self.start: None}
        waiting = [self.start]
        for state in waiting:
            for token in self.alphabet:
                after = self.transitions[state, token]
                if after not in found:
                    found[after] = None
                    waiting.append(after)
        return tuple(found)

    @cached_property
    def table(self) -> tuple[tuple[int, ...], ...]:
        """For each token the map of reachable states, as indices into `reachable`."""
        places = {state: place for place, state in enumerate(self.reachable)}
        return tuple(tuple(places[self.transitions[q, a]] for q in self.reachable) for a in self.alphabet)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """State -> its symbol in programs and in the table: its name, if all languages can write it."""
        found: dict[str, str] = {}
        taken = set(self.states)
        for number, state in enumerate(self.states):
            plain = (
                state.isprintable() and state == state.strip() and state not in ("", "⊥", "-", "T", "F", "True", "False")
            )
            if plain and not {'"', "\\"} & set(state):
                found[state] = state
                continue
            label = f"q{number}"
            while label in taken:
                label += "'"
            taken.add(label)
            found[state] = label
        return found


def completed(
    transitions: Mapping[tuple[str, str], str], states: Sequence[str], alphabet: Sequence[str]
) -> tuple[dict[tuple[str, str], str], tuple[str, ...], str]:
    """Return transitions and states with a trap state for missing transitions, and its name; empty if none are missing."""
    missing = [(q, a) for q in states for a in alphabet if (q, a) not in transitions]
    if not missing:
        return dict(transitions), tuple(states), ""
    trap, number = TRAP, 2
    while trap in states:
        trap, number = f"{TRAP}{number}", number + 1
    whole = {**transitions, **dict.fromkeys(missing, trap), **{(trap, a): trap for a in alphabet}}
    return whole, (*states, trap), trap


def classes(automaton: Automaton) -> dict[str, str]:
    """Return for each reachable state the first one that accepts the same words from there on.

    Source: Moore's partition refinement.
    """
    states, places = automaton.reachable, range(len(automaton.reachable))
    accepting = set(automaton.accepting)
    block = [int(state in accepting) for state in states]
    while True:
        keys = [(block[q], *(block[after[q]] for after in automaton.table)) for q in places]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        if len(numbers) == len(set(block)):
            break
        block = [numbers[key] for key in keys]
    first = {number: states[q] for q, number in reversed(list(enumerate(block)))}
    return {state: first[number] for state, number in zip(states, block, strict=True)}


def minimised(automaton: Automaton) -> Automaton:
    """Return the minimal automaton of the same language; each state has the name of the first state of its class."""
    of = classes(automaton)
    kept = tuple(dict.fromkeys(of.values()))
    transitions = {(q, a): of[automaton.transitions[q, a]] for q in kept for a in automaton.alphabet}
    return replace(
        automaton,
        states=kept,
        transitions=transitions,
        start=of[automaton.start],
        accepting=tuple(state for state in kept if state in set(automaton.accepting)),
        trap=automaton.trap if automaton.trap in kept else "",
    )


def with_alphabet(automaton: Automaton, alphabet: Sequence[str]) -> Automaton:
    """Return the automaton over another alphabet: new tokens lead to a trap state.

    Raises:
        CompileError: if the alphabet lacks a token that the automaton reads.
    """
    lost = next((token for token in automaton.alphabet if token not in alphabet), None)
    if lost is not None:
        problem = f"its transitions read {lost!r}, which is not in the alphabet"
        raise CompileError(f"{automaton.name}: {problem}: add it to --alphabet, or remove the transitions")
    transitions, states, trap = completed(automaton.transitions, automaton.states, alphabet)
    if automaton.trap and trap:  # one trap is enough
        known = {(q, a): automaton.trap if r == trap else r for (q, a), r in transitions.items() if q != trap}
        transitions, states, trap = known, automaton.states, automaton.trap
    return replace(automaton, alphabet=tuple(alphabet), transitions=transitions, states=states, trap=trap or automaton.trap)


# ── automata that choose: several next states, and steps that read nothing ──────────────────────────────────
@dataclass
class Choices:
    """A nondeterministic automaton with states 0, 1, …, under construction.

    Args:
        states: the number of its states.
        start: the start states.
        accepting: the accepting states.
        moves: (state, token) -> the next states.
        silent: state -> the states after an ε-transition.
    """

    states: int = 0
    start: set[int] = field(default_factory=set)
    accepting: set[int] = field(default_factory=set)
    moves: dict[tuple[int, str], set[int]] = field(default_factory=dict)
    silent: dict[int, set[int]] = field(default_factory=dict)

    def state(self) -> int:
        """Add a state."""
        self.states += 1
        return self.states - 1

    def move(self, state: int, token: str, after: int) -> None:
        """Add a transition."""
        self.moves.setdefault((state, token), set()).add(after)

    def step(self, state: int, after: int) -> None:
        """Add an ε-transition."""
        self.silent.setdefault(state, set()).add(after)

    @property
    def chooses(self) -> bool:
        """Whether it is nondeterministic."""
        return len(self.start) != 1 or bool(self.silent) or any(len(after) > 1 for after in self.moves.values())

    def closed(self, states: frozenset[int] | set[int]) -> frozenset[int]:
        """Return the ε-closure of states."""
        found, waiting = set(states), list(states)
        while waiting:
            for after in self.silent.get(waiting.pop(), ()):
                if after not in found:
                    found.add(after)
                    waiting.append(after)
        return frozenset(found)

    def subsets(self, alphabet: Sequence[str], most: int) -> Iterator[tuple[frozenset[int], str, frozenset[int]]]:
        """Yield the transitions of the subset construction, from the start state on.

        Raises:
            TooManySubsets: if there are more than `most` subsets.
        """
        first = self.closed(self.start)
        known, waiting = {first}, [first]
        for states in waiting:
            for token in alphabet:
                after = self.closed({r for q in states for r in self.moves.get((q, token), ())})
                yield states, token, after
                if after not in known:
                    if len(known) >= most:
                        raise TooManySubsetsError
                    known.add(after)
                    waiting.append(after)


class TooManySubsetsError(Exception):
    """The subset construction has too many states."""


MOST_STATES = 2_000
"""The most states of a deterministic automaton."""


def determinised(choices: Choices, alphabet: Sequence[str], name: str) -> Automaton:
    """Return the minimal deterministic automaton of a nondeterministic one; states are q0, q1, … in the order of discovery.

    Raises:
        TooManySubsetsError: if the subset construction has more than `MOST_STATES` states.
    """
    numbers: dict[frozenset[int], str] = {}
    transitions: dict[tuple[str, str], str] = {}
    numbers[choices.closed(choices.start)] = "q0"
    for states, token, after in choices.subsets(alphabet, MOST_STATES):
        called = numbers.setdefault(after, f"q{len(numbers)}")
        transitions[numbers[states], token] = called
    accepting = tuple(name for states, name in numbers.items() if states & choices.accepting)
    found = minimised(
        Automaton(
            name=name,
            states=tuple(numbers.values()),
            alphabet=tuple(alphabet),
            transitions=transitions,
            start="q0",
            accepting=accepting,
        )
    )
    return renamed(found, {state: f"q{number}" for number, state in enumerate(found.reachable)})


def renamed(automaton: Automaton, names: Mapping[str, str]) -> Automaton:
    """Return the automaton with other names of its states."""
    return replace(
        automaton,
        states=tuple(names[state] for state in automaton.states),
        transitions={(names[q], a): names[r] for (q, a), r in automaton.transitions.items()},
        start=names[automaton.start],
        accepting=tuple(names[state] for state in automaton.accepting),
        trap=names.get(automaton.trap, ""),
    )
