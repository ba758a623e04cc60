"""The prompts of universal decoders: written for a machine, and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError, InputError

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.sources.turing.universal.program import Universal
    from tm2tfr.sources.turing.universal.spelled import Prompt
    from tm2tfr.transformer.weights import Decoder


def prompt_of(
    subject: Given,
    word: str | None = None,
    *,
    universal: tuple[int, int] | str | Path | Universal | Decoder | None = None,
    tape: str | None = None,
    seed: int | None = None,
) -> Prompt:
    """Return the prompt that has a universal decoder run a machine, as tokens with their canonical names.

    >>> import tm2tfr
    >>> found = tm2tfr.prompt_of("busy-beaver-2")
    >>> print(found.text)
    two-way q0,0 →(q1,1,+1) q0,1 →(q1,1,-1) q1,0 →(q0,1,-1) q1,1 →(halt,1,+1) BOS
    >>> found.states
    {'A': 'q0', 'B': 'q1', 'Z': 'halt'}

    Args:
        subject: a machine in any form, see `Subject.of`; or one that is in the prompt of a universal decoder already.
        word: the input; by default the machine's own.
        universal, tape, seed: see `tm2tfr.compile`. Default: the smallest decoder that the machine fits into.

    Raises:
        CompileError: if it is not a machine, or does not fit; the message says which sizes would do.
        InputError: if `word` is not over its input alphabet.
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject or the weights cannot be loaded.
    """
    from tm2tfr.sources.turing.universal.names import size_of
    from tm2tfr.sources.turing.universal.spelled import Prompt

    found = Subject.of(subject)
    machine = found.turing("prompt_of")
    if found.prompted:
        if any(option is not None for option in (universal, tape, seed)):
            what = f"{found.name} is in the prompt of a universal decoder already"
            raise CompileError(f"{what}: omit universal, tape and seed, or give the machine alone")
        return Prompt(found.program, found.word(word))
    asked = {"universal": size_of(machine) if universal is None else universal, "tape": tape, "seed": seed}
    placed = replace(Subject.of(machine, options=asked), name=found.name)
    return Prompt(placed.right, placed.word(word))


def read_prompt(
    text: str | Prompt | Sequence[str] | Sequence[int],
    universal: tuple[int, int] | str | Path | Universal | Decoder | None = None,
    *,
    tape: str | None = None,
) -> Universal:
    """Return the machine that a prompt describes, in the prompt of a universal decoder: a subject for all functions.

    >>> import tm2tfr
    >>> flips = tm2tfr.read_prompt("one-way q0,1 →(q0,2,+1) q0,2 →(q0,1,+1) 1 2 1 BOS", (2, 3))
    >>> tm2tfr.check(flips).result.tape
    '212'

    Args:
        text: tokens with their canonical names, see `tm2tfr.sources.turing.universal.prompt.read`; or what `prompt_of`
            returns, its tokens, or their ids.
        universal: the decoder that the prompt is for, and its tape, see `tm2tfr.compile`. Default: that of what `prompt_of`
            returned; everything else needs one. Weights are not kept: give them
            again, ``tm2tfr.compile(read_prompt(text, weights), universal=weights)``.

    Raises:
        InputError: if it is neither text nor tokens.
        SpecError: with every error of the text and its place.
        CompileError, WeightFileError: if `universal` is no decoder, or missing.
    """
    from tm2tfr.sources.turing.universal.compiler.compiler import class_asked
    from tm2tfr.sources.turing.universal.prompt import read
    from tm2tfr.sources.turing.universal.spelled import Prompt

    if isinstance(text, Prompt):
        universal = text.universal.empty if universal is None else universal
        text = text.text
    elif isinstance(text, Sequence) and not isinstance(text, str | bytes) and all(type(t) in (str, int) for t in text):
        text = " ".join(map(str, text))
    if not isinstance(text, str):
        raise InputError(f"a prompt must be text, not {repr(text)[:80]}: write for example 'one-way q0,1 →(q0,1,+1) 1 BOS'")
    if universal is None:
        raise CompileError("the tokens of a prompt depend on its decoder: give its size too, for example (8, 4)")
    return read(text, class_asked({"universal": universal, "tape": tape}))
