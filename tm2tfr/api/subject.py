"""What a function or a command is about: a machine, a decoder, or the name of one; in the same forms everywhere."""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.choices import TURING
from tm2tfr.errors import CompileError, InputError, NotFoundError, SpecWarning
from tm2tfr.files import is_safetensors

if TYPE_CHECKING:
    from typing import TypeAlias

    from tm2tfr.sources.turing.spec import Machine
    from tm2tfr.transformer.weights import Decoder

    Given: TypeAlias = "Subject | Decoder | Machine | str | Path"

WEIGHTS = ".safetensors"
"""The extension of weight files."""


@dataclass(frozen=True)
class Subject:
    """A machine with the decoder compiled from it, or a decoder with the machine stored with it, if there is one.

    >>> import tm2tfr
    >>> subject = tm2tfr.Subject.of("chapter")
    >>> subject.machine.tape, len(subject.decoder.layers)
    ('one-way', 6)

    Args:
        name: how it was given: the argument, or the name of the object.
        source: the machine, if it was given as one.
        weights: the decoder, if it was given as one.
        left_boundary: an option of the construction, see `tm2tfr.compile`.
        warnings: what the author of a text may not have meant.
        text: whether it was read from a text.
    """

    name: str
    source: Machine | None = None
    weights: Decoder | None = None
    left_boundary: str | None = None
    warnings: tuple[str, ...] = ()
    text: bool = False

    def __post_init__(self) -> None:
        from tm2tfr.sources.turing.spec import Machine
        from tm2tfr.transformer.weights import Decoder

        fits = isinstance(self.source, Machine | None) and isinstance(self.weights, Decoder | None)
        if not fits or (self.source is None and self.weights is None):
            raise CompileError(f"{self.name}: a subject has a Machine as its source, a Decoder as its weights, or both")
        if self.left_boundary is not None and self.source is None:
            raise CompileError(f"{self.name}: these weights are already compiled: omit the left-boundary option")

    @classmethod
    def of(cls, given: Given, *, left_boundary: str | None = None) -> Subject:
        """Return the subject that is given in any of its forms; warnings about a text are issued as `SpecWarning`.

        Args:
            given: a subject, a `Decoder`, a `Machine`; the name of a shipped machine; a path to a machine in any format
                that is read, or to a weight file (.safetensors); bbchallenge text; ``-`` for text on standard input.
            left_boundary: an option of the construction, for what is still to be compiled.

        Raises:
            NotFoundError, ReadError, ConversionError, SpecError: if it is a text that cannot be loaded.
            WeightFileError: if it is a weight file that cannot be loaded.
            CompileError: for an option of the construction beside weights, which are already compiled.
        """
        found = cls.read(given, left_boundary=left_boundary)
        for warning in found.warnings:
            warnings.warn(warning, SpecWarning, stacklevel=outside())
        return found

    @classmethod
    def read(cls, given: Given, *, left_boundary: str | None = None, format: str | None = None) -> Subject:
        """Return the subject like `of`, but with its warnings instead of issuing them; read a text in `format`."""
        from tm2tfr.sources.turing.spec import Machine
        from tm2tfr.transformer.provenance import name
        from tm2tfr.transformer.weights import Decoder

        if isinstance(given, Subject):
            return given if left_boundary is None else given._with(left_boundary)
        if isinstance(given, Machine):
            return cls(given.name, given)._with(left_boundary)
        if isinstance(given, Decoder):
            return cls(name(given.provenance, "weights"), weights=given)._with(left_boundary)
        if not isinstance(given, str | Path):
            what = f"{given!r} ({type(given).__name__}) is neither a machine nor a decoder, nor the name of one"
            raise NotFoundError(f"{what}: use a Machine, a Decoder, a path, or the name of a shipped machine")
        if is_weights(given):
            from tm2tfr.sources.turing.compiler.version_1 import load

            return cls(str(given), weights=load(given))._with(left_boundary)
        from tm2tfr.sources.turing.library import load_with_warnings

        loaded = load_with_warnings(given, format=format)
        told = tuple(map(str, loaded.warnings))
        return cls(str(given), loaded.machine, warnings=told, text=True)._with(left_boundary)

    def _with(self, left_boundary: str | None) -> Subject:
        if left_boundary is None:
            return self
        found = replace(self, weights=None if self.source else self.weights, left_boundary=left_boundary)
        _ = found.decoder  # refuses an option that does not apply, whether the decoder will be needed or not
        return found

    @property
    def compiled(self) -> bool:
        """Whether it was given as weights."""
        return self.source is None

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder: as it was given, or compiled from the machine.

        Raises:
            CompileError: if `left_boundary` does not apply to the machine.
        """
        from tm2tfr.sources.turing.compiler import compile_machine

        if self.weights is not None:
            return self.weights
        return compile_machine(self.right, left_boundary=self.left_boundary)

    @cached_property
    def machine(self) -> Machine | None:
        """The machine: as it was given, or stored with the weights; None if none is.

        Raises:
            SpecError: if what is stored is not a machine.
        """
        from tm2tfr.sources.turing.spec import Machine
        from tm2tfr.transformer import provenance

        if self.weights is None or self.source is not None:
            return self.source
        said = self.weights.provenance
        text = provenance.source(said) if provenance.construction(said) in (None, TURING) else None
        return Machine.from_yaml(text, file=provenance.name(said, "<provenance>")) if text else None

    @property
    def right(self) -> Machine:
        """The machine that says what is right.

        Raises:
            CompileError: if none is stored with the weights.
            SpecError: if what is stored is not a machine.
        """
        if self.machine is None:
            what = "no machine is stored with these weights"
            raise CompileError(f"{what}: give a machine, or weights that were compiled from one")
        return self.machine

    def word(self, word: str | None) -> str:
        """Return the input `word`, or without one the machine's own; without a machine the empty word.

        Raises:
            InputError: if it is not text.
        """
        if word is not None:
            if not isinstance(word, str):
                raise InputError(f"an input word must be text, not {word!r}: write for example '11'")
            return word
        return "" if self.machine is None else own_input(self.machine)


def own_input(machine: Machine) -> str:
    """Return the word that `machine` is run on when none is given: its own, its first example's, or the empty word."""
    if machine.input is not None:
        return machine.input
    return machine.examples[0].input if machine.examples else ""


def is_weights(given: str | Path) -> bool:
    """Return whether a path is that of a weight file, by its extension or by how the file begins."""
    path = Path(given)
    if path.suffix.lower() == WEIGHTS:
        return True
    with suppress(OSError, ValueError):  # whoever reads it says what is wrong with the name or the file
        if path.is_file():
            with path.open("rb") as file:
                return is_safetensors(file.read(9), path.stat().st_size)
    return False


def outside() -> int:
    """Return the ``stacklevel`` for a warning from the caller: that of the code which called this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tm2tfr":
        frame, level = frame.f_back, level + 1
    return level


def recompiled(given: Given, left_boundary: str | None) -> Subject:
    """Return a subject for a function that still takes an option of the construction, with a warning where it is given.

    Raises:
        CompileError: see `Subject.of`.
    """
    if left_boundary is not None:
        what = "left_boundary is an option of compiling: pass tm2tfr.compile(machine, left_boundary=...) instead"
        warnings.warn(what, DeprecationWarning, stacklevel=outside())
    return Subject.of(given, left_boundary=left_boundary)


def judge(found: Subject, machine: Given | None) -> Subject:
    """Return what says what is right: the subject itself, or another one that is given in any form.

    Raises:
        CompileError: if it has an option of the construction, which only matters for what is compiled.
    """
    if machine is None:
        return found
    other = Subject.of(machine)
    if other.left_boundary is not None:
        raise CompileError(f"{other.name}: a machine to compare with has no left-boundary option: give the machine alone")
    return other
