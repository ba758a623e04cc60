"""Reads a formula or a program: its headers, its definitions, and the nodes that they make."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import Diagnostic, Span, did_you_mean
from tm2tfr.base.text.source import Log, Mark, decoded
from tm2tfr.sources.logic.language.elaborate import LogicElaborator
from tm2tfr.sources.logic.language.parse import Stated, parse
from tm2tfr.sources.logic.nodes import Input, Node, OneOf
from tm2tfr.sources.logic.program import (
    RESERVED_TOKENS,
    Language,
    LogicHeaders,
    LogicProgram,
    WordExample,
    read_headers,
    resembling,
    tokens_of,
)

_DEFINES = re.compile(r"(^|;)[ \t]*[^\W\d]\w*\([ \t]*i[ \t]*\)[ \t]*(:=|=(?!=))", re.MULTILINE)
"""The beginning of a definition, ``name(i) =``, which tells a program from a formula."""

_NUMBER = re.compile(r"-?\d+", re.ASCII)


@dataclass(frozen=True)
class LoadedLogic:
    """A formula or a program that has been read.

    Args:
        program: it.
        warnings: warnings about likely mistakes.
    """

    program: LogicProgram
    warnings: tuple[Diagnostic, ...] = ()


def read(text: str | bytes, *, file: str, name: str = "", language: Language | None = None) -> LoadedLogic:
    """Return the formula or program that a text describes.

    Args:
        file: its name, for messages.
        name: the program's name; empty: that of the file without its extension.
        language: None: by the ending of the file, ``.tl`` or ``.srasp``, or else by whether the text defines ``name(i)``.

    Raises:
        SpecError: with every complaint, if one of them is an error.
    """
    source = decoded(text, file=file, noun="formula")
    log = Log(source)
    language = language or language_of(source.text, file)
    said = read_headers(log)
    stated = parse(log)
    worker = LogicElaborator(log, language, said.alphabet)
    worker.run(stated)
    broken = log.broken
    shown = {n: node for n, node in worker.definitions.items() if not n.startswith("_")} or worker.definitions
    chosen = said.define or next(reversed(shown), "")
    if not broken and not shown:
        log.add(None, "there is no formula in this text", "write one, for example: once Q[a]")
    elif not broken and chosen not in shown:
        what = f"the header names {chosen!r}, which is not defined{did_you_mean(chosen, shown)}"
        log.add(_line(log, said, "define"), what, "name a definition")
    if not broken and chosen in shown:
        _unused(stated, worker.used, chosen, log)
    examples = tuple(_meant(each, shown, chosen, said.alphabet) for each in said.examples)
    alphabet = said.alphabet or _letters(worker.build.nodes, examples)
    if not broken:
        _check_examples(examples, shown, alphabet, said, log)
        _check_letters(worker.build.nodes, log)
    warnings = log.conclude()
    program = LogicProgram(
        name=name or Path(file).stem,
        text=source.text,
        language=language,
        definitions=shown,
        chosen=chosen,
        alphabet=alphabet,
        examples=examples,
        title=said.title,
    )
    return LoadedLogic(program, warnings)


def formula(text: str, alphabet: str | Sequence[str] | None = None) -> LogicProgram:
    """Return one formula of temporal logic, named by its text.

    Args:
        alphabet: the tokens of its words, as one text if each is a character; None: the letters that it names.

    Raises:
        SpecError: with every complaint about the text.
    """
    program = read(text, file="<formula>", name=text, language="tl").program
    if alphabet is None:
        return program
    return replace(program, alphabet=tokens_of(alphabet) if isinstance(alphabet, str) else tuple(alphabet))


def language_of(text: str, file: str = "") -> Language:
    """Return the language of a text, by the ending of its file, or else by its definitions."""
    ending = Path(file).suffix.lower()
    if ending in (".tl", ".srasp"):
        return "tl" if ending == ".tl" else "srasp"
    return "srasp" if _DEFINES.search(text) else "tl"


def _letters(nodes: Sequence[Node], examples: tuple[WordExample, ...]) -> tuple[str, ...]:
    """Return the letters that occur, sorted."""
    found = {value for node in nodes if isinstance(node, OneOf) and isinstance(node.of, Input) for value in node.values}
    return tuple(sorted(found | {token for example in examples for token in example.word}))


def _meant(example: WordExample, known: dict[str, Node], chosen: str, alphabet: tuple[str, ...]) -> WordExample:
    """Return the example; ``a(b)`` is a word where nothing is defined as a and the alphabet has brackets.

    Of a number, values are separated by blanks, or have a digit each, or are one number, the last position's.
    """
    if example.of and example.of not in known:
        whole = (*example.of, "(", *example.word, ")")
        if set(whole) <= set(alphabet):
            return replace(example, of="", word=whole)
    node = known.get(example.of or chosen)
    if node is not None and node.kind == "number":
        said = "".join(example.values).split()
        plain = len(example.values) == len(example.word) and all(map(str.isdigit, example.values))
        if not plain and said and all(map(_NUMBER.fullmatch, said)) and all(len(value) == 1 for value in example.values):
            return replace(example, values=tuple(said))
    return example


def _check_examples(
    examples: tuple[WordExample, ...], known: dict[str, Node], alphabet: tuple[str, ...], said: LogicHeaders, log: Log
) -> None:
    for number, example in enumerate(examples):
        span = _line(log, said, f"example {number}")
        if example.of and example.of not in known:
            what = f"the example is of {example.of!r}, which is not defined{did_you_mean(example.of, known)}"
            log.add(span, what, "name a definition")
        if not example.word:
            log.add(span, "the example has an empty word", "write a word of at least one token")
        elif len(example.values) not in (1, len(example.word)):
            what = f"the example has {len(example.word)} tokens and {len(example.values)} values"
            log.add(span, what, "write a value for each token, or the last one's alone")
        for token in (token for token in dict.fromkeys(example.word) if token not in alphabet):
            log.add(
                span, f"the example has {token!r}, which is not in the alphabet", "fix the word, or the header 'alphabet'"
            )


def _check_letters(nodes: Sequence[Node], log: Log) -> None:
    for node in nodes:
        if isinstance(node, OneOf) and isinstance(node.of, Input):
            for token in (token for token in node.values if token in RESERVED_TOKENS):
                log.add(node.span, f"the token {token!r} is reserved", "rename it")


def never_used(name: str) -> str:
    """Return the words for a definition that nothing uses."""
    return f"{name!r} is defined and never used"


def _unused(stated: tuple[Stated, ...], used: set[str], chosen: str, log: Log) -> None:
    for each in stated:
        if each.name is not None and str(each.name) not in {*used, chosen} and not str(each.name).startswith("_"):
            log.add(each.name.span, never_used(str(each.name)), "use it, remove it, or begin its name with '_'", "warning")


def _line(log: Log, said: LogicHeaders, which: str) -> Span:
    number = said.lines[which]
    return log.source.span(Mark(number, 0), Mark(number, len(log.source.lines[number])))


# ── warnings about likely mistakes, given the options: a definition and an alphabet
def cautions(program: LogicProgram, options: Mapping[str, Any], warnings: Sequence[str]) -> tuple[str, ...]:
    """Return the warnings about a formula or program.

    Args:
        program: it, with the requested definition and alphabet.
        options: those of the construction, by name.
        warnings: those about its text alone, of which one is not true if a definition is asked for that nothing uses.
    """
    found = list(warnings)
    if options.get("define") is not None:
        found = [warning for warning in found if never_used(program.chosen) not in warning]
    if options.get("alphabet") is not None:
        found += map(str, _outside(program))
    return tuple(dict.fromkeys(found))


def _outside(program: LogicProgram) -> list[Diagnostic]:
    """Return a warning for each token that is named and is not in the alphabet, where it is named first."""
    named: dict[str, Node] = {}
    for node in program.nodes:
        if isinstance(node, OneOf) and isinstance(node.of, Input):
            for token in node.values:
                named.setdefault(token, node)
    return [_complaint(program, token, node) for token, node in named.items() if token not in program.alphabet]


def _complaint(program: LogicProgram, token: str, node: Node) -> Diagnostic:
    signs = tuple(dict.fromkeys(token))
    what, remedy = f"{token!r} is not in the alphabet", "use a token of the alphabet, or add this one to it"
    if 1 < len(signs) <= 4 and set(signs) <= set(program.alphabet):
        either = " | ".join(f"Q[{sign}]" for sign in signs)
        remedy = f"write {either} for any of these tokens, or add it to the alphabet as one token"
    else:
        what += resembling(token, program.alphabet)
    return Diagnostic(what=what, remedy=remedy, file=program.file, span=node.span, severity="warning")
