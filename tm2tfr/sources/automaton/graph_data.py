"""The program in between an automaton and its weights as plain data, and the automaton, for the evaluator in the page."""

from __future__ import annotations

from tm2tfr.contract.shown import PlainData
from tm2tfr.sources.automaton.automaton import ACCEPTS, STATE, Automaton
from tm2tfr.sources.automaton.model import inner, starred
from tm2tfr.sources.automaton.truth import BEFORE, symbols_of
from tm2tfr.transformer.weights import Decoder


def sequence_data(automaton: Automaton, decoder: Decoder) -> PlainData:
    """Return the nodes of the program, and the transitions, which alone say what the state and the verdict are."""
    program = inner(automaton, decoder)
    if starred(decoder):
        from tm2tfr.sources.logic.graph_data import sequence_data as of_program  # noqa: PLC0415
    else:
        from tm2tfr.sources.rasp.graph_data import sequence_data as of_program  # noqa: PLC0415
    data = of_program(program, decoder)
    places = {state: place for place, state in enumerate(automaton.states)}
    symbols = symbols_of(automaton, decoder)
    return {
        **data,
        "noun": "automaton",
        "name": automaton.name,
        "before": [BEFORE] * (BEFORE in decoder.vocabulary),
        "outputs": [
            {**output, "node": None if output["name"] in (STATE, ACCEPTS) else output["node"]} for output in data["outputs"]
        ],
        "automaton": {
            "start": places[automaton.start],
            "next": [[places[automaton.transitions[q, a]] for a in data["alphabet"]] for q in automaton.states],
            "accepting": [state in automaton.accepting for state in automaton.states],
            "labels": [symbols[state] for state in automaton.states],
            "state": STATE,
            "accepts": ACCEPTS,
        },
    }
