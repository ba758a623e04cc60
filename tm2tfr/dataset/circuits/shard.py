"""Carrying out a job of circuits: the decoder's bits on many inputs, compared with the evaluator's, as examples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.dataset.circuits.spec import ChosenCircuit, CircuitSpec, circuit_fingerprint
from tm2tfr.dataset.jobs import CIRCUIT_COLUMNS, CircuitTrainingExample, Job, Tokens
from tm2tfr.dataset.runs import Failure, How, TokenCodes, versions
from tm2tfr.dataset.shard import Done, Making
from tm2tfr.dataset.tally import Tally
from tm2tfr.dataset.writing.files import columns_of, encoded
from tm2tfr.errors import CompileError
from tm2tfr.runs.batches.checked import checked_inputs
from tm2tfr.runs.options import RunOptions
from tm2tfr.sources import registry
from tm2tfr.sources.circuit.evaluate import Bits, evaluate_cases
from tm2tfr.sources.circuit.formats import native
from tm2tfr.sources.circuit.inputs import shown_outputs
from tm2tfr.sources.circuit.netlist import Circuit


class _Checked(NamedTuple):
    """Runs of a circuit that agree; bits: (runs, inputs + gates)."""

    circuit: Circuit
    words: tuple[str, ...]
    bits: Bits


def swept_circuits(job: Job, how: How) -> Done:
    """Check the runs of a job of circuits, up to the first that fails."""
    done = Done(job.number, Tally(), versions=versions())
    for found in _checked(job, how, done.tally):
        if isinstance(found, Failure):
            done.failure = found
            break
    return done


def made_circuits(job: Job, making: Making) -> Done:
    """Check the runs of a job of circuits and make its files."""
    done, tokens = Done(job.number, Tally(), versions=versions()), Tokens()
    tokens.of("01")
    found: dict[str, list[CircuitTrainingExample]] = {name: [] for name, _ in making.splitting.splits}
    for checked in _checked(job, making.how, done.tally):
        if isinstance(checked, Failure):
            done.failure = checked
            return done
        key = circuit_fingerprint(checked.circuit)
        for word, bits in zip(checked.words, checked.bits.astype(np.int32), strict=True):
            found[making.splitting.of(key, word)] += circuit_examples(checked.circuit, word, bits, making.forms)
    for split, some in found.items():
        for form in making.forms if some else ():
            done.examples[split, form] = sum(e.form == form for e in some)
        for format in making.formats if some else ():
            done.files[split, format] = encoded(columns_of(some, CIRCUIT_COLUMNS), tokens, format)
    return done


def circuit_examples(circuit: Circuit, word: str, bits: TokenCodes, forms: Sequence[str]) -> list[CircuitTrainingExample]:
    """Return a run as examples, without those in which nothing is scored.

    The answer is the bits of the outputs, the steps are those of the gates: also where outputs are gates' bits, and
    then only these are scored where the steps are only shown.

    Args:
        bits: (inputs + gates,) the bits of all nets.
    """
    inputs, number = len(circuit.inputs), circuit.numbers
    at = np.array([number[net] for _, net in circuit.outputs], dtype=np.int64)
    steps = bits[inputs:]
    shown = np.zeros_like(steps)
    shown[at[at >= inputs] - inputs] = 1
    parts = {
        "answer": (bits[at], np.ones(len(at), dtype=np.int32)),
        "steps shown": (steps, shown),
        "steps scored": (steps, np.ones_like(steps)),
    }
    result = shown_outputs(circuit, {name: int(bits[number[net]]) for name, net in circuit.outputs})
    return [
        CircuitTrainingExample(circuit.name, word, form, bits[:inputs], target, mask, result)
        for form in forms
        for target, mask in (parts[form],)
        if mask.any()
    ]


def circuits_listed(spec: CircuitSpec) -> str:
    """Return a line of JSON for each circuit: its name, its YAML, its nets, and the positions of its outputs."""
    lines = []
    for circuit in (chosen.circuit for chosen in spec.circuits):
        told = {
            "circuit": circuit.name,
            "yaml": native.write(circuit),
            "inputs": circuit.inputs,
            "gates": [gate.net for gate in circuit.gates],
            "outputs": {name: circuit.numbers[net] for name, net in circuit.outputs},
        }
        lines.append(json.dumps(told, ensure_ascii=False) + "\n")
    return "".join(lines)


def _checked(job: Job, how: How, tally: Tally) -> Iterator[_Checked | Failure]:
    """Yield the runs of each piece of a job, counting those that agree; a failure is the last."""
    for piece in job.pieces:
        for chosen in piece.programs:
            tally.machines += 1
            yield _compared(chosen, piece.words, how, tally)


def _compared(chosen: ChosenCircuit, words: tuple[str, ...], how: How, tally: Tally) -> _Checked | Failure:
    """Run a circuit's decoder on some inputs and compare the bits of all gates with the evaluator's."""
    circuit, construction = chosen.circuit, registry.of_program(chosen.circuit)
    if construction is None:
        raise CompileError(f"{circuit.name}: nothing compiles it")
    decoder = construction.compile(circuit, chosen.options)
    cases = _cases(words, len(circuit.inputs))
    found = checked_inputs(decoder, circuit, words, RunOptions(engine=how.engine, max_steps=None), tokens_alone=True)
    agreed = found.runs - (found.failure is not None)
    tally.runs += agreed
    tally.rows += agreed * (len(circuit.inputs) + len(circuit.gates) - 1)
    tally.cells += agreed * len(circuit.gates)
    if found.failure is not None or agreed < len(words):
        why = "" if found.failure is None else str(found.failure.divergence or "")
        return Failure(circuit, words[agreed], why or "the bits of its gates are not the evaluator's after other inputs")
    return _Checked(circuit, words, evaluate_cases(circuit, cases))


def _cases(words: tuple[str, ...], inputs: int) -> NDArray[np.uint8]:
    """Return inputs as bits: (runs, inputs)."""
    return np.frombuffer("".join(words).encode(), dtype=np.uint8).reshape(len(words), inputs) - ord("0")
