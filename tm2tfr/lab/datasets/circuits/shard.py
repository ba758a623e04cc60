"""Carrying out a job of circuits: the decoder's bits on many inputs, compared with the evaluator's, as examples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.lab.datasets.jobs import Job, TokenCodes, Tokens
from tm2tfr.lab.datasets.runs import Failure, How
from tm2tfr.lab.datasets.shard import Done, Making
from tm2tfr.lab.datasets.tally import Tally
from tm2tfr.runs.batches.checked import checked_inputs
from tm2tfr.runs.plan import RunOptions
from tm2tfr.sources.circuit.evaluate import Bits, evaluate_cases
from tm2tfr.sources.circuit.inputs import shown_outputs
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.source import SOURCE


@dataclass(frozen=True)
class ChosenCircuit:
    """A circuit, how it was named, and how it is compiled.

    Args:
        argument: its name, or that of its file.
        parameters: those of a shipped circuit that were given.
        circuit: in the basis that the options ask for.
        options: see `tm2tfr.compile`.
    """

    argument: str
    parameters: Mapping[str, str]
    circuit: Circuit
    options: Mapping[str, str]

    @property
    def name(self) -> str:
        """That of the circuit."""
        return self.circuit.name


class _Checked(NamedTuple):
    """Runs of a circuit that agree; bits: (runs, inputs + gates)."""

    circuit: Circuit
    words: tuple[str, ...]
    bits: Bits


def made_circuits(job: Job, making: Making[How]) -> Done:
    """Check the runs of a job of circuits and make its files."""
    done, tokens = Done.of(job), Tokens()
    tokens.of("01")
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name, _ in making.splitting.splits}
    for checked in done.agreeing(checked_circuits(job, making.how, done.tally)):
        key = circuit_fingerprint(checked.circuit)
        for word, bits in zip(checked.words, checked.bits.astype(np.int32), strict=True):
            found[making.splitting.of(key, word)] += _examples(checked.circuit, word, bits, making.forms)
    done.write(making.by_split(found), tokens, making.formats)
    return done


def circuit_fingerprint(circuit: Circuit) -> str:
    """Return a digest of what a decoder generates for a circuit, regardless of its name and those of its nets."""
    number = circuit.numbers
    gates = [[gate.table, *(number[net] for net in gate.operands)] for gate in circuit.gates]
    facts: list[Any] = [len(circuit.inputs), gates, [number[net] for _, net in circuit.outputs]]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _examples(circuit: Circuit, word: str, bits: TokenCodes, forms: Sequence[str]) -> list[tuple[Any, ...]]:
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
        (circuit.name, word, form, bits[:inputs], target, mask, result)
        for form in forms
        for target, mask in (parts[form],)
        if mask.any()
    ]


def checked_circuits(job: Job, how: How, tally: Tally) -> Iterator[_Checked | Failure]:
    """Yield the runs of each piece of a job, counting those that agree; a failure is the last."""
    for piece in job.pieces:
        for chosen in piece.programs:
            tally.machines += 1
            yield _compared(chosen, piece.words, how, tally)


def _compared(chosen: ChosenCircuit, words: tuple[str, ...], how: How, tally: Tally) -> _Checked | Failure:
    """Run a circuit's decoder on some inputs and compare the bits of all gates with the evaluator's."""
    circuit, decoder = chosen.circuit, SOURCE.compile(chosen.circuit, chosen.options)
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
