"""The construction for temporal logic with counting, B-RASP and S-RASP (Yang et al. 2025), as everything else knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tm2tfr.base.choices import DRAWN
from tm2tfr.base.choices import LOGIC as NAME
from tm2tfr.base.text.words import token_words
from tm2tfr.certificates.kit import check_no_tape
from tm2tfr.contract.options import LogicOptions, read_options
from tm2tfr.contract.source import Source, Truth, later
from tm2tfr.sources.logic.library import own_word, word_of
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.transformer.weights import Decoder


def _compile(program: LogicProgram, options: Mapping[str, Any]) -> Decoder:
    from tm2tfr.sources.logic.compiler import compile_program

    return compile_program(program, read_options(LogicOptions, options))


def _prepare(program: LogicProgram, options: Mapping[str, Any]) -> LogicProgram:
    """Return the program with the requested definition and alphabet."""
    from tm2tfr.sources.logic.compiler import prepared

    return prepared(program, read_options(LogicOptions, options))


def _truth(program: LogicProgram, word: str, decoder: Decoder, max_steps: int | None) -> Truth:
    from tm2tfr.sources.logic.truth import LogicTruth

    return LogicTruth(program, word, decoder)


def _read(text: str, file: str) -> LogicProgram:
    from tm2tfr.sources.logic.read import read

    return read(text, file=file, name=file).program


def _given(program: LogicProgram, word: str) -> str:
    word_of(program, word)
    return word


def _fed(program: LogicProgram, word: str, decoder: Decoder) -> Sequence[str]:
    from tm2tfr.sources.logic.truth import LogicTruth

    return LogicTruth(program, word, decoder).prompt


_GRAPHS, _CONVERSION = "tm2tfr.sources.logic.drawing", "tm2tfr.sources.logic.conversion"
SOURCE = Source(
    name=NAME,
    noun="formula",
    type=LogicProgram,
    options=LogicOptions,
    compile=_compile,
    truth=_truth,
    outcomes=later("tm2tfr.sources.logic.truth", "outcomes"),
    read=_read,
    own_input=own_word,
    inputs=lambda program: token_words(program.alphabet, partial(word_of, program)),
    given=_given,
    targets=("ascii", "paper", "latex", "dot", "mermaid"),
    convert=later(_CONVERSION, "convert"),
    format_for=later(_CONVERSION, "format_for"),
    drawn=DRAWN,
    dot=later(_GRAPHS, "to_dot"),
    draw=later(_GRAPHS, "save"),
    graph=later(_GRAPHS, "to_networkx"),
    tried=later("tm2tfr.sources.logic.page", "tried"),
    check_questions=check_no_tape,
    page=later("tm2tfr.sources.logic.page", "page"),
    exported=later("tm2tfr.sources.logic.page", "ExportedFormula"),
    prove=later("tm2tfr.sources.logic.proof.certificate", "LogicProof"),
    prepare=_prepare,
    cautions=later("tm2tfr.sources.logic.read", "cautions"),
    restore=_prepare,
    called=lambda program: program.noun,
    fed=_fed,
    labelling=later("tm2tfr.sources.logic.model.labels", "LogicVariables"),
    check_ending=later(_CONVERSION, "check_ending"),
    causal=later("tm2tfr.sources.logic.model.causal", "causal_model"),
    described=later("tm2tfr.sources.logic.model.described", "described_logic"),
    labels=later("tm2tfr.sources.logic.truth", "LogicLabels"),
    examined=later("tm2tfr.sources.logic.truth", "examined"),
    headings=later(_CONVERSION, "headings"),
)
