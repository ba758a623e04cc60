"""The program between an automaton and its weights, as the weights state it: its reference and its model."""

from __future__ import annotations

from typing import Any

from tm2tfr.contract.options import AutomatonOptions, read_options
from tm2tfr.sources.automaton.automaton import Automaton
from tm2tfr.sources.automaton.programs import STAR_FREE, program_of
from tm2tfr.sources.automaton.words import word_of
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder

MERGED = "merged"
"""The option by which weights say that their states are those of the minimal automaton."""


def merges(decoder: Decoder) -> bool:
    """Return whether the states of weights are those of the minimal automaton."""
    return provenance.option(decoder.provenance, MERGED) == "True"


def inner(automaton: Automaton, decoder: Decoder) -> Any:
    """Return the program that weights were compiled by."""
    said = provenance.options(decoder.provenance)
    options = read_options(AutomatonOptions, {**said, "alphabet": None})
    return program_of(automaton, options)


def starred(decoder: Decoder) -> bool:
    """Return whether weights were compiled by the B-RASP program of a star-free automaton."""
    return provenance.option(decoder.provenance, "by") == STAR_FREE


def inner_truth(automaton: Automaton, word: str, decoder: Decoder) -> Any:
    """Return the run of that program's reference."""
    if starred(decoder):
        from tm2tfr.sources.logic.truth import LogicTruth  # noqa: PLC0415

        return LogicTruth(inner(automaton, decoder), word, decoder)
    from tm2tfr.sources.rasp.truth import RaspTruth  # noqa: PLC0415

    return RaspTruth(inner(automaton, decoder), word, decoder)


def inner_labels(automaton: Automaton, decoder: Decoder) -> Any:
    """Return what that program's reference says of many words."""
    if starred(decoder):
        from tm2tfr.sources.logic.truth import LogicLabels  # noqa: PLC0415

        return LogicLabels(inner(automaton, decoder), decoder)
    from tm2tfr.sources.rasp.truth import RaspLabels  # noqa: PLC0415

    return RaspLabels(inner(automaton, decoder), decoder)


# ── what follows from the program's model: labels, causal runs, explanations ────────────────────────────────
def labelling(automaton: Automaton, decoder: Decoder) -> Any:
    """Return what labels runs: the variables of the program in between."""
    if starred(decoder):
        from tm2tfr.sources.logic.model.labels import LogicVariables  # noqa: PLC0415

        return LogicVariables(inner(automaton, decoder), decoder)
    from tm2tfr.sources.rasp.model.labels import RaspVariables  # noqa: PLC0415

    return RaspVariables(inner(automaton, decoder), decoder)


def causal(automaton: Automaton, word: str, decoder: Decoder) -> Any:
    """Return a run as equations of the variables of the program in between."""
    word_of(automaton, word)
    if starred(decoder):
        from tm2tfr.sources.logic.model.causal import causal_model as of_logic  # noqa: PLC0415

        return of_logic(inner(automaton, decoder), word, decoder)
    from tm2tfr.sources.rasp.model.causal import causal_model as of_rasp  # noqa: PLC0415

    return of_rasp(inner(automaton, decoder), word, decoder)


def described(automaton: Automaton, decoder: Decoder) -> Any:
    """Return the variables and the patterns of heads, for readers: those of the program in between."""
    if starred(decoder):
        from tm2tfr.sources.logic.model.described import described_logic  # noqa: PLC0415

        return described_logic(inner(automaton, decoder), decoder)
    from tm2tfr.sources.rasp.model.described import described_rasp  # noqa: PLC0415

    return described_rasp(inner(automaton, decoder), decoder)
