"""Reads a RASP program: its headers, its statements, and the graph of s-ops that they build."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from tm2tfr.base.errors import Diagnostic, ReadError, Span, did_you_mean
from tm2tfr.base.text.source import Log, Mark, SourceText, decoded
from tm2tfr.sources.rasp.language import operators
from tm2tfr.sources.rasp.language.elaborate import Elaborator
from tm2tfr.sources.rasp.language.parse import parse
from tm2tfr.sources.rasp.language.scope import RESERVED, Request, Scope, named
from tm2tfr.sources.rasp.language.syntax import Assignment, Definition, Maker, Statement
from tm2tfr.sources.rasp.program import Example, Headers, Program, Word, headers
from tm2tfr.sources.rasp.sops import Selector, SOp

LIBRARY = ("library", "examples")
"""The files that are read before every program; names of the first cannot be assigned."""
LONGEST_TRIED = 200
"""The longest example on which reading a program tries whether its s-ops are defined: a selector costs its square."""


@dataclass(frozen=True)
class LoadedRasp:
    """A program that has been read.

    Args:
        program: the program.
        warnings: what is legal but probably not meant.
        requests: what it asks an interpreter to draw or to evaluate, in the order of the text.
        length: the longest input that its header names, if it does.
        mask: ``future``, ``none`` or, if its header does not say, the empty string.
    """

    program: Program
    warnings: tuple[Diagnostic, ...] = ()
    requests: tuple[Request, ...] = ()
    length: int | None = None
    mask: str = ""

    @property
    def draws(self) -> tuple[Request, ...]:
        """What is to be drawn."""
        return tuple(request for request in self.requests if request.drawn)


def read(
    text: str | bytes, *, file: str, library: bool = True, folder: Path | None = None, name: str | None = None
) -> LoadedRasp:
    """Return the program that a text describes.

    Args:
        file: its name, for messages.
        library: whether it can use the library; without it, there are only the words of the language.
        folder: that of the text; None: of no file. ``load "x";`` looks for x.rasp beside the file that says it, then here,
            then, as the authors' interpreter does, in the current folder.
        name: the program's name; None: that of the file without its extension.

    Raises:
        SpecError: with every complaint, if one of them is an error.
    """
    log = Log(decoded(text, file=file, noun="program"))
    said = headers(log)
    statements = parse(log)
    made = elaborated(log, statements, library=library, folder=folder)
    program = _program(made, log, said, name or Path(file).stem)
    for warned in operators.precedence(statements):
        log.add(*warned, severity="warning")
    if not log.broken:
        operators.undefined(program, _tried(program, said, made), log)
    return LoadedRasp(program, log.conclude(), tuple(made.elaborator.requests), said.length, said.mask)


def _tried(program: Program, said: Headers, made: Elaborated) -> list[Word]:
    """Return the inputs on which the program is tried: its examples, or what ``set example`` says, or its alphabet."""
    example = made.elaborator.example
    words = [tuple(example) if example != "hello" or not said.alphabet else said.alphabet]
    if said.examples:
        words = [example.input for example in program.examples if not example.error]
    return [word for word in words if len(word) <= LONGEST_TRIED]


@dataclass(frozen=True)
class Elaborated:
    """What is left of the statements of a program."""

    elaborator: Elaborator
    top: Scope
    library: Mapping[str, SOp] = field(default_factory=dict)


def elaborated(log: Log, statements: tuple[Statement, ...], *, library: bool, folder: Path | None) -> Elaborated:
    """Run the library and then the statements."""
    make = Maker()
    base = Scope(names={"True": True, "False": False, **make.conversions, "indices": make.positions})
    reserved, scope = RESERVED, base
    worker = Elaborator(log, _files(folder), make, base)
    known: dict[str, SOp] = {}
    for part in LIBRARY if library else ():
        source, read_before = _library(part)
        worker.foreign.add(source)
        scope = Scope(scope)
        worker.run(read_before, scope)
        known |= named({n: v for n, v in scope.names.items() if not n.startswith("_")}, SOp)
        scope.names.pop("out", None)
        if part == LIBRARY[0]:
            reserved |= {n for n in scope.names if not n.startswith("_")}
    public = {n: v for owner in scope.chain() for n, v in owner.names.items() if not n.startswith("_")}
    worker.base = Scope(names={**public, "tokens": make.conversions["tokens_str"]})
    top = Scope(worker.base, reserved=reserved)
    worker.last, make.statement = None, ""
    worker.run(statements, top)
    return Elaborated(worker, top, known)


@cache
def library_names() -> frozenset[str]:
    """Return the names of the library, which a program cannot assign."""
    statements = _library(LIBRARY[0])[1]
    found = {s.name.name for s in statements if isinstance(s, Definition)}
    found |= {name.name for s in statements if isinstance(s, Assignment) for name in s.names}
    return frozenset(name for name in found if not name.startswith("_"))


@cache
def _library(part: str) -> tuple[SourceText, tuple[Statement, ...]]:
    text = files("tm2tfr").joinpath("sources", "rasp", "language", f"{part}.rasp").read_text(encoding="utf-8")
    log = Log(SourceText(text, f"{part}.rasp"))
    statements = parse(log)
    log.conclude()
    return log.source, statements


def _files(folder: Path | None) -> Callable[[str, SourceText], SourceText]:
    def find(name: str, source: SourceText) -> SourceText:
        if folder is None:
            raise ReadError(f"'load' cannot find {name!r}, since this text is not in a folder")
        beside = found[source.file].parent if source.file in found else folder
        for path in dict.fromkeys(place / f"{name}.rasp" for place in (beside, folder, Path())):
            with suppress(OSError):
                text = path.read_bytes()
                found[str(path)] = path
                return decoded(text, file=str(path), noun="program")
        places = "beside this one" if beside == folder else "beside this one or the program"
        raise ReadError(f"there is no file '{name}.rasp' {places}, or in the current folder")

    found: dict[str, Path] = {}
    return find


def _program(made: Elaborated, log: Log, said: Headers, name: str) -> Program:
    every = named(made.top.names, SOp)
    sops = {name: sop for name, sop in every.items() if not name.startswith("_")} or every
    last = made.elaborator.last
    if not sops and isinstance(last, SOp):
        sops = {last.name or "out": last}
    chosen = said.sop or next(reversed(sops), "")
    known = {**made.library, **sops}
    if not sops and not log.broken and chosen not in known:
        log.add(None, "the program defines no s-op", "assign one, for example 'a = indices + 1;'")
    elif said.sop and said.sop not in known:
        what = f"the header names the s-op {said.sop!r}, which is not defined{did_you_mean(said.sop, known)}"
        log.add(_line(log, said, "sop"), what, "name one that the program assigns")
    examples = []
    for number, written in enumerate(said.examples):
        example = _meant(written, known, chosen, said.alphabet)
        if example.sop not in known:
            what = f"the example is of the s-op {example.sop!r}, which is not defined{did_you_mean(example.sop, known)}"
            log.add(_line(log, said, f"example {number}"), what, "name one that the program assigns")
        examples.append(example)
    return Program(
        name=name,
        text=log.source.text,
        sops=sops,
        selectors={n: each for n, each in named(made.top.names, Selector).items() if not n.startswith("_")},
        chosen=chosen,
        alphabet=said.alphabet or tuple(dict.fromkeys(token for example in examples for token in example.input)),
        examples=tuple(examples),
        title=said.title,
        library=made.library,
    )


def _meant(example: Example, known: Mapping[str, SOp], chosen: str, alphabet: Word) -> Example:
    """Return the example with its s-op; ``a(b)`` is an input where no s-op is called a and the alphabet has brackets."""
    if example.sop and example.sop not in known:
        whole = (*example.sop, "(", *example.input, ")")
        if set(whole) <= set(alphabet):
            return replace(example, sop=chosen, input=whole)
    return replace(example, sop=example.sop or chosen)


def _line(log: Log, said: Headers, which: str) -> Span:
    number = said.lines[which]
    return log.source.span(Mark(number, 0), Mark(number, len(log.source.lines[number])))
