"""The certificates of a circuit's weights in words and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tm2tfr.errors import EngineError, counted, visible
from tm2tfr.sources.circuit.proof.certificate import RUNS, CircuitCertificate, CircuitProof
from tm2tfr.text.columns import aligned

_MOST_REFUSALS = 5
_NOT_RUN = "engine runs no softmax and no norms"


@dataclass(frozen=True)
class CircuitReport:
    """What ``certify`` prints of a circuit.

    Args:
        certificates: those asked for, one for each engine and dtype.
        asked: whether an engine or a dtype was named; otherwise the claim is that of the widest dtypes.
        inputs: the number of inputs.
    """

    certificates: tuple[CircuitCertificate, ...]
    asked: bool
    inputs: int

    @property
    def granted(self) -> bool:
        """Whether what is asked for is proved; where nothing is named, on the dense engine in float64."""
        if self.asked:
            return all(each.granted for each in self.certificates)
        return any(each.granted for each in self.certificates if (each.engine, each.dtype) == ("dense", "float64"))

    def text(self) -> str:
        """Return the report for people."""
        first = self.certificates[0]
        what = f"all {counted(first.gates, 'gate')}" if first.gates > 1 else "the gate"
        lines = [f"{visible(first.circuit)}, weights {first.weights[:16]}"]
        lines += [f"claim: for all 2^{self.inputs} inputs the engine generates the bits of {what}, at every position", ""]
        table = [("engine", "dtype", "certified", "margin", "stray attention")]
        table += [(c.engine, c.dtype, *_cells(c)) for c in self.certificates]
        lines += [line.rstrip() for line in aligned(table, {3, 4})]
        for each in self.certificates:
            if each.refusals and _cells(each)[0] == "no":
                lines += ["", f"{each.engine} in {each.dtype}: NOT certified"]
                lines += [f"  {refusal}" for refusal in each.refusals[:_MOST_REFUSALS]]
                more = len(each.refusals) - _MOST_REFUSALS
                lines += [f"  and {counted(more, 'more refusal')}"] if more > 0 else []
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """Return the report as JSON: what all certificates share, once, then each of them."""
        first = self.certificates[0]
        shared = ("circuit", "weights", "gates", "positions")
        rows = [{k: v for k, v in c.as_dict().items() if k not in shared} for c in self.certificates]
        about: dict[str, Any] = {name: getattr(first, name) for name in shared}
        whole = {**about, "inputs": self.inputs, "granted": self.granted, "certificates": rows}
        return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def circuit_report(proof: CircuitProof, *, engine: str | None = None, dtype: str | None = None) -> CircuitReport:
    """Return the certificates of an engine and a dtype, of all that there are where none is named.

    Raises:
        EngineError: for an unknown engine, or a dtype that no engine asked for has.
    """
    engines = RUNS if engine is None else {engine: RUNS.get(engine, ())}
    pairs = [(name, each) for name, dtypes in engines.items() for each in dtypes if dtype in (None, each)]
    if not pairs:
        raise EngineError(f"there is no certificate for {engine or 'any engine'} in {dtype}: omit one of them")
    asked = engine is not None or dtype is not None
    certificates = tuple(proof.certificate(*pair) for pair in pairs)
    return CircuitReport(certificates, asked, len(proof.circuit.inputs))


def _cells(found: CircuitCertificate) -> tuple[str, str, str]:
    if not found.granted:
        runs = any(refusal.what.endswith(_NOT_RUN) for refusal in found.refusals)
        return "cannot run it" if runs else "no", "", ""
    return "yes", f"{found.margin:.3g}", "none" if found.stray == 0 else f"{found.stray:.2g}"
