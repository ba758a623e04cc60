"""Labels of circuits: the bits of a run, the gate that each position answers, and where its operands are.

Gates, operands and where heads look are the same in all runs; only bits differ. See
`tm2tfr.sources.circuit.truth`, which says the same of one position after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.labels.of_turing import heads_of
from tm2tfr.labels.variables import HeadColumn, HeldVariable, LabelVariable, Ragged, Scheme, Seen
from tm2tfr.sources.circuit.columns import GATE_NAMES, OPERANDS, TRUTH, widened
from tm2tfr.sources.circuit.truth import CircuitSpecification
from tm2tfr.transformer.weights import Decoder

# ── Where heads look on many words of one length, as matrices, and in the form of a column.
LookMatrix = NDArray[np.bool_]
"""(words, n, n): to which positions (the last axis) a head attends from each."""


def in_sight(mask: str, n: int) -> NDArray[np.bool_]:
    """Return which positions are in sight from each: (n, n); for masks see `tm2tfr.transformer.weights.MASKS`."""
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    return {"future": j <= i, "past": j >= i, "none": np.ones((n, n), dtype=bool)}[mask]


def ragged(looks: LookMatrix, sight: NDArray[np.bool_]) -> Ragged:
    """Return where a head looks as a column: (words · n,) entries."""
    everything = (looks == sight).all(axis=-1).ravel()
    rows = looks.reshape(-1, looks.shape[-1]) & ~everything[:, None]
    offsets = np.concatenate([[0], np.cumsum(rows.sum(axis=1))]).astype(np.int64)
    return Ragged(offsets, np.nonzero(rows)[1].astype(np.int32), everything)


def ragged_of(seen: Sequence[Sequence[int] | None]) -> Ragged:
    """Return positions as a column; None: every position in sight."""
    offsets = np.concatenate([[0], np.cumsum([len(places or ()) for places in seen])]).astype(np.int64)
    flat = np.array([j for places in seen for j in places or ()], dtype=np.int32)
    return Ragged(offsets, flat, np.array([places is None for places in seen], dtype=bool))


def joined(parts: list[Ragged]) -> Ragged:
    """Return several columns, one after the other."""
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places, everything = (np.concatenate([getattr(p, name) for p in parts]) for name in ("places", "everything"))
    return Ragged(offsets, places, everything)


def mean_over(looks: LookMatrix, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean of values, (words, n), over the positions that are looked at: (words, n)."""
    shares = looks / looks.sum(axis=-1, keepdims=True)
    found: NDArray[np.float64] = np.matmul(shares, values.astype(np.float64)[..., None])[..., 0]
    return found


NOTHING = "none"
"""The gate of a position that answers none: before the last input."""
_ATTENDED: Mapping[str, Seen] = {**dict.fromkeys(OPERANDS, "one"), "operands": "several"}
_HELD: Mapping[str, HeldVariable] = {
    "1": HeldVariable(),
    "-1": HeldVariable(times=-1),
    "i": HeldVariable(column="position"),
    "i^2": HeldVariable(column="position", function="square"),
    "here": HeldVariable(column="position"),
    **{name: HeldVariable(column=name) for name in (*OPERANDS, *(f"x_{operand}" for operand in OPERANDS), *TRUTH)},
    "x": HeldVariable(column="bit"),
    "y": HeldVariable(column="next"),
    **{name: HeldVariable(column=of) for name, of in (("s", "sign"), ("mean", "mean"), ("one", "one"), ("zero", "zero"))},
    **{
        f"-{name}": HeldVariable(column=of, times=-1)
        for name, of in (("s", "sign"), ("mean", "mean"), ("one", "one"), ("zero", "zero"))
    },
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
        """What labels there are."""
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

    def labels(self, bits: NDArray[np.uint8]) -> tuple[dict[str, NDArray[Any]], dict[str, HeadColumn]]:
        """Return every column, and the column of each head that has one: bits (runs, nets), all that are right."""
        runs, spec, positions = len(bits), self.specification, self._positions
        inside, signs = bits[:, :-1].astype(np.int32), 2 * bits.astype(np.int32) - 1

        def same(values: Any, dtype: Any = np.int32) -> NDArray[Any]:
            return np.tile(np.asarray(list(values), dtype=dtype), runs)

        place = {v.name: {label: n for n, label in enumerate(v.labels or ())} for v in self.scheme.variables}
        found: dict[str, NDArray[Any]] = {
            "gate": same(place["gate"][gate] for gate in self._gates),
            "net": same(place["net"][net] for net in self._nets),
        }
        answering = np.array([spec.gate(i) is not None for i in positions])
        addresses = np.array([spec.addresses(i) for i in positions])  # (positions, operands)
        if self._lookup:
            found["bit"] = inside.ravel()
            for k, operand in enumerate(OPERANDS):
                found[operand] = same(addresses[:, k])
                found[f"x_{operand}"] = bits[:, addresses[:, k]].astype(np.int32).ravel()
            tables = ["0" * len(TRUTH) if g is None else widened(g) for g in map(spec.gate, positions)]
            found |= {name: same(int(table[k]) for table in tables) for k, name in enumerate(TRUTH)}
            found["next"] = np.where(answering, bits[:, 1:], 0).astype(np.int32).ravel()
        else:
            found["sign"] = signs[:, :-1].ravel()
            found |= self._flags(signs)
        attended: dict[str, HeadColumn] = {}
        for head in self.scheme.heads:
            if head.claim in OPERANDS:
                attended[head.column] = same(addresses[:, OPERANDS.index(head.claim)])
            elif head.claim == "operands":
                attended[head.column] = self._several(runs)
        return found, attended

    def _several(self, runs: int) -> Ragged:
        each = [
            None if self.specification.gate(i) is None else self.specification.attended("operands", i)
            for i in self._positions
        ]
        one = ragged_of(each)
        return one.take(np.tile(np.arange(len(each)), runs))

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
