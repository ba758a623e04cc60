"""The model of a machine's run says what the simulator does, and its shortcuts what its equations say."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.strategies import machines_with_inputs, tries
from tm2tfr.contract.evaluation import WholeRuns
from tm2tfr.contract.labelling import Ragged, recoded
from tm2tfr.contract.model import SourceModel
from tm2tfr.contract.modelled import ModelRuns
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.model import turing_model
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.sources.turing.universal.compiler import compiled
from tm2tfr.sources.turing.universal.model import universal_model
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.weights import Decoder

STEPS = 30


def differing(model: SourceModel, decoder: Decoder, truth: TuringTruth) -> list[tuple[int, str]]:
    """Return the cells in which the model, without any settings, differs from the simulator's rows."""
    rows = list(islice(truth.rows(), len(truth.prompt) + STEPS))
    run = ModelRuns(model, (*truth.prompt, BOS), decoder).run({}, len(rows))
    assert len(run.cells) == len(rows)
    found = []
    for row, token, answer, cells in zip(rows, run.tokens, run.answers, run.cells, strict=True):
        right = {"e_x": row.x, "e_q": row.q, "e_b": row.b, "m": row.m, "h": row.h, "e_a": row.a}
        found += [(row.i, name) for name, value in right.items() if cells[name] != value]
        found += [(row.i, name) for name, value in (("x", token == row.x), ("y", answer == row.y)) if not value]
    return found


@settings(max_examples=tries(300), deadline=None)
@given(machines_with_inputs())
def test_without_settings_it_is_the_simulators_run(case: tuple[Machine, str]) -> None:
    machine, word = case
    decoder = compile_machine(machine)
    model = turing_model(machine, decoder.vocabulary, stop=decoder.stop)
    assert differing(model, decoder, TuringTruth(machine, word)) == []


@pytest.mark.parametrize(("name", "word"), [("chapter", "11"), ("busy-beaver-2", ""), ("parity", "10")])
def test_a_universal_decoders_model_finds_the_rules_of_the_prompt(name: str, word: str) -> None:
    universal = Universal(states=6, symbols=3).holding(load(name))
    decoder = compiled(universal, {})
    names, tapes = universal.names, universal.tapes
    model = universal_model(names, tapes, decoder.vocabulary, two_way=True, walled=False, stop=decoder.stop)
    truth = UniversalTruth(universal, word)
    assert differing(model, decoder, truth) == []
    assert shortcuts_differ(model, truth) == []


@pytest.mark.parametrize("name", ["chapter", "busy-beaver-3", "palindromes"])
def test_the_latest_write_is_found_faster_where_nothing_is_set(name: str) -> None:
    machine = load(name)
    truth = TuringTruth(machine, machine.examples[0].input if machine.examples else "")
    model = turing_model(machine, tuple(dict.fromkeys(row.x or "" for row in truth.on(truth.input).rows_upto(200))))
    assert shortcuts_differ(model, truth) == []


def shortcuts_differ(model: SourceModel, truth: TuringTruth) -> list[str]:
    """Return the variables and patterns whose shortcut finds something else than their equation, on two runs."""
    rows = truth.rows_upto(200)
    tokens = recoded([row.x for row in rows] * 2, model.vocabulary)
    columns = WholeRuns(model, np.array([0, len(rows), 2 * len(rows)]), tokens)
    differ = [
        variable.name
        for variable in model.variables
        if variable.shortcut is not None
        and variable.equation is not None
        and list(map(float, variable.equation(columns))) != list(map(float, variable.shortcut(columns)))
    ]
    for pattern in model.patterns:
        if pattern.shortcut is not None:
            plain, fast = listed(pattern.places(columns), columns.i), listed(pattern.shortcut(columns), columns.i)
            differ += [pattern.claim] if plain != fast else []
    return differ


def listed(places: object, i: NDArray[np.int64]) -> list[list[int]]:
    """Return the positions for each row."""
    if not isinstance(places, Ragged):
        return [[int(place)] for place in np.asarray(places)]
    pairs = zip(places.offsets[:-1], places.offsets[1:], places.everything, i.tolist(), strict=True)
    return [list(range(n + 1)) if everything else places.places[a:b].tolist() for a, b, everything, n in pairs]
