"""The specification of a data set or a sweep of circuits: circuits as they are chosen, and their inputs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import CompileError, counted
from tm2tfr.lab.datasets.circuits.shard import ChosenCircuit, checked_circuits, made_circuits
from tm2tfr.lab.datasets.jobs import Job, Piece
from tm2tfr.lab.datasets.runs import Failure, How
from tm2tfr.lab.datasets.shard import Done, Making, swept
from tm2tfr.lab.datasets.spec import DatasetSpec, Inputs
from tm2tfr.lab.datasets.tally import Tally
from tm2tfr.runs.choose import for_many_runs
from tm2tfr.sources.circuit.formats import native
from tm2tfr.sources.circuit.library.registry import GENERATORS
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.source import SOURCE
from tm2tfr.sources.registry import is_circuit, whose

CIRCUIT_SPLIT_BY = ("run", "circuit", "input")
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
    inputs: Inputs = field(default_factory=Inputs)

    def pieces(self) -> list[Piece]:
        return [Piece((chosen,), self.inputs.of(SOURCE.inputs(chosen.circuit))) for chosen in self.circuits]

    def how(self, engine: str = AUTO, **options: Any) -> How:
        if options.get("left_boundary") is not None:
            raise CompileError(f"{self.name} is about circuits, and {whose('left_boundary')}: omit --left-boundary")
        if options.get("max_steps") is not None:
            what = f"{self.name} is about circuits, whose runs end with their last gate"
            raise CompileError(f"{what}: omit the limit of steps")
        self.refuse_prompts(options)
        chosen = for_many_runs(engine)
        return How(engine if engine == AUTO else chosen)  # which engine runs the weights depends on the variant

    @property
    def maker(self) -> Callable[[Job, Making[Any]], Done]:
        return made_circuits

    @property
    def sweeper(self) -> Callable[[Job, Any], Done]:
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

    def listed(self) -> Iterator[Mapping[str, Any]]:
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
