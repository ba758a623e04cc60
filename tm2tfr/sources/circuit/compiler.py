"""From a circuit to a decoder: one token per gate, one layer, in the requested variant.

``paper`` and ``paper-hard`` have one head with one-hot positions: Appendix A with its repairs. The query of position i
points at the operands of symbol i + 1 (repair 2), with the score c₁/2 each, or c₁ where both are the same (repair 6); the
head carries the mean a of their signs. The scratch dimensions are not those of positions (repair 1): d = 9 + b for b
positions. What is added to is the stream itself (repair 3), as in pre-LN models; there is one ReLU (repair 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import ceil, floor, log, log1p, sqrt

from tm2tfr.base.choices import CIRCUIT, CIRCUIT_VARIANTS
from tm2tfr.base.errors import CompileError, did_you_mean, visible
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.gadgets import Transport, Unit, feed_forward, lookup, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.provenance import stated
from tm2tfr.transformer.residual import Linear, Residual, Subspace, at
from tm2tfr.transformer.weights import Decoder, Head, Layer, Norm

# ── The residual streams of the variants, by name; a subspace is named after its content.
FEATURES = ("1", "i", "i^2")
OPERANDS = ("a", "b", "c")
"""The addresses of the operands: positions."""
VALUES = tuple(f"x_{operand}" for operand in OPERANDS)
"""The bits at these positions."""
CASES = tuple("".join(bits) for bits in product("01", repeat=len(OPERANDS)))
"""The values that the operands can have, in the order of truth tables: ``000`` … ``111``."""
TRUTH = tuple(f"t{case}" for case in CASES)
"""The bits of the truth table of the next gate."""


def lookup_layout() -> Residual:
    """Return the residual stream of ``lookup``: 19 numbers, whatever the circuit."""
    names = ("x", *FEATURES, *OPERANDS, *TRUTH, *VALUES, "y")
    return Residual(tuple(Subspace(name, holds=name) for name in names))


def _one_hot(names: tuple[str, ...], positions: int) -> Residual:
    here = Subspace("here", tuple(map(str, range(positions))), holds="here")
    return Residual((*(Subspace(name, holds=name) for name in names), here))


# ── NOR, AND and XOR as ReLU units on the mean of two signs, each shut at the positions of gates of another kind.
#
# Appendix A has NOR alone: its two units read one number only, so nothing there can depend on the position (repair 15).
# Here h is half the value that the mean 1 has; of the mean a of two signs,
#
# NOR: one = ReLU(-a - h), zero = ReLU(a + h); AND: one = ReLU(a - h), zero = ReLU(h - a); XOR: one = ReLU(h) - ReLU(a) -
# ReLU(-a), zero = ReLU(a - h) + ReLU(-a - h).
#
# The right flag is at least h, the other one at most 0. No unit is above 3h, and the one-hot direction of a position is
# worth at least 2h; so -2 times that of any other position shuts it.
KINDS: Mapping[str, str] = {"1000": "NOR", "0001": "AND", "0110": "XOR"}
"""Truth table of two operands -> the kind of the gate."""
SHUT = -2.0

Flag = Callable[[float], Linear]
"""The output of a unit: the named flag, times a number, in all its directions."""


def refuse_others(circuit: Circuit, variant: str) -> None:
    """Check that every gate is one of `KINDS`.

    Raises:
        CompileError: that names the first gate that is not.
    """
    wrong = [gate for gate in circuit.gates if len(gate.operands) != 2 or gate.table not in KINDS]
    if wrong:
        first, more = wrong[0], f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        problem = f"{visible(circuit.name)}: gate {visible(first.net)} is {_words(first)}{more}"
        remedy = "convert the circuit to the basis paper, or use the variant lookup"
        raise CompileError(f"{problem}; variant {variant} has NOR, AND and XOR of two operands: {remedy}")


def _words(gate: Gate) -> str:
    many = len(gate.operands)
    return f"{gate.kind} of {many} operand{'' if many == 1 else 's'}"


def gate_units(circuit: Circuit, half: float, one: Flag, zero: Flag) -> Iterator[Unit]:
    """Yield the units of every kind of gate that `circuit` has.

    Args:
        half: h, see the module.
        one, zero: the flags for the answers 1 and 0.
    """
    first = len(circuit.inputs) - 1
    positions = range(first + len(circuit.gates))
    for table, kind in KINDS.items():
        own = {first + n for n, gate in enumerate(circuit.gates) if gate.table == table}
        shut = {at("here", str(i)): SHUT for i in positions if i not in own}
        for name, reads, bias, writes in _units(kind, half, one, zero) if own else ():
            yield Unit(f"{kind}: {name}", {**reads, **shut}, writes, bias=bias)


def _units(kind: str, h: float, one: Flag, zero: Flag) -> Sequence[tuple[str, Linear, float, Linear]]:
    up: Linear = {"mean": 1.0}
    down: Linear = {"mean": -1.0}
    if kind == "NOR":
        return ("-a - h", down, -h, one(1.0)), ("a + h", up, h, zero(1.0))
    if kind == "AND":
        return ("a - h", up, -h, one(1.0)), ("h - a", down, h, zero(1.0))
    return (
        ("h", {}, h, one(1.0)),
        ("a", up, 0.0, one(-1.0)),
        ("-a", down, 0.0, one(-1.0)),
        ("a - h", up, -h, zero(1.0)),
        ("-a - h", down, -h, zero(1.0)),
    )


EPSILON_STAR = 1e-3
"""The ε* that is taken by default: every answer after the input has a probability above 1 - ε*."""


def paper_hard_decoder(circuit: Circuit, positions: int) -> Decoder:
    """Return the decoder without norms: signs ±1, scores 0 and 1, flags at least 1/2 apart."""
    refuse_others(circuit, "paper-hard")
    layout = _one_hot(("s", "mean", "one", "zero"), positions)
    layer = Layer(
        name="gate",
        meaning="the mean of the operands' signs, and from it the gate's value",
        source="Appendix A, without softmax and norms",
        heads=(_head(circuit, layout, (1.0, 1.0), 1.0, [({"s": 1.0}, {"mean": 1.0})]),),
        feed_forward=feed_forward(
            layout, gate_units(circuit, 0.5, lambda value: {"one": value}, lambda value: {"zero": value})
        ),
        equation="mean = (s_j + s_k)/2;  one - zero > 0 iff the gate is 1",
    )
    return _decoder(layout, positions, layer, signs=({"s": -1.0}, {"s": 1.0}), gain=1.0)


def paper_decoder(circuit: Circuit, positions: int, epsilon: float, epsilon_star: float = EPSILON_STAR) -> Decoder:
    """Return the decoder of Appendix A, with the constants of the paper.

    With d the width and ε its δ = 1/(5 + 2d²): c₁ = 2·ln of the least number that gives either of two operands more than
    ½ - ε of the weight, and one that is both more than 1 - 2ε, among up to b positions; c₂ = ln((1 - ε*)/ε*); both
    the next integer above (repairs 5, 6, 13), and c₂ at least 1 (repair 20).

    Args:
        epsilon: that of the layer norms. Query, value and h are scaled by what they make of the numbers that they read
            (repair 14); at 0 these are the paper's (d/4)^½ and (d/6)^½.
        epsilon_star: ε*, above 0 and below 1.
    """
    refuse_others(circuit, "paper")
    layout = _one_hot(("s", "-s", "-1", "mean", "-mean", "one", "zero", "-one", "-zero"), positions)
    d = layout.width
    c1, c2 = paper_constants(positions, epsilon_star)
    embedded, attended = sqrt(4 / d + epsilon), sqrt(6 / d + epsilon)
    carries: Transport = [({"s": embedded}, {"mean": 1.0}), ({"-s": embedded}, {"-mean": 1.0})]
    score = embedded * embedded * c1 / 2
    norm = Norm(gain=Matrix.from_entries((d, 1), {(n, 0): 1.0 for n in range(d)}), bias=_none(d), epsilon=epsilon)
    layer = Layer(
        name="gate",
        meaning="the mean of the operands' signs, and from it the gate's value",
        source="Appendix A (1)-(14), repairs 1-15",
        heads=(_head(circuit, layout, (score, 2 * score), c1 / 2, carries, soft=True),),
        feed_forward=feed_forward(layout, gate_units(circuit, 0.5 / attended, _flag("one"), _flag("zero"))),
        attention_norm=norm,
        feed_forward_norm=norm,
        equation="mean = (s_j + s_k)/2;  one - zero > 0 iff the gate is 1",
    )
    signs: tuple[Linear, Linear] = ({"s": -1.0, "-s": 1.0, "-1": -1.0}, {"s": 1.0, "-s": -1.0, "-1": -1.0})
    return _decoder(layout, positions, layer, signs=signs, gain=(5.0 + 2.0 * d * d) * d * d * c2, norm=norm)


def paper_constants(positions: int, epsilon_star: float = EPSILON_STAR) -> tuple[int, int]:
    """Return c₁ and c₂ for b = `positions`, see `paper_decoder`."""
    d = 9 + positions
    stray = 1 / (5 + 2 * d * d)
    two, same = (positions - 2) * (0.5 - stray) / (2 * stray), sqrt((positions - 1) * (1 - 2 * stray) / (2 * stray))
    odds = log1p(-epsilon_star) - log(epsilon_star)  # of the quotient, which overflows where ε* is below 10^-308
    return floor(2 * log(max(1.0, two, same))) + 1, max(1, ceil(odds) + 1)


def _flag(name: str) -> Flag:
    return lambda value: {name: value, f"-{name}": -value}


def _none(rows: int) -> Matrix:
    return Matrix.from_entries((rows, 1), {})


def _head(
    circuit: Circuit, layout: Residual, weights: tuple[float, float], gap: float, carries: Transport, *, soft: bool = False
) -> Head:
    """Return the head that attends to the operands alone.

    Args:
        weights: those of an operand in the query, and of one that is both operands; any other position has none.
        gap: by how much the score of an operand is above that of other positions, 0.
    """
    first, positions = len(circuit.inputs) - 1, range(len(circuit.inputs) - 1 + len(circuit.gates))
    query: list[dict[str, float]] = [{} for _ in positions]
    for i, gate in enumerate(circuit.gates, start=first):
        addresses = {circuit.numbers[net] for net in gate.operands}
        for address in addresses:
            query[address][at("here", str(i))] = weights[len(addresses) == 1]
    return Head(
        name="operands",
        source="Appendix A (21)-(26)",
        query=stacked(layout, query),
        key=stacked(layout, [{at("here", str(i)): 1.0} for i in positions]),
        value=stacked(layout, [read for read, _ in carries]),
        output=stacked(layout, [write for _, write in carries]).transposed,
        weighting="softmax" if soft else "average-hard",
        claim=Claim(attends="operands", gap=gap, over="constant"),
    )


def _decoder(
    layout: Residual, positions: int, layer: Layer, *, signs: tuple[Linear, Linear], gain: float, norm: Norm | None = None
) -> Decoder:
    table = {(layout.index(at("here", str(i))), i): 1.0 for i in range(positions)}
    return Decoder(
        layout=layout,
        vocabulary=("0", "1"),
        bos=None,
        stop=(),
        features=(),
        token_embedding=stacked(layout, signs).transposed,
        position_embedding=Matrix.from_entries((layout.width, 0), {}),
        position_table=Matrix.from_entries((layout.width, positions), table),
        layers=(layer,),
        unembedding=stacked(layout, [{"zero": gain}, {"one": gain}]),
        unembedding_bias=_none(2),
        norm=norm,
    )


# ── ``lookup``: three heads fetch the operands by their positions, eight ReLU units look their value up in the truth table
# The position table says, for the gate whose bit position i answers, where its operands are and what its truth table is.
# All other weights are the same for every circuit.
TOKENS = ("0", "1")


def lookup_decoder(circuit: Circuit, positions: int) -> Decoder:
    """Return the decoder that answers the bit of symbol i + 1 at each position i from the last input on."""
    layout = lookup_layout()
    return Decoder(
        layout=layout,
        vocabulary=TOKENS,
        bos=None,
        stop=(),
        features=FEATURES,
        token_embedding=stacked(layout, [{}, {"x": 1.0}]).transposed,
        position_embedding=stacked(layout, [{feature: 1.0} for feature in FEATURES]).transposed,
        position_table=_position_table(circuit, layout, positions),
        layers=(_layer(layout),),
        unembedding=stacked(layout, [{}, {"y": 2.0}]),
        unembedding_bias=Matrix.from_entries((2, 1), {(0, 0): 1.0}),
    )


def _layer(layout: Residual) -> Layer:
    return Layer(
        name="gate",
        meaning="the bits of the operands, and the gate's value by its truth table",
        source="lookup by position, Eq. 8.8; truth table of the gate",
        heads=tuple(_operand(layout, operand, value) for operand, value in zip(OPERANDS, VALUES, strict=True)),
        feed_forward=feed_forward(layout, map(_unit, CASES)),
        equation="y = t_{x_a x_b x_c},  x_p = bit at position p",
    )


def _operand(layout: Residual, operand: str, value: str) -> Head:
    """Return the head that fetches one operand: score ``2pj - j²``, highest at j = p by 1."""
    return lookup(
        layout,
        f"operand {operand}",
        "Eq. 8.8",
        scaled={operand: 1.0},
        inverse="1",
        carries=[({"x": 1.0}, {value: 1.0})],
        attends=operand,
        constant=True,
    )


def _unit(case: str) -> Unit:
    """Return the unit of one case of the operands: ReLU(m - 3 + t) where m of them match, so t if all do, otherwise 0."""
    reads = {value: 1.0 if bit == "1" else -1.0 for value, bit in zip(VALUES, case, strict=True)}
    return Unit(f"case {case}", {**reads, f"t{case}": 1.0}, {"y": 1.0}, bias=-float(case.count("1")))


def _position_table(circuit: Circuit, layout: Residual, positions: int) -> Matrix:
    """Return the table whose column i describes the gate of symbol i + 1; those before the last input are 0."""
    entries: dict[tuple[int, int], float] = {}
    directions = [layout.index(name) for name in (*OPERANDS, *TRUTH)]
    for column, gate in enumerate(circuit.gates, start=len(circuit.inputs) - 1):
        row = (*_addresses(gate, circuit), *map(int, "".join(bit * (len(CASES) // len(gate.table)) for bit in gate.table)))
        entries.update({(at, column): float(value) for at, value in zip(directions, row, strict=True) if value})
    return Matrix.from_entries((layout.width, positions), entries)


def _addresses(gate: Gate, circuit: Circuit) -> tuple[int, ...]:
    """Return the positions of three operands: the last one again for those that are missing, 0 if there is none."""
    found = [circuit.numbers[net] for net in gate.operands] or [0]
    return (*found, *found[-1:] * (len(OPERANDS) - len(found)))


# ── from a circuit to a decoder: one token per gate, one layer, in the requested variant ──────────
_MOST_EPSILON = 1e6
_MOST_ONE_HOT = 10_000
"""The most positions as one-hot vectors: the dense engine keeps their square, and takes minutes for a run."""


def compile_circuit(
    circuit: Circuit,
    variant: str = "lookup",
    *,
    epsilon: float = 0.0,
    epsilon_star: float | None = None,
    source: str = "",
) -> Decoder:
    """Return the decoder that generates the bits of `circuit`, in the order of its gates, from those of its inputs.

    With n inputs and g gates it has n + g - 1 positions; position i ≥ n - 1 answers the bit of symbol i + 1.

    Args:
        variant: see `CIRCUIT_VARIANTS`. The paper's take the gates NOR, AND and XOR of two operands alone.
        epsilon: the epsilon of the layer norms of ``paper``, for which the weights compensate (repair 14).
        epsilon_star: ε* of ``paper``: each bit has a probability above 1 - ε*; None: `EPSILON_STAR`.
        source: the text that the circuit was read from, for the provenance.

    Raises:
        CompileError: for an unknown variant, an epsilon without layer norms, an ε* that is invalid or belongs to another
            variant, or gates that the variant does not have.
    """
    name, positions = visible(circuit.name), len(circuit.inputs) + len(circuit.gates) - 1
    if variant not in CIRCUIT_VARIANTS:
        close = did_you_mean(str(variant), CIRCUIT_VARIANTS)
        raise CompileError(f"unknown variant {variant!r}{close}: use {', '.join(CIRCUIT_VARIANTS)}")
    if not _is_number(epsilon) or not 0 <= epsilon <= _MOST_EPSILON:
        raise CompileError(
            f"{name}: epsilon must be a number from 0 to {_MOST_EPSILON:g}, not {epsilon!r}: use for example 1e-5"
        )
    if variant != "lookup" and positions > _MOST_ONE_HOT:
        problem = f"variant {variant} has a direction for each position, and {positions:,} are more than {_MOST_ONE_HOT:,}"
        raise CompileError(f"{name}: {problem}: use the variant lookup")
    if epsilon and variant != "paper":
        raise CompileError(f"{name}: variant {variant} has no layer norms: omit epsilon, or use the variant paper")
    if epsilon_star is not None:
        _check_epsilon_star(epsilon_star, name, variant)
    if variant == "lookup":
        decoder = lookup_decoder(circuit, positions)
    elif variant == "paper-hard":
        decoder = paper_hard_decoder(circuit, positions)
    else:
        decoder = paper_decoder(circuit, positions, epsilon, EPSILON_STAR if epsilon_star is None else float(epsilon_star))
    options = {"variant": variant, **({"epsilon": repr(float(epsilon))} if epsilon else {})}
    options |= {"epsilon_star": repr(float(epsilon_star))} if epsilon_star is not None else {}
    return replace(decoder, provenance=stated(CIRCUIT, source=source or circuit.source, name=circuit.name, options=options))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_epsilon_star(epsilon_star: float, name: str, variant: str) -> None:
    """Raise CompileError unless ε* is the probability of an error, and the variant answers with such probabilities."""
    if not _is_number(epsilon_star) or not 0 < float(epsilon_star) < 1:
        what = f"{name}: ε* must be a number above 0 and below 1, not {epsilon_star!r}"
        raise CompileError(f"{what}: use for example 1e-6, for bits whose probability is above 1 - 1e-6")
    if variant != "paper":
        what = f"{name}: ε* is that of the output layer of Appendix A, and variant {variant} has another"
        raise CompileError(f"{what}: omit --epsilon-star, or use the variant paper")
