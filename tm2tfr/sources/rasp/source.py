"""The construction for RASP programs (Weiss, Goldberg and Yahav 2021): what everything else knows of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tm2tfr.base.choices import DRAWN
from tm2tfr.base.choices import RASP as NAME
from tm2tfr.base.errors import ConversionError, OutputError
from tm2tfr.base.text.words import token_words
from tm2tfr.contract.options import RaspOptions, read_options
from tm2tfr.contract.source import Source, Truth, later
from tm2tfr.sources.rasp.library import own_word, word_of
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.transformer.weights import Decoder


def _compile(program: Program, options: Mapping[str, Any]) -> Decoder:
    from tm2tfr.sources.rasp.compiler import compile_program

    return compile_program(program, read_options(RaspOptions, options))


def _prepare(program: Program, options: Mapping[str, Any]) -> Program:
    """Return the program with the requested s-op and alphabet."""
    from tm2tfr.sources.rasp.compiler import prepared

    return prepared(program, read_options(RaspOptions, options))


def _truth(program: Program, word: str, decoder: Decoder, max_steps: int | None) -> Truth:
    from tm2tfr.sources.rasp.truth import RaspTruth

    return RaspTruth(program, word, decoder)


def _read(text: str, file: str) -> Program:
    from tm2tfr.sources.rasp.read import read

    return read(text, file=file, name=file).program


def _given(program: Program, word: str) -> str:
    if program.alphabet:
        word_of(program, word)
    return word


def _fed(program: Program, word: str, decoder: Decoder) -> tuple[str, ...]:
    return tuple(map(shown_atom, word_of(program, word)))


def _convert(program: Program, format: str) -> Any:
    raise ConversionError(f"{program.name} is a RASP program, which is not written as {format}: use its own text")


def _format_for(path: Path) -> str:
    raise OutputError(
        f"{path}: a RASP program is not written in another format: draw it with 'tm2tfr graph', or save its weights"
    )


_GRAPHS, _PAGE = "tm2tfr.sources.rasp.drawing.graphs", "tm2tfr.sources.rasp.page"
SOURCE = Source(
    name=NAME,
    noun="program",
    type=Program,
    options=RaspOptions,
    compile=_compile,
    truth=_truth,
    outcomes=later("tm2tfr.sources.rasp.truth", "outcomes"),
    read=_read,
    own_input=own_word,
    inputs=lambda program: token_words(program.alphabet, partial(word_of, program)),
    given=_given,
    targets=(),
    convert=_convert,
    format_for=_format_for,
    drawn=DRAWN,
    dot=later(_GRAPHS, "to_dot"),
    draw=later(_GRAPHS, "save"),
    graph=later(_GRAPHS, "to_networkx"),
    tried=later(_PAGE, "tried"),
    draw_run=later(_PAGE, "draw_run"),
    draw_requests=later(_PAGE, "draw_requests"),
    page=later(_PAGE, "page"),
    prepare=_prepare,
    restore=_prepare,
    fed=_fed,
    labelling=later("tm2tfr.sources.rasp.model.labels", "RaspVariables"),
    causal=later("tm2tfr.sources.rasp.model.causal", "causal_model"),
    described=later("tm2tfr.sources.rasp.model.described", "described_rasp"),
    labels=later("tm2tfr.sources.rasp.truth", "RaspLabels"),
    examined=later("tm2tfr.sources.rasp.truth", "examined"),
)
