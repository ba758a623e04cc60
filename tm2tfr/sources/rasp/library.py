"""Where RASP programs come from: a path, or the programs shipped with the package."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.base import resources
from tm2tfr.base.errors import InputError, did_you_mean, visible
from tm2tfr.base.text.words import listed, read_word, written

if TYPE_CHECKING:
    from tm2tfr.sources.rasp.program import Program, Word
    from tm2tfr.sources.rasp.read import LoadedRasp


ENDING = resources.PROGRAMS.endings[0]
_FIRST = re.compile(
    rb"""(\xef\xbb\xbf)?(\s|\#[^\n]*(\n|$))*
    (def\s+\w+\s*\( | set\s+example\b | (load|draw|for)\b[^\n:]*[;{] | \w+(\s*,\s*\w+)*\s*=[^=][^\#]*?;)""",
    re.VERBOSE,
)
"""How a program begins, and the text of no machine and no circuit does: behind comments, with a statement."""


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped programs, sorted."""
    return resources.shipped(resources.PROGRAMS)


def is_program(given: str | Path) -> bool:
    """Return whether an argument is a RASP program: by its ending, or the name of a shipped one."""
    return Path(given).suffix.lower() == ENDING or (
        isinstance(given, str) and resources.is_shipped(resources.PROGRAMS, given)
    )


def load(where: str | Path) -> LoadedRasp:
    """Load a program from a path, or a shipped one by its name, with or without ``.rasp``; a file comes first.

    Raises:
        NotFoundError: if there is no such file and no such shipped program.
        ReadError: if it cannot be read.
        SpecError: with every error of the text.
    """
    from tm2tfr.sources.rasp.read import read  # noqa: PLC0415  (grammars take their time to load)

    path = Path(where)
    name = path.stem if str(where) == path.name else ""
    if name in shipped() and not resources.is_file(path):
        return read(resources.shipped_text(resources.PROGRAMS, name), file=f"{name}{ENDING}")
    return read(resources.contents(resources.PROGRAMS, str(where)), file=resources.display(str(where)), folder=path.parent)


def looks_like(text: bytes) -> bool:
    """Return whether a text whose file is not known is a RASP program, by its first statement."""
    return _FIRST.match(text) is not None


# ── Inputs of a RASP program as people write them, and the tokens of its alphabet.
def word_of(program: Program, text: str) -> Word:
    """Return the tokens of an input: ``hello``, one token per character, or a JSON list, ``["a", 3]``.

    A token can be written as text where the alphabet has a number, ``12`` for 1 and 2.

    Raises:
        InputError: if it is empty, or has a token that is not in the alphabet.
    """
    from tm2tfr.sources.rasp.program import shown_atom  # noqa: PLC0415  (the programs of other languages do not need it)

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
