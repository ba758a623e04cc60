"""Circuits built gate by gate, without needless gates: constants are folded, equal gates shared, useless ones left out.

And circuits over fewer kinds of gates: NOR alone, as the paper's theorem has them, or its NOR, AND and XOR.
A gate becomes the smallest term found by choosing a variable and combining the two halves of the table. A NOT is a NOR of
one net with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from tm2tfr.sources.circuit.netlist import MOST_OPERANDS, NAMED, Circuit, Gate

# ── Gates by name, over any number of operands, as gates of at most three.
TABLES: Mapping[tuple[str, int], str] = {
    **{(kind, k): table for k, named in NAMED.items() for table, kind in named.items()},
    **{(kind, 1): "01" for kind in ("AND", "OR", "XOR")},
    **{(kind, 1): "10" for kind in ("NAND", "NOR", "XNOR")},
    **{(kind, 0): "0" for kind in ("OR", "XOR", "NAND")},
    **{(kind, 0): "1" for kind in ("AND", "NOR", "XNOR")},
}
"""The name of a gate and the number of its operands -> its table. Over one operand AND is BUF, NAND is NOT."""
ASSOCIATIVE: Mapping[str, str] = {"AND": "AND", "OR": "OR", "XOR": "XOR", "NAND": "AND", "NOR": "OR", "XNOR": "XOR"}
"""A gate of any number of operands -> the one that combines some of them. XNOR of many is the negation of their XOR."""


class FreshNames:
    """Names that nothing has yet: ``n_1``, ``n_2``, … for the stem ``n``.

    Args:
        taken: the names that exist.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def __call__(self, stem: str) -> str:
        """Return a name that starts with `stem`, and take it."""
        number = self._last.get(stem, 0) + 1
        while (name := f"{stem}_{number}") in self._taken:
            number += 1
        self._last[stem] = number
        self._taken.add(name)
        return name


def gate(net: str, kind: str, *operands: str) -> Gate:
    """Return the gate called `kind` over at most three operands; a KeyError if `TABLES` has no such gate."""
    return Gate(net, TABLES[kind, len(operands)], operands)


def split(net: str, kind: str, operands: Sequence[str], fresh: FreshNames) -> list[Gate]:
    """Return the gate called `kind` over any number of operands as a balanced tree of gates of at most three.

    The last gate is the one that drives `net`; the others have fresh names after it.

    Args:
        net: the net to drive.
        kind: a key of `ASSOCIATIVE`; with at most three operands, the name of any gate.
        operands: the nets it reads.
        fresh: the names that can be used.
    """
    found: list[Gate] = []
    waiting, first = list(operands), 0
    while len(waiting) - first > MOST_OPERANDS:
        found.append(gate(fresh(net), ASSOCIATIVE[kind], *waiting[first : first + MOST_OPERANDS]))
        waiting.append(found[-1].net)
        first += MOST_OPERANDS
    return [*found, gate(net, kind, *waiting[first:])]


Signal = str | int
"""A net by its name, or a constant, 0 or 1."""

TableOver = tuple[str, tuple[str, ...]]
"""A table and the nets it is over."""


class Builder:
    """The gates of a circuit so far, in topological order.

    Args:
        inputs: the names of its inputs.
    """

    def __init__(self, inputs: Iterable[str]) -> None:
        self._inputs = tuple(inputs)
        self._gates: list[Gate] = []
        self._drivers: dict[TableOver, str] = {}

    def gate(self, net: str, kind: str, *operands: Signal) -> Signal:
        """Return the signal of a gate by its name; see `add`."""
        return self.add(net, TABLES[kind, len(operands)], *operands)

    def add(self, net: str, table: str, *operands: Signal) -> Signal:
        """Return the signal of a gate: a constant or another net if no gate is needed, otherwise `net`, newly driven.

        Args:
            net: a name that no net has yet.
            table: as for `Gate`.
            operands: signals that this builder returned, or inputs.
        """
        table, nets = folded(table, operands)
        if not nets:
            return int(table)
        if table == "01":
            return nets[0]
        known = self._drivers.setdefault((table, tuple(sorted(nets)) if symmetric(table) else nets), net)
        if known == net:
            self._gates.append(Gate(net, table, nets))
        return known

    def finished(self, outputs: Mapping[str, Signal]) -> tuple[tuple[Gate, ...], tuple[tuple[str, str], ...]]:
        """Return the gates that `outputs` need, and the outputs with their nets; a constant has a gate of its name."""
        gates = needed(self._gates, (net for net in outputs.values() if isinstance(net, str)))
        taken = {*self._inputs, *(gate.net for gate in gates)}
        constants: dict[int, str] = {}
        for name, net in outputs.items():
            if isinstance(net, int) and net not in constants:
                constants[net] = FreshNames(taken)(name) if name in taken else name
                taken.add(constants[net])
        gates += (Gate(net, str(bit)) for bit, net in constants.items())
        return tuple(gates), tuple((name, net if isinstance(net, str) else constants[net]) for name, net in outputs.items())


def needed(gates: Sequence[Gate], nets: Iterable[str]) -> list[Gate]:
    """Return those of `gates`, in topological order, that `nets` depend on."""
    reached, found = set(nets), []
    for gate in reversed(gates):
        if gate.net in reached:
            reached.update(gate.operands)
            found.append(gate)
    return found[::-1]


def folded(table: str, operands: Sequence[Signal]) -> TableOver:
    """Return the same function over distinct nets, each of which matters: ``XOR(a, 1)`` is ``NOT(a)``."""
    nets = list(dict.fromkeys(operand for operand in operands if isinstance(operand, str)))
    pattern = tuple(nets.index(operand) if isinstance(operand, str) else operand - 2 for operand in operands)
    table, kept = _folded(table, pattern, len(nets))
    return table, tuple(nets[place] for place in kept)


@cache
def symmetric(table: str) -> bool:
    """Return whether the order of the operands does not matter."""
    ones = [case.bit_count() for case in range(len(table))]
    return all(len({bit for bit, n in zip(table, ones, strict=True) if n == number}) == 1 for number in set(ones))


@lru_cache(maxsize=100_000)
def _folded(table: str, pattern: tuple[int, ...], nets: int) -> tuple[str, tuple[int, ...]]:
    """Return the table over the nets that matter, and their places.

    Args:
        pattern: for each operand the place of its net, or a constant less 2.
        nets: the number of nets.
    """
    bits = []
    for case in range(2**nets):
        row = 0
        for place in pattern:
            row = 2 * row + (case >> (nets - 1 - place) & 1 if place >= 0 else place + 2)
        bits.append(table[row])
    kept = list(range(nets))
    for place in range(nets):
        low = [bits[case] for case in range(len(bits)) if not case >> (len(kept) - 1 - kept.index(place)) & 1]
        high = [bits[case] for case in range(len(bits)) if case >> (len(kept) - 1 - kept.index(place)) & 1]
        if low == high:
            bits = low
            kept.remove(place)
    return "".join(bits), tuple(kept)


# ── bases
BasisName = Literal["nor", "paper"]

Term = int | tuple[str, "Term", "Term"]
"""A variable by its number, or a gate over two terms."""
_Two = Callable[[Term, Term], Term]
_Three = Callable[[Term, Term, Term], Term]
Steps = tuple[tuple[str, int, int], ...]
"""The gates of a term, in order, over variables (0, 1, …) and steps before (-1 is step 0)."""


@dataclass(frozen=True)
class _Basis:
    """How to say everything with the gates called `kinds`. ``choose(v, x, y)`` is x if v = 0, otherwise y."""

    kinds: tuple[str, ...]
    both: _Two
    differ: _Two
    agree: _Two
    choose: _Three
    majority: _Three
    zero: Term


def _nor(x: Term, y: Term) -> Term:
    return ("NOR", x, y)


def _and(x: Term, y: Term) -> Term:
    """AND, or the NOR of the negations where x and y are negations already."""
    return _nor(_not(x), _not(y)) if _is_not(x) and _is_not(y) else ("AND", x, y)


def _xor(x: Term, y: Term) -> Term:
    return ("XOR", x, y)


def _not(x: Term) -> Term:
    return x[1] if isinstance(x, tuple) and _is_not(x) else _nor(x, x)


def _is_not(x: Term) -> bool:
    return isinstance(x, tuple) and x == _nor(x[1], x[1])


def _agreeing(x: Term, y: Term) -> Term:
    """XNOR of four NOR gates."""
    neither = _nor(x, y)
    return _nor(_nor(x, neither), _nor(y, neither))


_BASES: Mapping[str, _Basis] = {
    "nor": _Basis(
        kinds=("NOR",),
        both=lambda x, y: _nor(_not(x), _not(y)),
        differ=lambda x, y: _nor(_nor(x, y), _nor(_not(x), _not(y))),
        agree=_agreeing,
        choose=lambda v, x, y: _nor(_nor(v, x), _nor(_not(v), y)),
        majority=lambda x, y, z: _nor(_nor(x, y), _nor(_agreeing(x, y), z)),
        zero=_nor(0, _not(0)),
    ),
    "paper": _Basis(
        kinds=("NOR", "AND", "XOR"),
        both=_and,
        differ=_xor,
        agree=lambda x, y: _not(_xor(x, y)),
        choose=lambda v, x, y: _xor(x, _and(v, _xor(x, y))),
        majority=lambda x, y, z: _xor(_and(x, y), _and(_xor(x, y), z)),
        zero=_xor(0, 0),
    ),
}
"""Within the majority of three are gates of the XOR of three, so that a full adder is 9 NOR gates, or the paper's 5."""


def to_basis(circuit: Circuit, basis: BasisName) -> Circuit:
    """Return a circuit of the same function with the gates of `basis` alone, each over two operands.

    Inputs, outputs and their order are kept, and the names of nets that are still there. Constants are folded, equal gates
    shared, gates that reach no output left out. A circuit in the basis already is returned as it is.
    """
    kinds = _BASES[basis].kinds
    if all(len(gate.operands) == 2 and gate.kind in kinds for gate in circuit.gates):
        return circuit
    build = Builder(circuit.inputs)
    fresh = FreshNames(circuit.numbers)
    signals: dict[str, Signal] = {net: net for net in circuit.inputs}
    for gate in circuit.gates:
        table, nets = folded(gate.table, [signals[net] for net in gate.operands])
        signals[gate.net] = _built(build, _steps(basis, table), gate.net, nets, fresh) if nets else int(table)
    gates, outputs = build.finished({name: signals[net] for name, net in circuit.outputs})
    written = [one for gate in gates for one in _written(gate, basis, circuit.inputs[0], fresh)]
    if not written:  # each output is an input, and a circuit needs a gate
        same, (read, *_) = fresh("same"), [*(net for _, net in outputs), *circuit.inputs]
        written = list(_over_one(_nor(_nor(0, 0), _nor(0, 0)), same, read, fresh))
        outputs = tuple((name, same if net == read else net) for name, net in outputs)
    return replace(circuit, gates=tuple(written), outputs=outputs)


def to_nor(circuit: Circuit) -> Circuit:
    """Return a circuit of the same function of NOR gates alone; see `to_basis`."""
    return to_basis(circuit, "nor")


def to_paper(circuit: Circuit) -> Circuit:
    """Return a circuit of the same function of NOR, AND and XOR gates over two operands; see `to_basis`."""
    return to_basis(circuit, "paper")


def _built(build: Builder, steps: Steps, net: str, nets: Sequence[str], fresh: FreshNames) -> Signal:
    """Add the gates of a term over `nets`, the last of which is to be called `net`."""
    made: list[Signal] = []
    found: Signal = nets[0]
    for number, (kind, *operands) in enumerate(steps, start=1):
        values = [nets[operand] if operand >= 0 else made[~operand] for operand in operands]
        found = build.gate(net if number == len(steps) else fresh(net), kind, *values)
        made.append(found)
    return found


def _written(gate: Gate, basis: BasisName, first: str, fresh: FreshNames) -> Iterator[Gate]:
    """Yield `gate` with two operands: NOT as a NOR, and a constant made from the input `first`."""
    if gate.operands:
        yield gate if len(gate.operands) == 2 else Gate(gate.net, TABLES["NOR", 2], gate.operands * 2)
    else:
        zero = _BASES[basis].zero
        yield from _over_one(zero if gate.table == "0" else _not(zero), gate.net, first, fresh)


def _over_one(term: Term, net: str, variable: str, fresh: FreshNames) -> Iterator[Gate]:
    """Yield the gates of a term over one variable, unfolded, the last of which is called `net`."""
    steps = _in_order(term)
    nets = [*(fresh(net) for _ in steps[1:]), net]
    for name, (kind, *operands) in zip(nets, steps, strict=True):
        yield Gate(name, TABLES[kind, 2], tuple(variable if operand >= 0 else nets[~operand] for operand in operands))


# ── the smallest term of a table ────────────────────────────────────────────────────────────────────────
@cache
def _steps(basis: BasisName, table: str) -> Steps:
    """Return the gates of the smallest term found for `table`, all of whose variables matter."""
    return _in_order(_term(basis, table))


def _in_order(term: Term) -> Steps:
    """Return the gates of `term`, each after those that it reads and none twice."""
    found: dict[Term, int] = {}
    steps: list[tuple[str, int, int]] = []

    def place(part: Term) -> int:
        if isinstance(part, int):
            return part
        if part not in found:
            kind, left, right = part
            steps.append((kind, place(left), place(right)))
            found[part] = -len(steps)
        return found[part]

    place(term)
    return tuple(steps)


@cache
def _term(basis: BasisName, table: str) -> Term:
    """Return the smallest term found for `table`; if all its bits are equal, there is none."""
    negated = table.translate(str.maketrans("01", "10"))
    terms = [*_terms(_BASES[basis], basis, table), *map(_not, _terms(_BASES[basis], basis, negated))]
    return min(terms, key=lambda term: len(_in_order(term)))


def _terms(rules: _Basis, basis: BasisName, table: str) -> Iterator[Term]:
    """Yield terms for `table`, by each variable that may be chosen, the last one first."""
    variables = len(table).bit_length() - 1
    if table == TABLES["MAJ", 3]:
        yield rules.majority(0, 1, 2)
    for chosen in reversed(range(variables)):
        mask = 1 << (variables - 1 - chosen)
        low, high = ("".join(bit for case, bit in enumerate(table) if bool(case & mask) == side) for side in (False, True))
        others = [variable for variable in range(variables) if variable != chosen]
        x, y = (None if len(set(half)) == 1 else _renamed(_term(basis, half), others) for half in (low, high))
        if low == high and x is not None:
            yield x
        elif x is None and y is None:
            yield chosen if low < high else _not(chosen)
        elif x is None and y is not None:
            yield rules.both(chosen, y) if low[0] == "0" else _not(rules.both(chosen, _not(y)))
        elif y is None and x is not None:
            yield rules.both(_not(chosen), x) if high[0] == "0" else _not(rules.both(_not(chosen), _not(x)))
        elif x is not None and y is not None:
            if all(a != b for a, b in zip(low, high, strict=True)):
                yield from (rules.differ(x, chosen), rules.agree(y, chosen))
            yield rules.choose(chosen, x, y)


def _renamed(term: Term, variables: Sequence[int]) -> Term:
    if isinstance(term, int):
        return variables[term]
    kind, left, right = term
    return (kind, _renamed(left, variables), _renamed(right, variables))
