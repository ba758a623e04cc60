"""Random automata, whether one is aperiodic by its whole monoid, and what the weights of one answer on all short words."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tm2tfr.contract.options import AutomatonOptions
from tm2tfr.runs.batches.batch import ComparedRuns
from tm2tfr.runs.batches.labelled import checked_words, every_input
from tm2tfr.sources.automaton.automaton import Automaton
from tm2tfr.sources.automaton.compiler import compile_automaton

LETTERS = "abc"


def random_automata(seed: int, number: int, *, most: int = 5) -> Iterator[Automaton]:
    """Yield deterministic automata of 1 to `most` states over two or three letters."""
    random = Random(seed)
    for n in range(number):
        states = tuple(f"q{i}" for i in range(random.randint(1, most)))
        alphabet = tuple(LETTERS[: random.randint(2, 3)])
        yield Automaton(
            name=f"random-{n}",
            states=states,
            alphabet=alphabet,
            transitions={(q, a): random.choice(states) for q in states for a in alphabet},
            start="q0",
            accepting=tuple(q for q in states if random.random() < 0.5),
        )


def aperiodic(automaton: Automaton) -> bool:
    """Whether no element of the transition monoid permutes states in a circle: every one is made and iterated."""
    letters, size = [tuple(table) for table in automaton.table], len(automaton.reachable)
    found, waiting = set(letters), list(letters)
    for element in waiting:
        for letter in letters:
            longer = tuple(letter[q] for q in element)
            if longer not in found:
                found.add(longer)
                waiting.append(longer)
    for element in found:
        power = element
        for _ in range(size):
            power = tuple(element[q] for q in power)
        if tuple(element[q] for q in power) != power:
            return False
    return True


OURS = AutomatonOptions()


def compared(automaton: Automaton, longest: int, options: AutomatonOptions = OURS) -> ComparedRuns:
    """Compare every output of an automaton's weights at every position of all words of up to so many tokens."""
    decoder = compile_automaton(automaton, options)
    return checked_words(decoder, automaton, every_input(len(automaton.alphabet), longest))
