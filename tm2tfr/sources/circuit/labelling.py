"""Labels of circuits: the bits of a run, the gate that each position answers, and where its operands are.

Gates, operands and where heads look are the same in all runs; only bits differ. See
`tm2tfr.sources.circuit.truth`, which says the same of one position after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labelling import (
    HeadColumn,
    HeldVariable,
    LabelVariable,
    Ragged,
    RunRows,
    Scheme,
    Seen,
    VariableColumns,
    heads_of,
    recoded,
)
from tm2tfr.sources.circuit.columns import GATE_NAMES, OPERANDS, TRUTH, widened
from tm2tfr.sources.circuit.truth import CircuitSpecification
from tm2tfr.transformer.weights import Decoder

NOTHING = "none"
"""The gate of a position that answers none: before the last input."""
_ATTENDED: Mapping[str, Seen] = {**dict.fromkeys(OPERANDS, "one"), "operands": "several"}
_SIGNED = {"s": "sign", "mean": "mean", "one": "one", "zero": "zero"}
_AS_IT_IS = (*OPERANDS, *(f"x_{operand}" for operand in OPERANDS), *TRUTH)
_HELD: Mapping[str, HeldVariable] = {
    "1": HeldVariable(),
    "-1": HeldVariable(times=-1),
    "i": HeldVariable(column="position"),
    "i^2": HeldVariable(column="position", function="square"),
    "here": HeldVariable(column="position"),
    "x": HeldVariable(column="bit"),
    "y": HeldVariable(column="next"),
    **{name: HeldVariable(column=name) for name in _AS_IT_IS},
    **{what: HeldVariable(column=name) for what, name in _SIGNED.items()},
    **{f"-{what}": HeldVariable(column=name, times=-1) for what, name in _SIGNED.items()},
}
_LOOKUP = {
    "bit": "the bit at this position",
    **{operand: f"the position of operand {operand}" for operand in OPERANDS},
    **{f"x_{operand}": f"the bit at operand {operand}" for operand in OPERANDS},
    **{name: f"the gate's bit where its operands are {', '.join(name[1:])}" for name in TRUTH},
    "next": "the bit of the gate that is answered, 0 where there is none",
}
_PAPER_WHOLE = {"sign": "the sign of the bit at this position: -1 for 0, 1 for 1"}
_PAPER = {
    "mean": "the mean of the signs of the operands; of all signs so far where no gate is answered",
    "one": "by how much the gate is 1, as the feed-forward layer has it",
    "zero": "by how much the gate is 0",
}


@dataclass(frozen=True)
class CircuitVariables:
    """Finds the labels of runs of one circuit.

    Args:
        decoder: the weights, of which only claims and labels are read.
        specification: of any run of the circuit with these weights.
    """

    decoder: Decoder
    specification: CircuitSpecification

    @property
    def _lookup(self) -> bool:
        return self.specification.variant == "lookup"

    @cached_property
    def scheme(self) -> Scheme:
        """The scheme of the labels."""
        gates = tuple(dict.fromkeys((NOTHING, *self._gates)))
        found = [
            LabelVariable(name="gate", kind="label", meaning="the gate that this position answers", labels=gates),
            LabelVariable(name="net", kind="label", meaning="its net", labels=tuple(dict.fromkeys((NOTHING, *self._nets)))),
        ]
        whole, numbers = (_LOOKUP, {}) if self._lookup else (_PAPER_WHOLE, _PAPER)
        found += [LabelVariable(name=name, kind="whole", meaning=meaning) for name, meaning in whole.items()]
        found += [LabelVariable(name=name, kind="number", meaning=meaning) for name, meaning in numbers.items()]
        return Scheme(
            variables=tuple(found),
            heads=heads_of(self.decoder, _ATTENDED.get),
            held={s.name: _HELD.get(s.holds) for s in self.decoder.layout.subspaces},
            answers=self.decoder.vocabulary,
        )

    @property
    def _positions(self) -> range:
        return range(self.specification.positions)

    @cached_property
    def _gates(self) -> tuple[str, ...]:
        gates = map(self.specification.gate, self._positions)
        return tuple(NOTHING if gate is None else GATE_NAMES.get(widened(gate), gate.table) for gate in gates)

    @cached_property
    def _nets(self) -> tuple[str, ...]:
        return tuple(NOTHING if (g := self.specification.gate(i)) is None else g.net for i in self._positions)

    def labels(self, raw: RunRows) -> tuple[VariableColumns, dict[str, HeadColumn]]:
        """Return the column of each variable, and of each head that has one."""
        runs, positions = len(raw.sizes), len(self._positions)
        tokens, answers = (each.reshape(runs, positions) for each in (raw.tokens, raw.answers))
        bits = (np.concatenate([tokens, answers[:, -1:]], axis=1) == self.decoder.numbers["1"]).astype(np.int32)
        names = {"gate": self._gates, "net": self._nets}
        found: VariableColumns = {
            name: np.tile(recoded(of, self.scheme.variable(name).labels), runs) for name, of in names.items()
        }
        if self._lookup:
            every = replace(self.specification, symbols=bits.T)  # the bits of all runs in the place of one
            values = [every.values(i) for i in self._positions]
            for what in (*_AS_IT_IS, "x", "y"):
                held = [np.broadcast_to(np.asarray(value[what], dtype=np.int32), runs) for value in values]
                found[_HELD[what].column or what] = np.stack(held, axis=1).ravel()
        else:
            signs = 2 * bits - 1
            found |= {"sign": signs[:, :-1].ravel(), **self._flags(signs)}
        attended: dict[str, HeadColumn] = {}
        for head in self.scheme.heads:
            places = [self.specification.attended(head.claim, i) for i in self._positions]
            if head.seen == "one":
                attended[head.column] = np.tile(np.array(places, dtype=np.int32)[:, 0], runs)
            else:
                several = [None if gate == NOTHING else at for gate, at in zip(self._gates, places, strict=True)]
                attended[head.column] = Ragged.of_lists(several).take(np.tile(np.arange(positions), runs))
        return found, attended

    def _flags(self, signs: NDArray[np.int32]) -> dict[str, NDArray[np.float64]]:
        """Return the mean of the operands' signs, and the flags: each mean that there is has its own, found once."""
        spec, numbers = self.specification, {}
        mean, one, zero = (np.zeros((len(signs), len(self._positions))) for _ in range(3))
        for i in self._positions:
            gate = spec.gate(i)
            places = range(i + 1) if gate is None else [spec.circuit.numbers[net] for net in gate.operands]
            totals = signs[:, list(places)].sum(axis=1)
            for total in np.unique(totals).tolist():
                there, key = totals == total, (gate and gate.table, total, len(places))
                if key not in numbers:
                    numbers[key] = (Fraction(total, len(places)), *spec.flags(i, Fraction(total, len(places))))
                mean[there, i], one[there, i], zero[there, i] = numbers[key]
        return {name: of.ravel() for name, of in (("mean", mean), ("one", one), ("zero", zero))}
