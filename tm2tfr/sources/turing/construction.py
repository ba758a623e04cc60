"""The construction of the chapter (Section 8.2; Pérez et al. 2021): what everything else knows of Turing machines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tm2tfr.choices import DRAWN, PICTURES, WRITABLE
from tm2tfr.choices import TURING as NAME
from tm2tfr.contract import Construction, Truth
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.weights import Decoder


def _compile(machine: Machine, options: Mapping[str, Any]) -> Decoder:
    from tm2tfr.sources.turing.compiler import compile_machine

    return compile_machine(machine, left_boundary=options.get("left_boundary"))


def _truth(machine: Machine, word: str, decoder: Decoder, max_steps: int | None) -> Truth:
    from tm2tfr.sources.turing.truth import truth_for

    return truth_for(machine, word, decoder=decoder, max_steps=max_steps)


def _read(text: str, file: str) -> Machine:
    from tm2tfr.sources.turing.formats import native

    return native.read(text, file=file).machine


def _prove(decoder: Decoder, machine: Machine) -> Any:
    from tm2tfr.sources.turing.proof import prove

    return prove(decoder, machine)


def own_input(machine: Machine) -> str:
    """Return the word that `machine` is run on when none is given: its own, its first example's, or the empty word."""
    if machine.input is not None:
        return machine.input
    return machine.examples[0].input if machine.examples else ""


def _given(machine: Machine, word: str) -> str:
    return word


def _convert(machine: Machine, format: str) -> Any:
    from tm2tfr.sources.turing.conversion import convert

    return convert(machine, format)


def _format_for(output: Path) -> str:
    from tm2tfr.sources.turing.conversion import format_for

    return format_for(output)


def _dot(machine: Machine) -> str:
    from tm2tfr.sources.turing.drawing import to_dot

    return to_dot(machine)


def _draw(machine: Machine, output: Path) -> None:
    from tm2tfr.sources.turing.drawing import save

    save(machine, output)


def _graph(machine: Machine) -> Any:
    from tm2tfr.sources.turing.graph import to_graph

    return to_graph(machine)


CONSTRUCTION = Construction(
    name=NAME,
    noun="machine",
    type=Machine,
    options={"left_boundary": "the left boundary is that of a Turing machine's one-way tape"},
    compile=_compile,
    truth=_truth,
    read=_read,
    own_input=own_input,
    given=_given,
    targets=(*WRITABLE, *PICTURES),
    convert=_convert,
    format_for=_format_for,
    drawn=DRAWN,
    dot=_dot,
    draw=_draw,
    graph=_graph,
    prove=_prove,
)
