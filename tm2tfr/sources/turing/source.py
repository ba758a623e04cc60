"""The construction of the chapter (Section 8.2; Pérez et al. 2021): what everything else knows of Turing machines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tm2tfr.base.choices import DRAWN, PICTURES, WRITABLE
from tm2tfr.base.choices import TURING as NAME
from tm2tfr.base.text.words import InputSpace
from tm2tfr.contract.options import OptionValues, TuringOptions
from tm2tfr.contract.source import Source, later
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.provenance import option

if TYPE_CHECKING:
    from tm2tfr.contract.blocks import BlockReference
    from tm2tfr.contract.model import SourceModel
    from tm2tfr.transformer.weights import Decoder


def _compile(machine: Machine, options: OptionValues) -> Decoder:
    from tm2tfr.sources.turing.compiler import compile_machine

    return compile_machine(machine, left_boundary=options.get("left_boundary"))


def _blocks(machine: Machine, decoder: Decoder, max_steps: int | None) -> BlockReference:
    from tm2tfr.sources.turing.blocks import TuringBlocks
    from tm2tfr.sources.turing.truth import truth_for

    return TuringBlocks(decoder, truth_for(machine, "", decoder, max_steps), max_steps)


def _model(machine: Machine, decoder: Decoder) -> SourceModel:
    from tm2tfr.sources.turing.model import turing_model

    repaired = option(decoder.provenance, "left_boundary") != "chapter"
    return turing_model(machine, decoder.vocabulary, repaired=repaired, stop=decoder.stop)


def _read(text: str, file: str) -> Machine:
    """Return the machine stored with weights, in YAML, which may be several times as long as the text it was read from."""
    from tm2tfr.base.text.source import MACHINE_BYTES
    from tm2tfr.sources.turing.formats import native

    return native.read(text, file=file, most=16 * MACHINE_BYTES).machine


def own_input(machine: Machine) -> str:
    """Return the word that `machine` is run on when none is given: its own, its first example's, or the empty word."""
    if machine.input is not None:
        return machine.input
    return machine.examples[0].input if machine.examples else ""


def inputs(machine: Machine) -> InputSpace:
    """Return the space of a machine's inputs: words over its input alphabet."""
    return InputSpace(letters=machine.input_alphabet or (), shortest=0, read=machine.check_input)


def _adapted(machine: Machine, word: str | None, verdict: Any) -> tuple[Machine, tuple[str, ...]]:
    from tm2tfr.sources.turing.conversion import with_verdict

    if word is not None:
        machine = replace(machine, input=machine.check_input(word), yaml=None)
    declared = None if verdict is None else with_verdict(machine, verdict)
    return (machine, ()) if declared is None else (declared.machine, declared.notes)


SOURCE = Source(
    name=NAME,
    noun="machine",
    type=Machine,
    options=TuringOptions,
    compile=_compile,
    truth=later("tm2tfr.sources.turing.truth", "truth_for"),
    blocks=_blocks,
    outcomes=later("tm2tfr.sources.turing.simulator", "outcomes"),
    read=_read,
    own_input=own_input,
    inputs=inputs,
    given=lambda machine, word: word,
    targets=(*WRITABLE, *PICTURES),
    convert=later("tm2tfr.sources.turing.conversion", "convert"),
    format_for=later("tm2tfr.sources.turing.conversion", "format_for"),
    drawn=DRAWN,
    dot=later("tm2tfr.sources.turing.drawing", "to_dot"),
    draw=later("tm2tfr.sources.turing.drawing", "save"),
    graph=later("tm2tfr.sources.turing.graph", "to_graph"),
    tried=later("tm2tfr.sources.turing.page", "tried"),
    machine=lambda machine: machine,
    page=later("tm2tfr.sources.turing.page", "page"),
    prove=later("tm2tfr.sources.turing.proof.prove", "prove"),
    limit=later("tm2tfr.sources.turing.proof.prove", "limit"),
    model=_model,
    adapted=_adapted,
    exported=later("tm2tfr.sources.turing.page", "ExportedMachine"),
    prepare=later("tm2tfr.sources.turing.universal.compiler", "in_prompt"),
)
