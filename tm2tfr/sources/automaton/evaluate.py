"""The run of an automaton on a word, as in a textbook: the reference, which shares nothing with the compiler."""

from __future__ import annotations

from collections.abc import Sequence

from tm2tfr.sources.automaton.automaton import Automaton


def run(automaton: Automaton, word: Sequence[str]) -> tuple[str, ...]:
    """Return the state before the word and the state after each token."""
    states = [automaton.start]
    for token in word:
        states.append(automaton.transitions[states[-1], token])
    return tuple(states)


def accepts(automaton: Automaton, word: Sequence[str]) -> bool:
    """Return whether the state after the whole word is accepting."""
    return run(automaton, word)[-1] in automaton.accepting
