"""The specification of a data set or a sweep of circuits: circuits as they are chosen, and their inputs."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import CompileError, counted
from tm2tfr.lab.datasets.balance import Judged, judged
from tm2tfr.lab.datasets.files import TokenCodes, Tokens
from tm2tfr.lab.datasets.shard import (
    BY_TOKENS,
    Done,
    Failure,
    How,
    Making,
    Piece,
    PieceJob,
    ShardMaker,
    ShardSweeper,
    Splitting,
    Tally,
    swept,
)
from tm2tfr.lab.datasets.spec import DatasetSpec, HowOptions
from tm2tfr.runs.batches.checked import checked_inputs
from tm2tfr.runs.choose import for_many_runs
from tm2tfr.runs.plan import RunOptions
from tm2tfr.sources.circuit.evaluate import Bits, evaluate_cases
from tm2tfr.sources.circuit.formats import native
from tm2tfr.sources.circuit.inputs import shown_outputs
from tm2tfr.sources.circuit.library import GENERATORS
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.source import SOURCE
from tm2tfr.sources.names import is_circuit
from tm2tfr.sources.registry import whose

CIRCUIT_SPLIT_BY = ("run", "circuit", "input", BY_TOKENS)
_COLUMNS = {
    "circuit": "the circuit's name; `circuits.jsonl` has each circuit, its nets and the positions of its outputs",
    "input": "the bits of the inputs",
    "form": "`answer`, `steps shown` or `steps scored`",
    "prompt": "the given tokens: the bits of the inputs",
    "target": "the tokens to predict: the bits of the gates, or of the outputs alone",
    "loss_mask": "1 for each token of the target that is scored, 0 for one that is only shown",
    "result": "the numbers that the outputs say",
}


@dataclass(frozen=True, kw_only=True)
class CircuitSpec(DatasetSpec):
    """A data set, or a sweep, of Boolean circuits."""

    noun: ClassVar[str] = "circuit"

    circuits: tuple[ChosenCircuit, ...]

    def pieces(self) -> list[Piece]:
        spaces = ((chosen, SOURCE.inputs(chosen.circuit)) for chosen in self.circuits)
        return [Piece((chosen,), self.inputs.of(space, self.judged(chosen))) for chosen, space in spaces]

    @property
    def several(self) -> bool:
        return len(self.circuits) > 1

    def judged(self, program: ChosenCircuit) -> Judged:
        return judged(program.circuit)

    def how(self, engine: str = AUTO, **options: Unpack[HowOptions]) -> How:
        if options.get("left_boundary") is not None:
            raise CompileError(f"{self.name} is about circuits, and {whose('left_boundary')}: omit --left-boundary")
        if options.get("max_steps") is not None:
            what = f"{self.name} is about circuits, whose runs end with their last gate"
            raise CompileError(f"{what}: omit the limit of steps")
        self.refuse_prompts(options)
        chosen = for_many_runs(engine)
        return How(engine if engine == AUTO else chosen)  # which engine runs the weights depends on the variant

    @property
    def maker(self) -> ShardMaker:
        return made_circuits

    @property
    def sweeper(self) -> ShardSweeper:
        return partial(swept, checked_circuits)

    def netlists(self) -> tuple[Circuit, ...]:
        return tuple(chosen.circuit for chosen in self.circuits)

    def again(self, failure: Failure, how: How) -> str:
        chosen = next(chosen for chosen in self.circuits if chosen.circuit.name == failure.program.name)
        parameters = dict(chosen.parameters)
        if not parameters and chosen.argument in GENERATORS and not is_circuit(chosen.argument):  # a machine has that name
            parameters = {parameter.name: str(parameter.default) for parameter in GENERATORS[chosen.argument].parameters}
        options = {**parameters, **chosen.options, "input": failure.word, "engine": how.engine}
        given = [part for name, value in options.items() for part in (f"--{name}", value)]
        return shlex.join(["tm2tfr", "trace", chosen.argument, *given])

    @property
    def columns(self) -> Mapping[str, str]:
        return _COLUMNS

    def listed(self) -> Iterator[Mapping[str, object]]:
        """Yield of each circuit its name, its YAML, its nets, and the positions of its outputs."""
        for circuit in self.netlists():
            yield {
                "circuit": circuit.name,
                "yaml": native.write(circuit),
                "inputs": circuit.inputs,
                "gates": [gate.net for gate in circuit.gates],
                "outputs": {name: circuit.numbers[net] for name, net in circuit.outputs},
            }

    def about(self, tally: Tally, made: str) -> str:
        compared = f"{tally.runs:,} runs, {tally.cells:,} bits of gates, each compared with a reference evaluator"
        return f"Runs of Boolean circuits as a transformer decoder generates them, {made}: {compared}"

    def summed(self, tally: Tally) -> str:
        return f"{counted(tally.runs, 'run')}, {counted(tally.cells, 'bit')} compared"


# ── Carrying out a job of circuits: the decoder's bits on many inputs, compared with the evaluator's, as examples.
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
        """The name of the circuit."""
        return self.circuit.name


class _Checked(NamedTuple):
    """Runs of a circuit that agree; bits: (runs, inputs + gates)."""

    circuit: Circuit
    words: tuple[str, ...]
    bits: Bits


def made_circuits(job: PieceJob, making: Making[How]) -> Done:
    """Check the runs of a job of circuits and make its files."""
    done, tokens = Done(job.number), Tokens()
    tokens.of("01")
    found: dict[str, list[tuple[object, ...]]] = {name: [] for name, _ in making.splitting.splits}
    for checked in done.agreeing(checked_circuits(job, making.how, done.tally)):
        key = circuit_fingerprint(checked.circuit)
        for word, bits in zip(checked.words, checked.bits.astype(np.int32), strict=True):
            for example in _examples(checked.circuit, word, bits, making.forms):
                found[_split(making.splitting, key, example)].append(example)
    making.write(done, making.by_split(found), tokens)
    return done


def _split(splitting: Splitting, key: str, example: tuple[Any, ...]) -> str:
    """Return the split of an example, see `_examples`; key: the digest of the circuit."""
    if splitting.by != BY_TOKENS:
        return splitting.of(key, example[1])
    prompt, target = (map(str, bits.tolist()) for bits in example[3:5])
    return splitting.of_tokens(prompt, target)


def circuit_fingerprint(circuit: Circuit) -> str:
    """Return a digest of what a decoder generates for a circuit, regardless of its name and those of its nets."""
    number = circuit.numbers
    gates = [[gate.table, *(number[net] for net in gate.operands)] for gate in circuit.gates]
    facts: list[object] = [len(circuit.inputs), gates, [number[net] for _, net in circuit.outputs]]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _examples(circuit: Circuit, word: str, bits: TokenCodes, forms: Sequence[str]) -> list[tuple[object, ...]]:
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


def checked_circuits(job: PieceJob, how: How, tally: Tally) -> Iterator[_Checked | Failure]:
    """Yield the runs of each piece of a job and count those that agree. A failure ends the job."""
    for piece in job.work:
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
