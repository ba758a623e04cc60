"""The construction of one decoder for all machines of a size: what everything else knows of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tm2tfr.base.choices import DRAWN, PICTURES, WRITABLE
from tm2tfr.base.choices import UNIVERSAL as NAME
from tm2tfr.contract.blocks import BlockReference
from tm2tfr.contract.model import SourceModel
from tm2tfr.contract.options import OptionValues, UniversalOptions
from tm2tfr.contract.source import Source, later
from tm2tfr.sources.turing.source import inputs, own_input
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.weights import Decoder

if TYPE_CHECKING:
    from tm2tfr.sources.turing.universal.truth import UniversalTruth


def _truth(universal: Universal, word: str, decoder: Decoder, max_steps: int | None) -> UniversalTruth:
    from tm2tfr.sources.turing.universal.truth import UniversalTruth

    return UniversalTruth(universal, word, max_steps=max_steps)


def _blocks(universal: Universal, decoder: Decoder, max_steps: int | None) -> BlockReference:
    from tm2tfr.sources.turing.blocks import TuringBlocks

    return TuringBlocks(decoder, _truth(universal, "", decoder, max_steps), max_steps)


def _model(universal: Universal, decoder: Decoder) -> SourceModel:
    from tm2tfr.sources.turing.universal.model import universal_model

    names, tapes, two_way, walled = universal.names, universal.tapes, universal.two_way, universal.walled
    return universal_model(names, tapes, decoder.vocabulary, two_way=two_way, walled=walled, stop=decoder.stop)


def _own_input(universal: Universal) -> str:
    """Return the word that the machine in the prompt is run on when none is given; without a machine, the empty word."""
    return "" if universal.machine is None else own_input(universal.machine)


def _fed(universal: Universal, word: str, decoder: Decoder) -> Sequence[str]:
    from tm2tfr.sources.turing.universal.prompt import prompt

    return prompt(universal, word)


def _of_machine(module: str, function: str) -> Callable[..., Any]:
    """Return a function of Turing machines, for the machine in the prompt."""
    call = later(module, function)
    return lambda universal, *rest: call(universal.right, *rest)


def _class_named(universal: Universal, options: OptionValues) -> str:
    """Return its weights, where they are named by a file, otherwise its sizes."""
    given = options.get("universal")
    if isinstance(given, str) and Path(given).exists():
        return shlex.quote(given)
    tape = "" if universal.tape == "both" else f" --tape {universal.tape}"
    return f"--universal {universal.states},{universal.symbols}{tape}"


SOURCE = Source(
    name=NAME,
    noun="machine",
    type=Universal,
    options=UniversalOptions,
    compile=later("tm2tfr.sources.turing.universal.compiler", "compiled"),
    truth=_truth,
    blocks=_blocks,
    outcomes=_of_machine("tm2tfr.sources.turing.simulator", "outcomes"),
    read=later("tm2tfr.sources.turing.universal.spelled", "restored"),
    own_input=_own_input,
    inputs=lambda universal: inputs(universal.right),
    given=lambda universal, word: word,
    targets=(*WRITABLE, *PICTURES),
    convert=_of_machine("tm2tfr.sources.turing.conversion", "convert"),
    format_for=later("tm2tfr.sources.turing.conversion", "format_for"),
    drawn=DRAWN,
    dot=_of_machine("tm2tfr.sources.turing.drawing", "to_dot"),
    draw=_of_machine("tm2tfr.sources.turing.drawing", "save"),
    graph=_of_machine("tm2tfr.sources.turing.graph", "to_graph"),
    tried=_of_machine("tm2tfr.sources.turing.page", "tried"),
    machine=lambda universal: universal.machine,
    prompted=True,
    class_named=_class_named,
    page=later("tm2tfr.sources.turing.universal.page", "page"),
    fed=_fed,
    exported=later("tm2tfr.sources.turing.universal.exported", "ExportedClass"),
    split=later("tm2tfr.sources.turing.universal.exported", "split"),
    canonical=later("tm2tfr.sources.turing.universal.compiler", "canonical"),
    model=_model,
    prove=later("tm2tfr.sources.turing.universal.proof.prove", "prove"),
    limit=later("tm2tfr.sources.turing.universal.proof.prove", "limit"),
    prepare=later("tm2tfr.sources.turing.universal.compiler", "in_weights"),
)
