"""Words of an automaton as people write them."""

from __future__ import annotations

from tm2tfr.base.errors import InputError, did_you_mean, visible
from tm2tfr.base.text.shown import quoted
from tm2tfr.base.text.words import listed, read_word, written
from tm2tfr.sources.automaton.automaton import Automaton


def word_of(automaton: Automaton, text: str) -> tuple[str, ...]:
    """Return the tokens of a word: ``abba``, one token per character, or a JSON list, ``["push", "pop"]``.

    Raises:
        InputError: if it is empty, or has a token that is not in the alphabet.
    """
    word = tuple(map(str, read_word(text)))
    if not word:
        start = "accepts" if automaton.start in automaton.accepting else "does not accept"
        problem = f"the word is empty (the automaton {start} it), and weights answer at tokens"
        raise InputError(f"{visible(automaton.name)}: {problem}: give at least one, {_for_example(automaton)}")
    for i, token in enumerate(word, start=1):
        if token not in automaton.alphabet:
            what = f"{visible(automaton.name)}: token {i} of the word, {visible(repr(token))}, is not in the alphabet"
            close = did_you_mean(token, automaton.alphabet)
            known = listed(automaton.alphabet)
            if any(len(each) > 1 for each in automaton.alphabet):
                known = f"a JSON list of {known}, {_for_example(automaton)}"
            raise InputError(f"{what}{close}: use {known}, or compile it with another --alphabet")
    return word


def own_word(automaton: Automaton) -> str:
    """Return the default input: the first that its author says is accepted, otherwise the first few tokens."""
    known = [example for example in automaton.examples if example.word]
    found = next((each for each in known if each.accepted), next(iter(known), None))
    return written(automaton.alphabet[:5] if found is None else found.word)


def _for_example(automaton: Automaton) -> str:
    return f"for example --input {quoted(own_word(automaton))}"
