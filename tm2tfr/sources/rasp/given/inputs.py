"""Inputs of a RASP program as people write them, and the tokens of its alphabet."""

from __future__ import annotations

from tm2tfr.errors import InputError, did_you_mean, visible
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.text.words import listed, read_word, written


def word_of(program: Program, text: str) -> Word:
    """Return the tokens of an input: ``hello``, one token per character, or a JSON list, ``["a", 3]``.

    A token can be written as text where the alphabet has a number, ``12`` for 1 and 2.

    Raises:
        InputError: if it is empty, or has a token that is not in the alphabet.
    """
    if not text:
        raise InputError(f"{visible(program.name)}: the input is empty: give at least one token, {_for_example(program)}")
    by_text = {shown_atom(token): token for token in program.alphabet}
    found = []
    for i, token in enumerate(read_word(text)):
        shown = shown_atom(token)
        if shown not in by_text:
            what = f"{visible(program.name)}: token {i} of the input, {visible(repr(shown))}, is not in the alphabet"
            close = did_you_mean(shown, by_text)
            raise InputError(
                f"{what}{close}: use {listed([*map(shown_atom, program.alphabet)])}, or compile it with another --alphabet"
            )
        found.append(by_text[shown])
    return tuple(found)


def own_word(program: Program) -> str:
    """Return the input when none is given: that of the first example, or the first tokens of the alphabet."""
    for example in program.examples:
        if example.sop == program.chosen and not example.error and set(example.input) <= set(program.alphabet):
            return written(example.input)
    return written(program.alphabet[:5]) if program.alphabet else ""


def _for_example(program: Program) -> str:
    own = own_word(program)
    return f"for example --input {own}" if own else "for example --input ab"
