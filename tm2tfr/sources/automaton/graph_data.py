"""The program in between an automaton and its weights as plain data, and the automaton, for the evaluator in the page."""

from __future__ import annotations

from tm2tfr.contract.shown import PlainData
from tm2tfr.sources.automaton.automaton import ACCEPTS, STATE, Automaton
from tm2tfr.sources.automaton.model import inner, starred
from tm2tfr.sources.automaton.truth import BEFORE, symbols_of
from tm2tfr.transformer.weights import Decoder


def sequence_data(automaton: Automaton, decoder: Decoder) -> PlainData:
    """Return the nodes of the program, and the transitions, which alone determine state and verdict."""
    from tm2tfr.sources.logic import graph_data as logic  # noqa: PLC0415
    from tm2tfr.sources.rasp import graph_data as rasp  # noqa: PLC0415

    program = inner(automaton, decoder)
    data = (logic if starred(decoder) else rasp).sequence_data(program, decoder)
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
