"""Where a model would have to look: where the compiled weights do, and where else the same can be found.

Of a circuit, a row is a position that predicts a gate. *Operands* are what the compiled head attends to. A model may as
well compute the gate from *equivalent* positions: its ancestors, which are the nets that are reached by going back at most
three steps, and the gates before it that are computed from those alone. Of other sources, a row is a position where
something is predicted, there is a target for each compiled head, and equivalent positions are not defined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CompileError, EngineError, TrainingError, visible
from tm2tfr.contract.options import RaspOptions
from tm2tfr.contract.source import Truth
from tm2tfr.engines import engine as engine_named
from tm2tfr.lab.training.examples import TASK
from tm2tfr.lab.training.record import REGIMES, TrainingRun
from tm2tfr.lab.training.task import recorded_spec
from tm2tfr.runs.choose import truth_of
from tm2tfr.sources import registry
from tm2tfr.sources.circuit.arithmetic import binary_adder
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.source import SOURCE
from tm2tfr.tables.scores import AttentionMap, attention_map
from tm2tfr.transformer.weights import Decoder

BACK = 3
"""The number of steps back in which ancestors are sought."""
MOST_RUN = 100_000

AttentionWeights = NDArray[np.float64]
SoughtSequences = Mapping[tuple[str, ...], int]
"""The tokens fed in each sequence -> its first row that predicts."""


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
        """The token predicted at each position."""
        return tuple(self.circuit.numbers)[1:]

    @property
    def columns(self) -> tuple[str, ...]:
        """The token fed at each position."""
        return tuple(self.circuit.numbers)[:-1]


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
    circuits = recorded_spec(run).netlists()
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


def fed_on(circuit: Circuit, word: str) -> tuple[str, ...]:
    """Return the bits that a model is fed on an input: those of all nets but the last.

    Raises:
        InputError: if it is not an input of the circuit.
    """
    decoder = SOURCE.compile(circuit, {})
    truth: Truth = SOURCE.truth(circuit, SOURCE.inputs(circuit).read(word), decoder, None)
    return tuple(truth.specification(len(circuit.numbers)).tokens)


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


@dataclass(frozen=True, eq=False)
class LearnedRun:
    """The run of an input as a model is fed it, and where the compiled heads look in it.

    Args:
        word: the input, as people write it.
        tokens: the tokens fed.
        first: the first row that predicts.
        before: the number of positions of the compiled weights before these.
    """

    word: str
    tokens: tuple[str, ...]
    first: int
    before: int
    truth: Truth
    decoder: Decoder

    @cached_property
    def targets(self) -> tuple[AttentionTarget, ...]:
        """Where each head looks in each row; heads that attend to every position in sight are left out."""
        return tuple(self._targets())

    def _targets(self) -> Iterator[AttentionTarget]:
        before, length = self.before, len(self.tokens)
        specification = self.truth.specification(before + length)
        for layer in self.decoder.layers:
            for head in layer.heads:
                if head.claim is None or head.uniform:
                    continue
                for row in range(self.first, length):
                    attended = [j - before for j in specification.attended(head.claim.attends, row + before)]
                    inside = tuple(j for j in attended if 0 <= j < length)
                    if inside:
                        yield AttentionTarget(f"{layer.name}: {head.name}", row, inside)

    def compiled(self) -> list[AttentionMap]:
        """Return the attention of each compiled head, as its weights compute it, on the rows that predict.

        Positions that the model is not fed, such as a BOS, are left out.
        """
        here = slice(self.before, self.before + len(self.tokens))
        names, maps = tuple(f"{n} {token}" for n, token in enumerate(self.tokens)), list[AttentionMap]()
        for number, layer in enumerate(self.decoder.layers, start=1):
            for head in range(len(layer.heads)):
                found = attention_map(
                    self.decoder, self.truth.prompt, engine=engine_named("dense"), layer=number, head=head
                )
                rows = names if self.decoder.labeller else found.rows
                weights, title = (
                    found.weights[here, here][self.first :],
                    f"compiled: {layer.name}, {layer.heads[head].name}",
                )
                maps.append(
                    replace(
                        found,
                        title=title,
                        weights=weights,
                        rows=rows[self.first : len(names)],
                        columns=names,
                        first=self.first,
                    )
                )
        return maps


def other_targets(run: TrainingRun, sequences: SoughtSequences, most: int, word: str | None = None) -> Iterator[LearnedRun]:
    """Yield for at most `most` sequences of another source where the compiled heads look.

    Args:
        word: yield the run of this input alone, whether it is among the sequences or not.

    Raises:
        TrainingError: if the compiled weights have another sequence of tokens, or the model cannot be fed the input.
        InputError: if the input is not one of the program.
    """
    spec, data = recorded_spec(run), run.data
    if spec.vocabulary is not None:
        what = "machines in prompts are compared with nothing yet"
        raise TrainingError(f"{data['name']}: {what}: compare a run on one machine, a circuit, a program or a formula")
    names = data["programs"]
    found = 0
    for piece in spec.pieces():
        for program in piece.programs:
            if not isinstance(names, list) or program.name not in names:
                continue
            decoder = _decoder_of(program, data["positions"])
            if word is not None:
                yield _of_input(run, program, decoder, word)
                return
            for each in piece.words:
                one = _of_word(program, decoder, each, sequences)
                if one is not None:
                    yield one
                    found += 1
                if found == most:
                    return
    if not found:
        what = "none of its unseen sequences is one of the compiled weights"
        raise TrainingError(f"{data['name']}: {what}: compare a run with the regime strong or medium, on a whole run")


def _decoder_of(program: Any, positions: int) -> Decoder:
    construction = registry.of_program(program)
    if construction is None:
        raise TrainingError(f"{visible(str(program.name))}: nothing compiles it: compare another run")
    return construction.compile(program, {"max_length": positions} if construction.options is RaspOptions else {})


def _of_word(program: object, decoder: Decoder, word: str, sequences: SoughtSequences) -> LearnedRun | None:
    """Return the run of a word, None if it is not among the sequences."""
    truth: Truth | None = truth_of(program, word, decoder, MOST_RUN)
    if truth is None:
        return None
    for before, tokens in _as_learned(truth, decoder):
        if tokens in sequences:
            return LearnedRun(word, tokens, sequences[tokens], before, truth, decoder)
    return None


def _of_input(run: TrainingRun, program: object, decoder: Decoder, word: str) -> LearnedRun:
    """Return the run of a chosen input, whether anything was trained or tested on it or not.

    Raises:
        TrainingError: if the model cannot be fed its tokens.
        InputError: if it is not an input of the program.
    """
    data, labels = run.data, run.data["labels"]
    if not labels and data["form"] == REGIMES["weak"]:
        what = "the steps are not in the sequences of this run"
        raise TrainingError(f"{data['name']}: {what}: compare a run with the regime strong or medium")
    truth: Truth | None = truth_of(program, word, decoder, MOST_RUN)
    if truth is None:
        raise TrainingError(f"{data['name']}: nothing says what its run on {word!r} is: compare another run")
    for before, tokens in _as_learned(truth, decoder):
        if not set(tokens) <= set(data["vocabulary"]):
            continue
        if len(tokens) > data["positions"]:
            what = f"the run has {len(tokens):,} tokens, and the model has {data['positions']:,} positions"
            raise TrainingError(f"{data['name']} on {word!r}: {what}: use a shorter input")
        # a run begins with ``prompt · BOS``, and the BOS is the first to predict
        return LearnedRun(word, tokens, 0 if labels else len(truth.prompt), before, truth, decoder)
    raise TrainingError(f"{data['name']} on {word!r}: the model has not met some of these tokens: use another input")


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
