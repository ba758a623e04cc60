"""What ``universal=`` and ``--universal`` may be: the sizes of a class of machines, or weights for one; and what they make
of a machine, which is to stand in their prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tm2tfr.choices import UNIVERSAL, UniversalTape
from tm2tfr.errors import CompileError, visible
from tm2tfr.sources.turing.compiler.version_1 import load
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.sources.turing.universal.compiler.compiler import STOP, compile_universal, layout, renamed
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.stored import restored
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder

_SIZES = re.compile(r"\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*", re.ASCII)


def in_prompt(machine: Machine, options: Mapping[str, Any]) -> Machine | Universal:
    """Return a machine in the prompt of the universal decoder that `options` ask for; without such options, the machine.

    Raises:
        CompileError: if the machine does not fit, or options cannot be combined; see also `class_asked`.
    """
    if options.get("universal") is None:
        return machine if needs_universal(options) is None else _refuse(machine.name, options)
    _refuse_boundary(machine.name, options)
    return class_asked(options).holding(machine, seed=options.get("seed"))


def in_weights(universal: Universal, options: Mapping[str, Any]) -> Universal:
    """Return a universal program for which weights of its class may be given.

    Raises:
        CompileError: for weights of another class, and anything but weights: the program says everything else itself.
    """
    _refuse_boundary(universal.name, options)
    given = options.get("universal")
    if needs_universal(options) is not None or (given is not None and weights_given(given) is None):
        option = needs_universal(options) or "universal"
        what = f"{visible(universal.name)} is for a universal decoder already, of at most {_sizes_of(universal)}"
        raise CompileError(f"{what}: omit the {option} option")
    if given is not None and class_asked(options) != universal.empty:
        what = f"{visible(universal.name)} is for a universal decoder of at most {_sizes_of(universal)}"
        raise CompileError(f"{what}, and these weights are one of at most {_sizes_of(class_asked(options))}: use its own")
    return universal


def compiled(universal: Universal, options: Mapping[str, Any]) -> Decoder:
    """Return the decoder of a universal program, or the weights that are given for it, with its names.

    Raises:
        CompileError, WeightFileError: see `class_asked`.
    """
    weights = weights_given(options.get("universal"))
    if weights is None:
        return compile_universal(universal)
    return weights if universal.machine is None else renamed(weights, universal)


def class_asked(options: Mapping[str, Any]) -> Universal:
    """Return the class of machines that the options ``universal`` and ``tape`` ask for, without a machine.

    Args:
        options: ``universal`` is S and K, as a pair or as the text ``8,4``; a `Universal`; or weights, see `weights_given`.

    Raises:
        CompileError: if it is something else; for a tape beside weights or a `Universal`, which have one.
        WeightFileError: if a weight file cannot be read.
    """
    given, tape = options.get("universal"), options.get("tape")
    sizes = _sizes(given)
    if sizes is not None:
        kind: UniversalTape = "both" if tape is None else tape  # `Universal` refuses what is no tape
        return Universal(states=sizes[0], symbols=sizes[1], tape=kind)
    weights = None if isinstance(given, Universal) else weights_given(given)
    found = given.empty if isinstance(given, Universal) else None if weights is None else class_of(weights)
    if found is None:
        what = f"{given!r} is not the size of a universal decoder, nor weights of one"
        raise CompileError(f"{what}: use for example 8,4 for 8 states and 4 symbols, or a weight file")
    if tape is not None and tape != found.tape:
        raise CompileError(f"{found.name} is for the tape {found.tape!r}, not {tape!r}: omit --tape")
    return found


def weights_given(given: object) -> Decoder | None:
    """Return the weights that ``universal`` names, or is; None if it is something else.

    Raises:
        WeightFileError: if they cannot be read.
    """
    if isinstance(given, Decoder):
        return given
    if isinstance(given, Path) or (isinstance(given, str) and _sizes(given) is None and _is_path(given)):
        return load(given)
    return None


def class_of(decoder: Decoder) -> Universal:
    """Return the class of machines that universal weights are for, as their provenance says.

    Raises:
        CompileError: if they are no such weights, or their tokens or subspaces are not those of that class.
        SpecError: if what is stored with them is not a class of machines.
    """
    said = decoder.provenance
    name, text = provenance.name(said), provenance.source(said)
    if provenance.construction(said) != UNIVERSAL or text is None:
        what = f"{visible(name)}: these weights are not those of a universal decoder"
        raise CompileError(f"{what}: make some with tm2tfr compile --universal 8,4 -o universal.safetensors")
    found = restored(text, name)
    ends = (decoder.bos, decoder.stop) == (BOS, STOP)
    if not ends or decoder.vocabulary != found.vocabulary or decoder.layout != layout(found, found.names):
        what = f"{visible(name)}: these weights say that they are for {_sizes_of(found)}, and their tokens say otherwise"
        raise CompileError(f"{what}: compile them again")
    return found.empty


def needs_universal(options: Mapping[str, Any]) -> str | None:
    """Return the first option that makes no sense without a universal decoder; None if there is none."""
    return next((name for name in ("tape", "seed") if options.get(name) is not None), None)


def _refuse_boundary(name: str, options: Mapping[str, Any]) -> None:
    if options.get("left_boundary") is not None:
        what = f"{visible(name)}: in a universal decoder the left boundary is the repaired one"
        raise CompileError(f"{what}: omit --left-boundary")


def _refuse(name: str, options: Mapping[str, Any]) -> Machine:
    what = f"{visible(name)}: --{needs_universal(options)} is for the prompt of a universal decoder"
    raise CompileError(f"{what}: omit it, or say which decoder with --universal, for example 8,4")


def _sizes(given: object) -> tuple[Any, Any] | None:
    """Return S and K as they are given; None if that is something else. `Universal` says what is wrong with them."""
    if isinstance(given, str) and (found := _SIZES.fullmatch(given)):
        return int(found[1]), int(found[2])
    return (given[0], given[1]) if isinstance(given, tuple | list) and len(given) == 2 else None


def _is_path(given: str) -> bool:
    return bool(given) and (Path(given).suffix != "" or "/" in given or Path(given).exists())


def _sizes_of(universal: Universal) -> str:
    return f"{universal.states} states and {universal.symbols} symbols"
