"""Words of a formula or a program as people write them."""

from __future__ import annotations

from tm2tfr.errors import InputError, did_you_mean, visible
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.text.markdown import quoted
from tm2tfr.text.words import listed, read_word, written


def word_of(program: LogicProgram, text: str) -> tuple[str, ...]:
    """Return the tokens of a word: ``abba``, one token per character, or a JSON list, ``["push", "pop"]``.

    Raises:
        InputError: if it is empty, or has a token that is not in the alphabet.
    """
    return checked(program, tuple(map(str, read_word(text))))


def checked(program: LogicProgram, word: tuple[str, ...]) -> tuple[str, ...]:
    """Return the word.

    Raises:
        InputError: if it is empty, or has a token that is not in the alphabet.
    """
    if not word:
        raise InputError(f"{visible(program.name)}: the word is empty: give at least one token, {_for_example(program)}")
    for i, token in enumerate(word, start=1):
        if program.alphabet and token not in program.alphabet:
            what = f"{visible(program.name)}: token {i} of the word, {visible(repr(token))}, is not in the alphabet"
            close = did_you_mean(token, program.alphabet)
            if any(len(each) > 1 for each in program.alphabet):
                known = f"a JSON list of {listed(program.alphabet)}, {_for_example(program)}"
            else:
                known = listed(program.alphabet)
            raise InputError(f"{what}{close}: use {known}, or compile it with another --alphabet")
    return word


def own_word(program: LogicProgram) -> str:
    """Return the word when none is given: that of the first example of what is compiled, or the first few tokens."""
    for example in program.examples:
        if example.of in ("", program.chosen) and set(example.word) <= set(program.alphabet or example.word):
            return written(example.word)
    return written(program.alphabet[:5])


def _for_example(program: LogicProgram) -> str:
    return f"for example --input {quoted(own_word(program) or 'ab')}"
