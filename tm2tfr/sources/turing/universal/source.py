"""The construction of one decoder for all machines of a size: what everything else knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tm2tfr.choices import DRAWN, PICTURES, WRITABLE
from tm2tfr.choices import UNIVERSAL as NAME
from tm2tfr.contract import Source, Truth, later
from tm2tfr.options import UniversalOptions
from tm2tfr.sources.turing.source import own_input
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.weights import Decoder


def _truth(universal: Universal, word: str, decoder: Decoder, max_steps: int | None) -> Truth:
    from tm2tfr.sources.turing.universal.truth import UniversalTruth

    return UniversalTruth(universal, word, max_steps=max_steps)


def _own_input(universal: Universal) -> str:
    """Return the word that the machine in the prompt is run on when none is given; without a machine, the empty word."""
    return "" if universal.machine is None else own_input(universal.machine)


def _given(universal: Universal, word: str) -> str:
    return word


def _fed(universal: Universal, word: str, decoder: Decoder) -> Sequence[str]:
    from tm2tfr.sources.turing.universal.prompt import prompt

    return prompt(universal, word)


def _convert(universal: Universal, format: str) -> Any:
    from tm2tfr.sources.turing.conversion import convert

    return convert(universal.right, format)


def _dot(universal: Universal) -> str:
    from tm2tfr.sources.turing.drawing import to_dot

    return to_dot(universal.right)


def _draw(universal: Universal, output: Path) -> None:
    from tm2tfr.sources.turing.drawing import save

    save(universal.right, output)


def _graph(universal: Universal) -> Any:
    from tm2tfr.sources.turing.graph import to_graph

    return to_graph(universal.right)


SOURCE = Source(
    name=NAME,
    noun="machine",
    type=Universal,
    options=UniversalOptions,
    compile=later("tm2tfr.sources.turing.universal.compiler.compiler", "compiled"),
    truth=_truth,
    read=later("tm2tfr.sources.turing.universal.spelled", "restored"),
    own_input=_own_input,
    given=_given,
    targets=(*WRITABLE, *PICTURES),
    convert=_convert,
    format_for=later("tm2tfr.sources.turing.conversion", "format_for"),
    drawn=DRAWN,
    dot=_dot,
    draw=_draw,
    graph=_graph,
    fed=_fed,
    causal=later("tm2tfr.sources.turing.universal.causal", "causal_model"),
    prove=later("tm2tfr.sources.turing.universal.proof", "prove"),
    limit=later("tm2tfr.sources.turing.universal.proof", "limit"),
    prepare=later("tm2tfr.sources.turing.universal.compiler.compiler", "in_weights"),
)
