"""Where a model would have to look: where the compiled weights do, and where else the same can be found.

Of a circuit, a row is a position that predicts a gate. *Operands* are what the compiled head attends to. A model may as
well compute the gate from *equivalent* positions: its ancestors, which are the nets that are reached by going back at most
three steps, and the gates before it that are computed from those alone. Of other sources, a row is a position where
something is predicted, there is a target for each compiled head, and equivalent positions are not defined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CompileError, EngineError, TrainingError, visible
from tm2tfr.contract.source import Truth
from tm2tfr.engines import engine as engine_named
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.spec import DatasetSpec
from tm2tfr.lab.training.examples import TASK
from tm2tfr.lab.training.record import REGIMES, TrainingRun
from tm2tfr.runs.choose import truth_of
from tm2tfr.sources import registry
from tm2tfr.sources.circuit.arithmetic import binary_adder
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.source import SOURCE
from tm2tfr.tables.scores import attention_map
from tm2tfr.transformer.weights import Decoder

BACK = 3
"""The number of steps back in which ancestors are sought."""
MOST_RUN = 100_000

AttentionWeights = NDArray[np.float64]
SoughtSequences = Mapping[tuple[str, ...], tuple[int, int]]


@dataclass(frozen=True, eq=False)
class AttentionTarget:
    """Where one compiled head looks.

    Args:
        kind: the gate that is predicted, or the compiled head.
        row: the position that looks.
        attended: the positions that the compiled head attends to.
        equivalent: those, and from where else the same can be computed; None where that is not defined.
    """

    kind: str
    row: int
    attended: tuple[int, ...]
    equivalent: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class CircuitTargets:
    """The targets of a circuit's run, which are the same for all inputs.

    Args:
        compiled: (positions, positions) the attention of the compiled weights of `variant`.
    """

    circuit: Circuit
    targets: tuple[AttentionTarget, ...]
    compiled: AttentionWeights
    variant: str

    @property
    def rows(self) -> tuple[str, ...]:
        """What is predicted at each position."""
        return tuple(self.circuit.numbers)[1:]

    @property
    def columns(self) -> tuple[str, ...]:
        """What is fed at each position."""
        return tuple(self.circuit.numbers)[:-1]


def spec_of(run: TrainingRun) -> DatasetSpec:
    """Return the spec that a run's data were made from.

    Raises:
        TrainingError: if the run does not say.
        SpecError: if it cannot be read any more, since a file that it names is not there.
    """
    text = run.data.get("spec")
    if not text:
        raise TrainingError("the record of this run does not say what its data were made from: train on a data set's spec")
    return read(str(text), file=str(run.data["name"]))


def circuit_of(run: TrainingRun) -> Circuit | None:
    """Return the circuit whose gates a run has learned; None if it has learned something else.

    Raises:
        TrainingError: if the gates are not in its sequences.
    """
    data = run.data
    if data.get("task") == TASK:
        if data["regime"] == "weak" or data["intermediates"] != "gates":
            raise TrainingError(f"{data['name']}: {_NO_STEPS}: compare a run with the regime strong or medium")
        return binary_adder(bits=data["bits"], order=data["order"])
    circuits = spec_of(run).netlists()
    if not circuits:
        return None
    if data["form"] == REGIMES["weak"]:
        raise TrainingError(f"{data['name']}: {_NO_STEPS}: compare a run with the regime strong or medium")
    for circuit in circuits:
        if [circuit.name] == data["programs"]:
            return circuit
    raise TrainingError(f"{data['name']}: its circuit is not in its spec: train it again")


_NO_STEPS = "the gates are not in the sequences of this run, and compiled weights attend to them"


def circuit_targets(circuit: Circuit) -> CircuitTargets:
    """Return where the compiled weights of a circuit look: those of ``paper``; of other gates than its, of ``lookup``.

    Raises:
        EngineError: if they cannot be run.
    """
    number = circuit.numbers
    operands = {number[gate.net]: tuple(dict.fromkeys(number[net] for net in gate.operands)) for gate in circuit.gates}
    targets = []
    for gate in circuit.gates:
        at = number[gate.net]
        targets.append(
            AttentionTarget(_kind(circuit, gate.net, gate.kind), at - 1, operands[at], equivalents(operands, at))
        )
    compiled, variant = _compiled(circuit)
    if compiled is None:
        compiled = np.zeros((len(number) - 1, len(number) - 1))
        for target in targets:
            compiled[target.row, list(target.attended)] = 1 / max(1, len(target.attended))
    return CircuitTargets(circuit, tuple(target for target in targets if target.attended), compiled, variant)


def equivalents(operands: Mapping[int, tuple[int, ...]], gate: int) -> tuple[int, ...]:
    """Return the ancestors of a gate, up to three steps, and the gates before it that are computed from those alone."""
    found: set[int] = set()
    reached = {gate}
    for _ in range(BACK):
        reached = {each for at in reached for each in operands.get(at, ())}
        found |= reached
    return tuple(sorted(found | {at for at, read in operands.items() if at < gate and read and found.issuperset(read)}))


def _kind(circuit: Circuit, net: str, kind: str) -> str:
    """Return what gates are called that are measured together: of the paper's adder by their letter."""
    return f"{net.rstrip('0123456789')} ({kind})" if circuit.name == TASK else kind


def _compiled(circuit: Circuit) -> tuple[AttentionWeights | None, str]:
    try:
        decoder = SOURCE.compile(circuit, {"variant": "paper"})
    except CompileError:
        return None, "lookup"
    found = attention_map(decoder, "0" * len(circuit.inputs), engine=engine_named("dense"))
    return found.weights, "paper"


def other_targets(run: TrainingRun, sequences: SoughtSequences, most: int) -> Iterator[tuple[int, list[AttentionTarget]]]:
    """Yield for at most `most` sequences where the compiled heads of another source look: its number, and the targets.

    Heads that attend to every position in sight are left out: any attention is as good.

    Args:
        sequences: what is fed in each -> its number, and its first row.

    Raises:
        TrainingError: if the compiled weights have another sequence of tokens.
    """
    spec, data = spec_of(run), run.data
    if spec.vocabulary is not None:
        what = "machines in prompts are compared with nothing yet"
        raise TrainingError(f"{data['name']}: {what}: compare a run on one machine, a circuit, a program or a formula")
    names = data["programs"]
    found = 0
    for piece in spec.pieces():
        for program in piece.programs:
            if not isinstance(names, list) or program.name not in names:
                continue
            decoder = _decoder_of(program)
            for word in piece.words:
                each = _of_word(program, decoder, word, sequences)
                if each is not None:
                    yield each
                    found += 1
                if found == most:
                    return
    if not found:
        what = "none of its unseen sequences is one of the compiled weights"
        raise TrainingError(f"{data['name']}: {what}: compare a run with the regime strong or medium, on a whole run")


def _decoder_of(program: Any) -> Decoder:
    construction = registry.of_program(program)
    if construction is None:
        raise TrainingError(f"{visible(str(program.name))}: nothing compiles it: compare another run")
    return construction.compile(program, {})


def _of_word(
    program: object, decoder: Decoder, word: str, sequences: SoughtSequences
) -> tuple[int, list[AttentionTarget]] | None:
    """Return the number of the sequence of a word's run, and its targets; None if it is not among them."""
    truth: Truth | None = truth_of(program, word, decoder, MOST_RUN)
    if truth is None:
        return None
    for before, tokens in _as_learned(truth, decoder):
        if tokens in sequences:
            number, first = sequences[tokens]
            return number, list(_targets(truth, decoder, before, len(tokens), first))
    return None


def _as_learned(truth: Truth, decoder: Decoder) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the parts of a run that a model may have been fed: the number of positions before the part, and its tokens."""
    if decoder.labeller:
        tokens = tuple(truth.prompt)
        yield 0, tokens
        bare = tuple(token for token in tokens if token not in ("BOS", "EOS"))
        yield int(tokens[:1] == ("BOS",)), bare
        return
    try:
        upto = len(truth.prompt) + MOST_RUN
        yield 0, tuple(truth.specification(upto).tokens)
    except (IndexError, EngineError):
        return


def _targets(truth: Truth, decoder: Decoder, before: int, length: int, first: int) -> Iterator[AttentionTarget]:
    """Yield the targets of all heads, except those that attend to everything."""
    specification = truth.specification(before + length)
    for layer in decoder.layers:
        for head in layer.heads:
            if head.claim is None or head.uniform:
                continue
            for row in range(first, length):
                attended = [j - before for j in specification.attended(head.claim.attends, row + before)]
                inside = tuple(j for j in attended if 0 <= j < length)
                if inside:
                    yield AttentionTarget(f"{layer.name}: {head.name}", row, inside)
