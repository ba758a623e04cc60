"""Where formulas and programs of temporal logic come from: a path, or those shipped with the package."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.base import resources
from tm2tfr.base.errors import InputError, did_you_mean, visible
from tm2tfr.base.text.shown import quoted
from tm2tfr.base.text.source import SourceText
from tm2tfr.base.text.words import listed, read_word, written

if TYPE_CHECKING:
    from tm2tfr.sources.logic.program import Language, LogicProgram
    from tm2tfr.sources.logic.read import LoadedLogic


KINDS = (resources.FORMULAS, resources.ATTENTION_PROGRAMS)
ENDINGS = tuple(kind.endings[0] for kind in KINDS)
STDIN = "<stdin>"
_OURS = frozenset({"LETTER", "COUNT", "HASH", "ATTEND", "PSUM", "TEMPORAL"})
_FOREIGN = frozenset({"INPUT", "OUTPUT", "repeat"})
"""What a list of gates, or a loop of RASP, begins with."""


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped formulas and then those of the shipped programs, each sorted."""
    return tuple(name for kind in KINDS for name in resources.shipped(kind))


def is_logic(given: str | Path) -> bool:
    """Return whether an argument is a formula or a program of logic: by its ending, or the name of a shipped one."""
    if Path(given).suffix.lower() in ENDINGS:
        return True
    return isinstance(given, str) and any(resources.is_shipped(kind, given) for kind in KINDS)


def load(where: str | Path, *, language: Language | None = None) -> LoadedLogic:
    """Load a formula or program from a path, or a shipped one by its name, with or without its ending; a file comes first.

    Args:
        where: the path or the name.
        language: the language of the text; None: by its extension.

    Raises:
        NotFoundError: if there is no such file and no such shipped one.
        ReadError: if it cannot be read.
        SpecError: with every error of the text.
    """
    from tm2tfr.sources.logic.read import read  # noqa: PLC0415  (grammars take their time to load)

    path = Path(where)
    for kind, ending in zip(KINDS, ENDINGS, strict=True):
        bare = path.name.removesuffix(ending) if str(where) == path.name else ""
        if bare in resources.files_of(kind) and not resources.is_file(path):
            return read(resources.shipped_text(kind, bare), file=f"{bare}{ending}", language=language)
    kind = KINDS[path.suffix.lower() == ENDINGS[1]]
    return read(resources.contents(kind, str(where)), file=resources.display(str(where)), name=path.stem, language=language)


def looks_like(text: bytes) -> bool:
    """Return whether a text whose file is not known is a formula or a program of logic, by what its definitions have."""
    from tm2tfr.sources.logic.language.lexemes import lexemes, statements  # noqa: PLC0415
    from tm2tfr.sources.logic.read import language_of  # noqa: PLC0415

    source = SourceText(text.decode(errors="replace"), STDIN)
    if language_of(source.text) == "srasp":
        return True
    for tokens in islice(statements(lexemes(source)), 20):
        if str(tokens[0]) in _FOREIGN or any(token.type == "COLON" for token in tokens[1:2]):
            return False
        if any(token.type in _OURS or str(token) in ("position", "Q") for token in tokens):
            return True
    return False


def from_text(text: bytes, *, language: Language | None = None) -> LoadedLogic:
    """Return the formula or program that was read from standard input.

    Raises:
        SpecError: with every error of the text.
    """
    from tm2tfr.sources.logic.read import read  # noqa: PLC0415

    return read(text, file=STDIN, name="stdin", language=language)


# ── Words of a formula or a program as people write them.
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
    """Return the default input: that of the first example of what is compiled, or the first few tokens."""
    for example in program.examples:
        if example.of in ("", program.chosen) and set(example.word) <= set(program.alphabet or example.word):
            return written(example.word)
    return written(program.alphabet[:5])


def _for_example(program: LogicProgram) -> str:
    return f"for example --input {quoted(own_word(program) or 'ab')}"
