"""What a page needs to run another input by itself: how rows are read off the stream, and what says what is right.

The reference is plain data for a simulator, or an evaluator, in the page: a machine's rules, a circuit's inputs and gates.
No weight has a part in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from tm2tfr.contract import Column, Truth
from tm2tfr.errors import visible
from tm2tfr.explorer.programs import Show
from tm2tfr.explorer.record import Recording
from tm2tfr.sources.circuit.netlist import Bus, Circuit
from tm2tfr.sources.circuit.truth import CircuitTruth
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import VERDICT_TOKENS, TuringTruth
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

MOST_STEPS = 50_000
"""The largest number of steps that a page runs by itself."""
MOST_EXAMPLES = 12
"""The most inputs that a page suggests."""


def live_data(recording: Recording, show: Show) -> dict[str, Any]:
    """Return what the page needs to record another run of the same weights.

    ``readout`` has an entry for each column but the position's; ``reference`` is None where nothing says what is right.
    """
    decoder, truth = recording.decoder, recording.truth
    return {
        "readout": [_read(column, decoder.layout, show) for column in recording.trace.columns[1:]],
        "reference": None if truth is None else _reference(truth),
        "shown": _renamed(decoder, truth, show),
    }


def box_data(program: Machine | Circuit | None, recordings: Sequence[Recording]) -> dict[str, Any]:
    """Return what the page says of its inputs: which there can be, and which are suggested."""
    first = recordings[0]
    return {
        "name": visible(first.trace.machine),
        "word": first.trace.input,
        "steps": first.max_steps,
        "most": MOST_STEPS,
        "examples": list(dict.fromkeys(_examples(program)))[:MOST_EXAMPLES],
        "alphabet": list(program.input_alphabet or ()) if isinstance(program, Machine) else None,
        "blank": program.blank if isinstance(program, Machine) else None,
        "circuit": _circuit(program) if isinstance(program, Circuit) else None,
    }


def _examples(program: Machine | Circuit | None) -> Iterable[str]:
    if isinstance(program, Machine):
        yield from (() if program.input is None else (program.input,))
        yield from (example.input for example in program.examples)


def _circuit(circuit: Circuit) -> dict[str, Any]:
    """Return a circuit's buses: of its inputs, and of its outputs with the numbers of their nets."""
    inputs = {net: n for n, net in enumerate(circuit.inputs)}
    outputs = {name: n for n, (name, _) in enumerate(circuit.outputs)}
    return {
        "inputs": len(circuit.inputs),
        "encoding": circuit.encoding,
        "buses": [_bus(bus, inputs) for bus in circuit.buses],
        "outputs": [_bus(bus, outputs) for bus in circuit.output_buses],
    }


def _bus(bus: Bus, numbers: dict[str, int]) -> dict[str, Any]:
    """Return a bus with the places of its bits, the least significant one first."""
    return {"name": bus.name, "bits": [numbers[net] for net in bus.nets]}


# ── how rows are read ───────────────────────────────────────────────────────────────────────────────────────
def _read(column: Column, layout: Residual, show: Show) -> dict[str, Any]:
    number = {subspace.name: n for n, subspace in enumerate(layout.subspaces)}
    read, bits = column.read_from(layout), column.read_bits(layout) if column.kind == "bits" else None
    return {
        "kind": column.kind,
        "at": None if read is None else number[read.name],
        "labels": None if read is None else _own_labels(read, show),
        "bits": [number[bit.name] for bit in bits or ()],
        "names": dict(column.names),
    }


def _own_labels(subspace: Subspace, show: Show) -> list[str] | None:
    """Return the labels of a subspace; None if they are shown as they are."""
    labels = list(subspace.labels or ())
    return None if labels == list(map(show, labels)) else labels


def _renamed(decoder: Decoder, truth: Truth | None, show: Show) -> dict[str, str]:
    """Return how texts are shown that are not shown as they are."""
    texts = chain(decoder.vocabulary, *(subspace.labels or () for subspace in decoder.layout.subspaces))
    if isinstance(truth, TuringTruth):
        texts = chain(texts, truth.machine.states, truth.machine.tape_alphabet)
    return {text: shown for text in texts if (shown := show(text)) != text}


# ── what is right ───────────────────────────────────────────────────────────────────────────────────────────
def _reference(truth: Truth) -> dict[str, Any] | None:
    if isinstance(truth, TuringTruth):
        return _machine(truth)
    if isinstance(truth, CircuitTruth):
        return {"kind": "circuit", "nets": len(truth.circuit.inputs) + len(truth.circuit.gates)}
    return None


def _machine(truth: TuringTruth) -> dict[str, Any]:
    """Return a machine, and the tokens of the verdicts it gives: what a simulator needs.

    ``entered`` has, for each state, the verdict of a step into it; ``stopped`` that of a run which has no rule there.
    """
    machine, verdicts = truth.machine, set(VERDICT_TOKENS.values())
    number = {state: n for n, state in enumerate(machine.states)}
    unruled = truth.universal.unruled if isinstance(truth, UniversalTruth) else {}
    first = truth.first
    return {
        "kind": "machine",
        "states": list(machine.states),
        "start": number[machine.start],
        "halting": sorted(number[state] for state in machine.halting_states),
        "rules": [[number[q], a, number[r], b, m] for (q, a), (r, b, m) in machine.transitions.items()],
        "blank": machine.blank,
        "oneWay": machine.tape == "one-way",
        "nominal": truth.nominal,
        "lead": list(truth.lead),
        "first": first if first in verdicts else None,
        "entered": [truth.entered(state) for state in machine.states],
        "stopped": [truth.stopped(state, "") for state in machine.states],
        "unruled": [[number[state], symbol, verdict] for (state, symbol), verdict in unruled.items()],
        "verdicts": [VERDICT_TOKENS[outcome] for outcome in truth.outcomes],
    }
