"""The list of shipped circuits, and the description of one circuit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tm2tfr.base.errors import counted, visible
from tm2tfr.base.text.shown import quoted
from tm2tfr.cli.output import styled

if TYPE_CHECKING:
    from tm2tfr.contract.source import RunResult
    from tm2tfr.runs.comparison import Trace
    from tm2tfr.sources.circuit.library import Generator, Parameter
    from tm2tfr.sources.circuit.netlist import Bus, Circuit
    from tm2tfr.transformer.weights import Decoder

_MOST_NAMED = 12


def heading(circuit: Circuit, decoder: Decoder) -> str:
    """Return the line above a summary: a description of the circuit."""
    return str(circuit).strip("<>") + "\n"


def ended(trace: Trace, decoder: Decoder) -> Iterator[str]:
    """Yield how a run ended, with the outputs: where every bit agrees, those of the reference are the decoder's."""
    if trace.T is None:
        yield f"stopped by --max-steps, {counted(trace.tokens, 'position')} processed"
        return
    outputs = visible(trace.result.shown) if trace.result.shown else "it has no outputs"
    if trace.divergence is not None:
        outputs = f"the run differs from the evaluator's at position {trace.divergence.position:,}"
    yield f"{counted(trace.T, 'gate')}: {outputs}"


def concluded(result: RunResult) -> Iterator[str]:
    """Yield nothing: `ended` has the outputs."""
    yield from ()


def listed(*, as_json: bool, heading: bool) -> list[str]:
    """Return one line per shipped circuit."""
    from tm2tfr.sources.circuit.library import GENERATORS

    if as_json:
        return [json.dumps(_facts(each), ensure_ascii=False) for each in GENERATORS.values()]
    width = max(map(len, GENERATORS))
    lines = [f"{name:<{width}}  circuit  {each.description}{_options(each)}" for name, each in GENERATORS.items()]
    return ["", *lines] if heading else lines


def _options(generator: Generator) -> str:
    named = [f"--{parameter.name}" for parameter in generator.parameters]
    return f" ({', '.join(named)})" if named else ""


def _facts(generator: Generator) -> dict[str, object]:
    parameters = {p.name: p.default for p in generator.parameters}
    about = {"name": generator.name, "kind": "circuit", "description": generator.description, "source": generator.source}
    return {**about, "parameters": parameters}


def described(argument: str, circuit: Circuit, *, as_json: bool) -> Iterator[str]:
    """Yield the lines that describe a circuit, given as `argument`; as JSON, one object."""
    if as_json:
        sizes = {"inputs": len(circuit.inputs), "gates": len(circuit.gates), "kinds": dict(circuit.kinds)}
        outputs = [name for name, _ in circuit.outputs]
        about = {"name": circuit.name, "kind": "circuit", "description": circuit.description, "source": circuit.source}
        yield json.dumps({**about, **sizes, "outputs": outputs}, ensure_ascii=False)
        return
    from tm2tfr.sources.circuit.drawing import MOST_GATES_DRAWN

    yield str(circuit).strip("<>")
    yield from (visible(text) for text in (circuit.description, circuit.source and f"Source: {circuit.source}") if text)
    yield ""
    yield f"Inputs:   {_named(circuit.buses)}"
    yield f"Outputs:  {_named(circuit.output_buses)}"
    yield f"Gates:    {', '.join(f'{number:,} {kind}' for kind, number in circuit.kinds.items())}"
    yield from _parameters(argument)
    yield ""
    yield styled("Try", "bold")
    numbers = "+".join("0x1" if len(bus.nets) > 1 else "1" for bus in circuit.buses)
    example = numbers if len(circuit.buses) <= _MOST_NAMED else "0" * len(circuit.inputs)
    example = "abc" if circuit.encoding else example
    drawn = [["graph", argument, "-o", "circuit.svg"]] if len(circuit.gates) <= MOST_GATES_DRAWN else []
    for words in (["trace", argument, "--input", example], ["check", argument], *drawn):
        yield "  " + " ".join(["tm2tfr", *map(quoted, words)])


def _named(buses: tuple[Bus, ...]) -> str:
    """Return the names of buses, with their widths."""
    named = [f"{visible(bus.name)} ({counted(len(bus.nets), 'bit')})" for bus in buses[:_MOST_NAMED]]
    more = len(buses) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _parameters(argument: str) -> Iterator[str]:
    from tm2tfr.sources.names import generator_named, is_circuit

    found = generator_named(argument) if is_circuit(argument) else None
    if found is None or not found.parameters:
        return
    yield ""
    yield styled("Parameters", "bold")
    yield from (f"  --{p.name:<7} {p.help}: {_range(p)}. Default: {p.default}." for p in found.parameters)


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return ", ".join(parameter.choices)
    return f"{parameter.least:,} to {parameter.most:,}"
