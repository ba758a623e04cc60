"""What is different for machines, for circuits and for what labels words: who carries out a job, what is told of them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

from tm2tfr.choices import AUTO
from tm2tfr.dataset.circuits.shard import circuits_listed, made_circuits, swept_circuits
from tm2tfr.dataset.circuits.spec import CircuitSpec
from tm2tfr.dataset.jobs import Job
from tm2tfr.dataset.labels.shard import made_labels, program_listed
from tm2tfr.dataset.labels.spec import LabelSpec
from tm2tfr.dataset.prompting import called, prompting
from tm2tfr.dataset.runs import Failure, How
from tm2tfr.dataset.shard import Done, Making, made, swept
from tm2tfr.dataset.spec import Spec
from tm2tfr.errors import DatasetError
from tm2tfr.runs.choose import for_many_runs
from tm2tfr.sources.circuit.library.registry import GENERATORS
from tm2tfr.sources.registry import is_circuit
from tm2tfr.sources.turing.compiler.layout import vocabulary
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.formats.bbchallenge import is_argument
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.program import Universal

AnySpec = Spec | CircuitSpec | LabelSpec


def how_for(
    spec: AnySpec,
    engine: str,
    max_steps: int | None = None,
    left_boundary: str | None = None,
    *,
    universal: object = None,
    tape: str | None = None,
    seed: int | None = None,
) -> How:
    """Return how the runs of a spec are made; `universal`, `tape` and `seed` are those of `prompting`.

    Raises:
        CompileError, WeightFileError: see `prompting`.
        EngineError: if fast is requested and Numba is not installed.
        DatasetError: if an engine is requested for labels, which are the reference's.
    """
    asked = {"universal": universal, "tape": tape, "seed": seed, "left_boundary": left_boundary}
    within = prompting(spec, asked)
    if isinstance(spec, LabelSpec):
        if engine != AUTO:
            labeller = spec.labeller
            what = f"{spec.name}: labels of {labeller.kind} are the {labeller.reference}'s"
            raise DatasetError(f"{what}: omit --engine")
        return How(spec.labeller.reference, 0)
    chosen = for_many_runs(engine)
    if isinstance(spec, CircuitSpec):  # which engine runs the weights depends on the variant
        return How(engine if engine == AUTO else chosen, 0)
    return How(chosen, spec.max_steps if max_steps is None else max_steps, left_boundary, within)


def maker(spec: AnySpec) -> Callable[[Job, Making], Done]:
    """Return what makes the files of a job."""
    if isinstance(spec, LabelSpec):
        return made_labels
    return made_circuits if isinstance(spec, CircuitSpec) else made


def sweeper(spec: AnySpec) -> Callable[[Job, How], Done]:
    """Return what checks the runs of a job."""
    return swept_circuits if isinstance(spec, CircuitSpec) else swept


def listing(spec: AnySpec) -> str:
    """Return a line of JSON for each program: of a machine its name, its YAML, the vocabulary of its decoder.

    In the prompt of a universal decoder, whose vocabulary is in a file of its own, the canonical names of its states and
    symbols take the place of the vocabulary.
    """
    if isinstance(spec, CircuitSpec):
        return circuits_listed(spec)
    if isinstance(spec, LabelSpec):
        return program_listed(spec)
    lines = []
    for machine in (machine for machines in spec.machines for machine in machines):
        told: dict[str, Any] = {"machine": machine.name, "yaml": machine.yaml or native.write(machine)}
        if spec.universal is None:
            told["vocabulary"] = vocabulary(machine, "none" if machine.tape == "two-way" else "repaired")
        else:
            told |= called(spec.universal.holding(machine))
        lines.append(json.dumps(told, ensure_ascii=False) + "\n")
    return "".join(lines)


def tokens_listed(spec: AnySpec) -> str | None:
    """Return the tokens of all examples as a JSON list, in the order of their numbers; None: each program has its own."""
    if not isinstance(spec, Spec) or spec.universal is None:
        return None
    return json.dumps(spec.universal.vocabulary, ensure_ascii=False, indent=0) + "\n"


def listed_in(noun: str) -> str:
    """Return the name of the file with `listing`."""
    return f"{noun}s.jsonl"


def again(spec: AnySpec, failure: Failure, how: How) -> str:
    """Return a command that reproduces a failure."""
    if isinstance(spec, CircuitSpec):
        return _circuit_again(spec, failure, how)
    named = {machine.name: argument for argument, machine in (spec.named if isinstance(spec, Spec) else ())}
    name = failure.program.name
    argument = named.get(name, name if is_argument(name) else "-")
    options = ["--input", failure.word, "--max-steps", str(how.max_steps), "--engine", how.engine]
    machine = failure.program
    if isinstance(machine, Universal) and how.prompting is not None:
        options += how.prompting.options(machine)
        machine = machine.right
    if how.left_boundary is not None:
        options += ["--left-boundary", how.left_boundary]
    command = shlex.join(["tm2tfr", "trace", argument, *options])
    text = native.write(machine) if isinstance(machine, Machine) else ""
    return command if argument != "-" else f"{command} <<'END'\n{text}END"


def _circuit_again(spec: CircuitSpec, failure: Failure, how: How) -> str:
    chosen = next(chosen for chosen in spec.circuits if chosen.circuit.name == failure.program.name)
    parameters = dict(chosen.parameters)
    if not parameters and chosen.argument in GENERATORS and not is_circuit(chosen.argument):  # a machine has that name
        parameters = {parameter.name: str(parameter.default) for parameter in GENERATORS[chosen.argument].parameters}
    options = {**parameters, **chosen.options, "input": failure.word, "engine": how.engine}
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    return shlex.join(["tm2tfr", "trace", chosen.argument, *given])
