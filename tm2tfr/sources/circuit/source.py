"""The constructions of Section 4 and Appendix A of the paper: what everything else knows of Boolean circuits."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from tm2tfr.base.choices import BASES, CIRCUIT_FORMATS, DRAWN, HARDWARE, PICTURES
from tm2tfr.base.choices import CIRCUIT as NAME
from tm2tfr.base.errors import CompileError, UsageError, did_you_mean, visible
from tm2tfr.base.text.words import InputSpace
from tm2tfr.certificates.kit import Questions
from tm2tfr.contract.blocks import BlockReference
from tm2tfr.contract.model import SourceModel
from tm2tfr.contract.options import CircuitOptions, OptionValues
from tm2tfr.contract.source import Source, later
from tm2tfr.sources.circuit.inputs import read_input
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.transformer.provenance import option
from tm2tfr.transformer.weights import Decoder

if TYPE_CHECKING:
    from tm2tfr.sources.circuit.truth import CircuitTruth


def _compile(circuit: Circuit, options: OptionValues) -> Decoder:
    from tm2tfr.sources.circuit.compiler import compile_circuit

    variant, epsilon = options.get("variant", "lookup"), _number(options.get("epsilon", 0.0))
    epsilon_star = _number(options.get("epsilon_star"))
    return compile_circuit(circuit, variant, epsilon=epsilon, epsilon_star=epsilon_star, source=_stated(circuit))


def _stated(circuit: Circuit) -> str:
    """Return the text that weights state as their circuit, which `_read` must be able to read again.

    Raises:
        CompileError: if it is larger than the limit for reading.
    """
    from tm2tfr.sources.circuit.formats import native, registry

    text, most = native.write(circuit), registry.CIRCUIT_FORMATS["yaml"].most
    if (size := len(text.encode())) > most << 20:
        gates, stated = f"{len(circuit.gates):,} gates", f"{size / 2**20:,.0f} MiB as YAML"
        problem = f"{gates} are {stated}, and weights state the circuit of at most {most} MiB"
        raise CompileError(f"{visible(circuit.name)}: {problem}: give its nets shorter names, or compile parts of it")
    return text


def _number(epsilon: Any) -> Any:
    """Return an epsilon, or ε*, that provenance states as text as a number; anything else stays, to be refused later."""
    with suppress(ValueError):
        return float(epsilon) if isinstance(epsilon, str) else epsilon
    return epsilon


def _prepare(circuit: Circuit, options: OptionValues) -> Circuit:
    """Return the circuit in the requested basis, or that the variant has, if it is not in it."""
    from tm2tfr.sources.circuit.building import to_nor, to_paper

    basis, variant = options.get("basis"), options.get("variant")
    if basis is not None and basis not in BASES:
        raise CompileError(f"unknown basis {basis!r}{did_you_mean(str(basis), BASES)}: use {', '.join(BASES)}")
    if basis is None and variant in ("paper", "paper-hard"):
        basis = (
            "paper"
            if not all(len(gate.operands) == 2 and gate.kind in ("NOR", "AND", "XOR") for gate in circuit.gates)
            else None
        )
    if basis is None:
        return circuit
    return to_nor(circuit) if basis == "nor" else to_paper(circuit)


def _truth(circuit: Circuit, bits: str, decoder: Decoder, max_steps: int | None) -> CircuitTruth:
    from tm2tfr.sources.circuit.truth import CircuitTruth

    variant, epsilon = option(decoder.provenance, "variant") or "lookup", _epsilon(decoder)
    return CircuitTruth(circuit, bits, variant, epsilon, max_steps)


def _model(circuit: Circuit, decoder: Decoder) -> SourceModel:
    from tm2tfr.sources.circuit.model import circuit_model

    truth = _truth(circuit, "0" * len(circuit.inputs), decoder, None)
    truth.refuse(decoder.layout)
    return circuit_model(circuit, truth.variant, truth.epsilon, decoder.vocabulary)


def _epsilon(decoder: Decoder) -> float:
    """Return the epsilon that weights say they were compiled with."""
    stated = option(decoder.provenance, "epsilon") or "0"
    epsilon = _number(stated)
    if isinstance(epsilon, str) or not 0 <= epsilon < float("inf"):
        problem = f"these weights say that their epsilon is {stated!r}, which is not a number from 0 on"
        raise CompileError(f"{problem}: compile the circuit again")
    return float(epsilon)


def _blocks(circuit: Circuit, decoder: Decoder, max_steps: int | None) -> BlockReference:
    from tm2tfr.sources.circuit.truth import CircuitBlocks

    return CircuitBlocks(decoder, _truth(circuit, "0" * len(circuit.inputs), decoder, max_steps))


def _read(text: str, file: str) -> Circuit:
    from tm2tfr.sources.circuit.formats import registry

    return registry.read(text, file=file, format="yaml").circuit


def _own_input(circuit: Circuit) -> str:
    """Return the input of a circuit when none is given: the empty text if it takes one, otherwise zeros."""
    return read_input(circuit, "") if circuit.encoding else "0" * len(circuit.inputs)


def _of_bytes(circuit: Circuit, message: bytes) -> str | None:
    from tm2tfr.sources.circuit.sha256 import hexadecimal

    return hexadecimal(message) if circuit.encoding else None


def _inputs(circuit: Circuit) -> InputSpace:
    bits = len(circuit.inputs)
    return InputSpace(letters=("0", "1"), shortest=bits, length=bits, read=partial(read_input, circuit))


def _check_questions(name: str, questions: Questions) -> None:
    given = {"--max-steps": questions.steps, "--max-positions": questions.positions, "--max-head": questions.max_head}
    if (refused := next((option for option, value in given.items() if value is not None), None)) is not None:
        problem = f"{name} is a circuit, whose runs all have the same length and no head"
        raise UsageError(f"tm2tfr certify: {problem}: omit {refused}")


_PAGE = "tm2tfr.sources.circuit.page"
SOURCE = Source(
    name=NAME,
    noun="circuit",
    type=Circuit,
    options=CircuitOptions,
    compile=_compile,
    truth=_truth,
    blocks=_blocks,
    outcomes=later("tm2tfr.sources.circuit.evaluate", "outcomes"),
    enumerated=later("tm2tfr.sources.circuit.truth", "inputs"),
    read=_read,
    own_input=_own_input,
    inputs=_inputs,
    given=read_input,
    targets=("yaml", *CIRCUIT_FORMATS, *HARDWARE, *PICTURES),
    convert=later("tm2tfr.sources.circuit.conversion", "convert"),
    format_for=later("tm2tfr.sources.circuit.conversion", "format_for"),
    drawn=DRAWN,
    dot=later("tm2tfr.sources.circuit.drawing", "to_dot"),
    draw=later("tm2tfr.sources.circuit.drawing", "save"),
    graph=later("tm2tfr.sources.circuit.drawing", "to_graph"),
    tried=later(_PAGE, "tried"),
    nets=later(_PAGE, "nets"),
    check_questions=_check_questions,
    page=later(_PAGE, "page"),
    part=later("tm2tfr.sources.circuit.drawing", "cone"),
    model=_model,
    of_bytes=_of_bytes,
    prove=later("tm2tfr.sources.circuit.proof.certificate", "CircuitProof"),
    cases=later("tm2tfr.sources.circuit.page", "cases"),
    exported=later("tm2tfr.sources.circuit.page", "ExportedCircuit"),
    prepare=_prepare,
)
