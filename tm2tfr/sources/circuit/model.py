"""The model of a circuit's run: the bit of each gate is a function of the bits at the positions of its operands.

With n inputs, position i answers symbol i + 1, so its gate is number i + 1 - n; before position n - 1 there is none, and
nothing that is answered there matters.

``lookup``: the position table says where the operands are and which gate it is; three heads bring the bits of the operands,
and the answer is the entry of the truth table for them.

``paper`` (Appendix A with the repairs): one head takes the mean of the operands' signs. The four entries ±1 of the
embedding have mean 0 and variance 4/d, those of the stream after attention mean 0 and variance (4 + 2a²)/d, where a is that
mean. So the layer norm makes a into a' = a/√((4 + 2a²)/d + ε), and with h half the value of a' at a = 1 the flags are

NOR: one = max(0, -a' - h), zero = max(0, a' + h);   AND: one = max(0, a' - h), zero = max(0, h - a');
XOR: one = h - |a'|, zero = max(0, |a'| - h).

``paper-hard`` has no norms: a' = a and h = 1/2. Under softmax these are the values in the limit; the attention that other
positions get makes a difference of at most 2/d² to a. ``paper`` keeps each number twice, with both signs, so that a norm
finds the mean 0: an intervention sets both.

Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import sqrt

import numpy as np

from tm2tfr.contract.labelling import HeldVariable, Ragged, recoded
from tm2tfr.contract.model import (
    Equation,
    LabelColumn,
    ModelColumns,
    ModelStage,
    ModelVariable,
    Pattern,
    SourceModel,
    VariableValues,
)
from tm2tfr.contract.modelled import ModelSpecification
from tm2tfr.sources.circuit.columns import GATE_NAMES, OPERANDS, TRUTH, gate_at, operand_positions, widened
from tm2tfr.sources.circuit.netlist import Circuit

NO_GATE = "none"
"""The gate of a position that answers none: before the last input."""
BITS = ("0", "1")
LOOKUP_LABELS = ("gate", "net", "bit", *OPERANDS, *(f"x_{operand}" for operand in OPERANDS), *TRUTH, "next")
PAPER_LABELS = ("gate", "net", "sign", "mean", "one", "zero")
"""The label columns, in the order in which they are published."""
_ATTENTION: ModelStage = (0, "attention")
_FEED_FORWARD: ModelStage = (0, "feed_forward")
_CLOSE = 0.1
"""By how much the numbers of ``paper`` may be off those in the limit."""
_PLACE = "it says where a position is, and has no cause: set the bit there, or the positions of operands"


def circuit_model(
    circuit: Circuit, variant: str = "lookup", epsilon: float = 0.0, vocabulary: tuple[str, ...] = BITS
) -> SourceModel:
    """Return the model of a circuit's runs.

    Args:
        variant: see `tm2tfr.base.choices.CIRCUIT_VARIANTS`; epsilon: the epsilon of the layer norms of ``paper``.
        vocabulary: the order of the two tokens.
    """
    positions = len(circuit.inputs) + len(circuit.gates) - 1
    gates = [gate_at(circuit, i) for i in range(positions)]
    kinds = [NO_GATE if gate is None else GATE_NAMES.get(widened(gate), gate.table) for gate in gates]
    nets = [NO_GATE if gate is None else gate.net for gate in gates]
    about = (_known("gate", "the gate that this position answers", kinds), _known("net", "its net", nets))
    bit = recoded(BITS, vocabulary)
    if variant == "lookup":
        own, patterns = tuple(_lookup(circuit, positions, int(bit[1]))), tuple(map(_operand, OPERANDS))
    else:
        own, patterns = tuple(_paper(positions, variant, epsilon, int(bit[1]))), (_operands(circuit, positions),)

    def answer(c: ModelColumns) -> VariableValues:
        one = 2 * c["y"] > 1 if variant == "lookup" else c["one"] > c["zero"]
        return bit[one.astype(np.int64)]

    return SourceModel(
        variables=(*about, *own),
        patterns=patterns,
        vocabulary=vocabulary,
        answer=answer,
        columns=LOOKUP_LABELS if variant == "lookup" else PAPER_LABELS,
        aliases={} if variant == "lookup" else {"x": "s"},
        positions=positions,
    )


def _known(name: str, meaning: str, at: Sequence[str]) -> ModelVariable:
    """Return a variable that the circuit says of each position, and no subspace holds."""
    labels = tuple(dict.fromkeys((NO_GATE, *at)))
    column = LabelColumn(name=name, meaning=meaning, kind="label")
    return ModelVariable(
        name=name,
        meaning=meaning,
        kind="label",
        labels=labels,
        equation=_at(recoded(at, labels)),
        formula=f"{name}_i, as the circuit has it",
        stored=False,
        feature=True,
        column=column,
    )


def _at(values: VariableValues) -> Equation:
    """Return the equation for a value in the position table: (positions,)."""
    return lambda c: values[c.i]


def _feature(name: str, meaning: str, equation: Equation, held: HeldVariable) -> ModelVariable:
    formula = name.replace("^2", "²")
    return ModelVariable(
        name=name, meaning=meaning, equation=equation, formula=formula, feature=True, unset=_PLACE, held=held
    )


class CircuitSpecification(ModelSpecification):
    """The specification of a run, whose tokens say everything.

    Args:
        symbols: the bits of all nets, inputs and then gates, in order.
    """

    def __init__(self, circuit: Circuit, symbols: Sequence[int], variant: str = "lookup", epsilon: float = 0.0) -> None:
        self._circuit = circuit
        super().__init__(circuit_model(circuit, variant, epsilon), tuple(map(str, symbols[:-1])), {})

    def about(self, i: int) -> str | None:
        """Return the gate whose bit position `i` answers, in words; None if it answers none."""
        gate = gate_at(self._circuit, i)
        if gate is None:
            return None
        return f"position {i} answers net {gate.net}: {gate.kind}({', '.join(gate.operands)})"


# ── lookup: Section 4 of the paper
def _lookup(circuit: Circuit, positions: int, one: int) -> Iterator[ModelVariable]:
    addresses = np.array([operand_positions(circuit, i) for i in range(positions)], dtype=np.int64)
    gates = [gate_at(circuit, i) for i in range(positions)]
    tables = np.array([[int(bit) for bit in ("0" * 8 if g is None else widened(g))] for g in gates], dtype=np.int64)

    bit = partial(ModelVariable, least=0, largest=1)
    yield bit(
        name="x",
        meaning="the bit",
        equation=lambda c: c.token == one,
        formula="x = 1 if the token is 1, else 0",
        read_by="the gates of which it is an operand, at their positions",
        column=LabelColumn(name="bit", meaning="the bit at this position"),
    )
    yield _feature("1", "one", lambda c: np.ones_like(c.i), HeldVariable())
    yield _feature("i", "the position", lambda c: c.i, HeldVariable(column="position"))
    yield _feature("i^2", "its square", lambda c: c.i * c.i, HeldVariable(column="position", function="square"))
    for k, operand in enumerate(OPERANDS):
        meaning = f"the position of operand {operand}"
        yield ModelVariable(
            name=operand,
            meaning=meaning,
            equation=_at(addresses[:, k]),
            formula=f"{operand}_i, as the circuit has it",
            read_by="the head that looks it up, here",
            least=0,
            column=LabelColumn(name=operand, meaning=meaning),
        )
    for k, case in enumerate(TRUTH):
        yield bit(
            name=case,
            meaning=f"the gate's value for the operands {case[1:]}",
            equation=_at(tables[:, k]),
            formula=f"{case}_i, as the circuit has it",
            read_by="the answer here, if these are the operands",
            column=LabelColumn(name=case, meaning=f"the gate's bit where its operands are {', '.join(case[1:])}"),
        )
    for operand in OPERANDS:
        yield bit(
            name=f"x_{operand}",
            meaning=f"the bit of operand {operand}",
            equation=partial(ModelColumns.at, claim=operand, name="x"),
            formula=f"x_{operand} = x at position {operand}",
            since=_ATTENTION,
            read_by="the gate, here",
            column=LabelColumn(name=f"x_{operand}", meaning=f"the bit at operand {operand}"),
        )
    yield bit(
        name="y",
        meaning="the answer",
        equation=lambda c: np.choose(4 * c["x_a"] + 2 * c["x_b"] + c["x_c"], [c[case] for case in TRUTH]),
        formula="y = t[x_a x_b x_c]",
        since=_FEED_FORWARD,
        read_by="the token answered",
        column=LabelColumn(name="next", meaning="the bit of the gate that is answered, 0 where there is none"),
    )


def _operand(name: str) -> Pattern:
    """Return where the head looks that brings the bit of an operand: the nearest position that there is."""
    meaning, formula = f"the position of operand {name}", f"argmax_{{j≤i}} 2{name}·j - j²"
    return Pattern(claim=name, meaning=meaning, formula=formula, places=lambda c: c.nearest(c[name]))


# ── paper and paper-hard: Appendix A
def _paper(positions: int, variant: str, epsilon: float, one: int) -> Iterator[ModelVariable]:
    def flags(which: int) -> Equation:
        return lambda c: c.each(lambda gate, mean: _flags(gate, mean, variant, positions, epsilon)[which], "gate", "mean")

    def number(
        name: str,
        meaning: str,
        equation: Equation,
        read_by: str,
        column: LabelColumn,
        *,
        since: ModelStage,
        least: int,
        formula: str = "",
    ) -> ModelVariable:
        twice, exact = variant == "paper", name == "s"
        return ModelVariable(
            name=name,
            meaning=meaning,
            equation=equation,
            formula=formula,
            since=since,
            read_by=read_by,
            least=least,
            largest=1,
            among=(-1, 1) if exact else (),
            rational=not exact,
            mirrors=(f"-{name}",) if twice else (),
            tolerance=_CLOSE if twice and not exact else 0.0,
            column=column,
        )

    yield number(
        "s",
        "the sign of the bit",
        lambda c: 2 * (c.token == one).astype(np.int64) - 1,
        "the gates of which it is an operand, at their positions",
        LabelColumn(name="sign", meaning="the sign of the bit at this position: -1 for 0, 1 for 1"),
        since=(-1, "embedding"),
        least=-1,
        formula="s = 1 if the token is 1, else -1",
    )
    yield _feature("-1", "minus one", lambda c: np.full_like(c.i, -1), HeldVariable(times=-1))
    yield ModelVariable(
        name="here",
        meaning="the position",
        kind="label",
        labels=tuple(map(str, range(positions))),
        equation=lambda c: c.i,
        formula="i",
        feature=True,
        unset=_PLACE,
        held=HeldVariable(column="position"),
    )
    mean = "the mean of the signs of the operands; of all signs so far where no gate is answered"
    yield number(
        "mean",
        "the mean of the operands' signs",
        lambda c: c.mean("operands", "s"),
        "the gate, here",
        LabelColumn(name="mean", meaning=mean, kind="number"),
        since=_ATTENTION,
        least=-1,
        formula="a = (s_a + s_b)/2",
    )
    for which, (name, meaning, formula) in enumerate(
        (
            ("one", "by how much the gate is 1, as the feed-forward layer has it", _ONE),
            ("zero", "by how much the gate is 0", _ZERO),
        )
    ):
        yield number(
            name,
            f"the flag for {1 - which}",
            flags(which),
            "the token answered",
            LabelColumn(name=name, meaning=meaning, kind="number"),
            since=_FEED_FORWARD,
            least=0,
            formula=formula,
        )


_ONE = "NOR: max(0, -a' - h), AND: max(0, a' - h), XOR: h - |a'|"
_ZERO = "NOR: max(0, a' + h), AND: max(0, h - a'), XOR: max(0, |a'| - h)"


def _flags(gate: str, mean: Fraction, variant: str, positions: int, epsilon: float) -> tuple[Fraction, Fraction]:
    """Return the flags for 1 and for 0, see the module."""

    def scale(mean: Fraction) -> Fraction:
        """Return the factor of the layer norm after attention."""
        if variant == "paper-hard":
            return Fraction(1)
        return Fraction(1 / sqrt(float(4 + 2 * mean * mean) / (9 + positions) + epsilon))

    zero = Fraction(0)
    if gate == NO_GATE:
        return zero, zero
    a, h = Fraction(mean) * scale(Fraction(mean)), scale(Fraction(1)) / 2
    if gate == "NOR":
        return max(zero, -a - h), max(zero, a + h)
    if gate == "AND":
        return max(zero, a - h), max(zero, h - a)
    return h - abs(a), max(zero, abs(a) - h)


def _operands(circuit: Circuit, positions: int) -> Pattern:
    """Return where the head looks that takes the mean of the operands' signs; without a gate, at all positions so far."""
    gated = [gate_at(circuit, i) is not None for i in range(positions)]
    places = [sorted(set(operand_positions(circuit, i))) if gated[i] else None for i in range(positions)]
    every = Ragged.of_lists(places)
    return Pattern(
        claim="operands",
        meaning="the positions of the operands; all so far without a gate",
        formula="the operands of the gate at i, as the circuit has them",
        seen="several",
        places=lambda c: every.take(c.i),
    )
