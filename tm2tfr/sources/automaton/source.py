"""The construction for finite automata: what everything else knows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tm2tfr.base.choices import AUTOMATON as NAME
from tm2tfr.base.choices import DRAWN
from tm2tfr.base.text.words import token_words
from tm2tfr.certificates.kit import check_no_tape
from tm2tfr.contract.options import AutomatonOptions, read_options
from tm2tfr.contract.source import Source, Truth, later
from tm2tfr.sources.automaton.automaton import Automaton
from tm2tfr.sources.automaton.words import own_word, word_of
from tm2tfr.transformer.weights import Decoder


def _compile(automaton: Automaton, options: Mapping[str, Any]) -> Decoder:
    from tm2tfr.sources.automaton.compiler import compile_automaton

    return compile_automaton(automaton, read_options(AutomatonOptions, options))


def _prepare(automaton: Automaton, options: Mapping[str, Any]) -> Automaton:
    """Return the automaton over the requested alphabet."""
    from tm2tfr.sources.automaton.compiler import prepared

    return prepared(automaton, read_options(AutomatonOptions, options))


def _truth(automaton: Automaton, word: str, decoder: Decoder, max_steps: int | None) -> Truth:
    from tm2tfr.sources.automaton.truth import AutomatonTruth

    return AutomatonTruth(automaton, word, decoder)


def _read(text: str, file: str) -> Automaton:
    from tm2tfr.sources.automaton.formats import registry

    return registry.read(text, file=file, format="yaml").program


def _given(automaton: Automaton, word: str) -> str:
    word_of(automaton, word)
    return word


def _fed(automaton: Automaton, word: str, decoder: Decoder) -> Sequence[str]:
    from tm2tfr.sources.automaton.truth import AutomatonTruth

    return AutomatonTruth(automaton, word, decoder).prompt


_MODEL, _GRAPHS = "tm2tfr.sources.automaton.model", "tm2tfr.sources.automaton.drawing"
_CONVERSION, _PAGE = "tm2tfr.sources.automaton.conversion", "tm2tfr.sources.automaton.page"
SOURCE = Source(
    name=NAME,
    noun="automaton",
    type=Automaton,
    options=AutomatonOptions,
    compile=_compile,
    truth=_truth,
    outcomes=later("tm2tfr.sources.automaton.truth", "outcomes"),
    read=_read,
    own_input=own_word,
    inputs=lambda automaton: token_words(automaton.alphabet, partial(word_of, automaton)),
    given=_given,
    targets=("yaml", "jflap", "srasp", "tl", "rasp", "dot", "mermaid"),
    convert=later(_CONVERSION, "convert"),
    format_for=later(_CONVERSION, "format_for"),
    drawn=DRAWN,
    dot=later(_GRAPHS, "to_dot"),
    draw=later(_GRAPHS, "save"),
    graph=later(_GRAPHS, "to_networkx"),
    tried=later(_PAGE, "tried"),
    page=later(_PAGE, "page"),
    exported=later(_PAGE, "ExportedAutomaton"),
    prepare=_prepare,
    restore=_prepare,
    fed=_fed,
    labelling=later(_MODEL, "labelling"),
    causal=later(_MODEL, "causal"),
    described=later(_MODEL, "described"),
    labels=later("tm2tfr.sources.automaton.truth", "AutomatonLabels"),
    prove=later("tm2tfr.sources.automaton.proof", "prove"),
    check_questions=check_no_tape,
    examined=later("tm2tfr.sources.automaton.truth", "examined"),
)
