"""The readable part of an automaton's text with its places, and the automaton that it makes, deterministic or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from tm2tfr.base.errors import Diagnostic, counted, visible
from tm2tfr.base.text.nodes import Node, Reading
from tm2tfr.base.text.words import listed
from tm2tfr.sources.automaton.automaton import (
    MOST_STATES,
    RESERVED_TOKENS,
    Automaton,
    Choices,
    TooManySubsetsError,
    WordVerdict,
    completed,
    determinised,
)

MOST_LETTERS = 1_000
"""The most tokens of an alphabet."""


@dataclass(frozen=True, kw_only=True)
class LoadedAutomaton:
    """An automaton, and remarks about reading it."""

    program: Automaton
    warnings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class Edge:
    """A transition as it is written; an empty token reads nothing."""

    source: str
    token: str
    target: str
    node: Node | None


@dataclass
class AutomatonDraft(Reading):
    """The readable part of an automaton.

    Args:
        name, title: of it.
        alphabet: its tokens, if the text lists them.
        states: name -> where it is written, in the order of the text.
        edges: its transitions.
        start: the start states; accept: the accepting ones.
        examples: words with their verdicts.
        pattern: the regular expression, if it is one.
    """

    name: str = ""
    title: str = ""
    alphabet: tuple[str, ...] | None = None
    states: dict[str, Node | None] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    start: str = ""
    accept: list[str] = field(default_factory=list)
    examples: list[WordVerdict] = field(default_factory=list)
    pattern: str = ""
    where: Node | None = None
    """The place of a message if there is no better one."""

    def loaded(self) -> LoadedAutomaton:
        """Return the automaton.

        Raises:
            SpecError: with every error.
        """
        alphabet = self._alphabet()
        self.log.conclude()
        choices = self._choices()
        if choices.chooses:
            found = self._determinised(choices, alphabet)
        else:
            given = {(edge.source, edge.token): edge.target for edge in self.edges}
            transitions, states, trap = completed(given, tuple(self.states), alphabet)
            found = Automaton(
                name=self.name,
                states=states,
                alphabet=alphabet,
                transitions=transitions,
                start=self.start,
                accepting=tuple(dict.fromkeys(self.accept)),
                trap=trap,
            )
        found = replace(found, title=self.title, examples=tuple(self.examples), pattern=self.pattern)
        return LoadedAutomaton(program=found, warnings=self.log.conclude())

    def _alphabet(self) -> tuple[str, ...]:
        read = dict.fromkeys(edge.token for edge in self.edges if edge.token)
        if self.alphabet is None:
            alphabet = tuple(sorted({*read, *(token for example in self.examples for token in example.word)}))
        else:
            alphabet = self.alphabet
        known = set(alphabet)
        for edge in self.edges:
            if edge.token and edge.token not in known:
                problem = f"{visible(repr(edge.token))} is not in the alphabet, which is {listed(alphabet)}"
                self.error(edge.node, problem, "fix the transition, or add it to the alphabet")
        for example in self.examples:
            for token in dict.fromkeys(example.word):
                if token not in known:
                    problem = f"an example has {visible(repr(token))}, which is not in the alphabet"
                    self.error(self.where, problem, "fix the word, or add it to the alphabet")
        for token in alphabet:
            if token in RESERVED_TOKENS:
                self.error(self.where, f"the token {token!r} is reserved", "rename it")
        if not alphabet and not self.log.broken:
            problem = "no transition reads a token, and no alphabet is given"
            self.error(self.where, problem, "list its tokens: <!-- alphabet: ab --> in JFLAP, alphabet: [a, b] in YAML")
        if len(alphabet) > MOST_LETTERS:
            problem = f"the alphabet has {len(alphabet):,} tokens, and at most {MOST_LETTERS:,} are read"
            self.error(self.where, problem, "use fewer tokens")
        return alphabet

    def _choices(self) -> Choices:
        numbers = {state: number for number, state in enumerate(self.states)}
        choices = Choices(len(numbers), {numbers[self.start]}, {numbers[state] for state in self.accept})
        for edge in self.edges:
            if edge.token:
                choices.move(numbers[edge.source], edge.token, numbers[edge.target])
            else:
                choices.step(numbers[edge.source], numbers[edge.target])
        return choices

    def _determinised(self, choices: Choices, alphabet: Sequence[str]) -> Automaton:
        try:
            found = determinised(choices, alphabet, self.name)
        except TooManySubsetsError:
            problem = f"its deterministic automaton has more than {MOST_STATES:,} states"
            self.refuse(self.where, problem, "use an automaton with fewer choices")
        if self.pattern:
            return found
        made, size = (
            f"a nondeterministic automaton of {counted(choices.states, 'state')}",
            counted(len(found.states), "state"),
        )
        problem = f"it is nondeterministic: its minimal deterministic automaton, of {size}, is taken"
        self.warn(self.where, problem, "'tm2tfr convert' writes that one")
        return replace(found, made=made)


def stem(file: str) -> str:
    """Return the default name of an automaton: that of its file."""
    return "automaton" if file.startswith("<") else PurePath(file).stem or "automaton"


def verdicts(words: Iterable[tuple[str, ...]], *, accepted: bool) -> list[WordVerdict]:
    """Return words with one verdict."""
    return [WordVerdict(word=word, accepted=accepted) for word in words]
