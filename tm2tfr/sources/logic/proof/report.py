"""Certificates of a formula's or program's weights in words and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tm2tfr.errors import EngineError, counted, visible
from tm2tfr.sources.logic.proof.certificate import RUNS, LogicCertificate, LogicProof
from tm2tfr.text.columns import aligned

_MOST_REFUSALS = 5
_SHARED = ("program", "weights", "heads", "gaps", "ends", "words", "longest")


@dataclass(frozen=True)
class LogicReport:
    """What ``certify`` prints of a formula or a program.

    Args:
        certificates: those asked for, one for each engine and dtype.
        asked: whether an engine or a dtype was named; otherwise the claim is that of the dense engine in float64.
        positions: up to how many positions it is asked about; None: it is not.
    """

    certificates: tuple[LogicCertificate, ...]
    asked: bool
    positions: int | None = None

    @property
    def granted(self) -> bool:
        """Whether what is asked for is proved."""
        widest = [each for each in self.certificates if (each.engine, each.dtype) == ("dense", "float64")]
        return all(map(self._reaches, self.certificates if self.asked or not widest else widest))

    def _reaches(self, found: LogicCertificate) -> bool:
        most = found.most_positions
        return found.granted and (self.positions is None or most is None or most >= self.positions)

    def text(self) -> str:
        """Return the report for people."""
        first = self.certificates[0]
        lines = [f"{visible(first.program)}, weights {first.weights[:16]}"]
        lines += ["claim: on every word of up to N tokens the engine answers as exact arithmetic does, and every head is"]
        lines += ["tieless, with the gap that it claims, if the stream holds there what it is claimed to hold", ""]
        table = [("engine", "dtype", "certified", "tokens N")]
        table += [(each.engine, each.dtype, *self._cells(each)) for each in self.certificates]
        lines += [line.rstrip() for line in aligned(table, {3})]
        for each in self.certificates:
            lines += [] if each.granted else ["", f"{each.engine} in {each.dtype}: NOT certified"]
            lines += [f"  {refusal}" for refusal in each.refusals[:_MOST_REFUSALS]]
        shown = next((each for each in self.certificates if each.granted), None)
        if shown is not None:
            heads = f"{counted(shown.gaps, 'head')} of {shown.heads} with a gap, all others uniform"
            lines += ["", f"proved from the weights, for words of any length: {heads}"]
            words = f"{counted(shown.words, 'word')} of up to {counted(shown.longest, 'token')}"
            lines += [f"verified only, not proved: that stream and answers are what they have to be: on all {words}"]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """Return the report as JSON: what all certificates share, once, then each of them."""
        best = next((each for each in self.certificates if each.granted), self.certificates[0])
        rows = [{k: v for k, v in each.as_dict().items() if k not in _SHARED} for each in self.certificates]
        about: dict[str, Any] = {name: getattr(best, name) for name in _SHARED}
        whole = {**about, "positions": self.positions, "granted": self.granted, "certificates": rows}
        return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"

    def _cells(self, found: LogicCertificate) -> tuple[str, str]:
        if not found.granted:
            return "no", ""
        tokens = "any" if found.most_tokens is None else f"{found.most_tokens:,}"
        return "yes" if self._reaches(found) else "not as far", tokens


def logic_report(
    proof: LogicProof, *, engine: str | None = None, dtype: str | None = None, positions: int | None = None
) -> LogicReport:
    """Return the certificates of an engine and a dtype, of all that there are where none is named.

    Raises:
        EngineError: for an engine or a dtype that has none.
    """
    engines = RUNS if engine is None else {engine: RUNS.get(engine, ())}
    pairs = [(name, each) for name, dtypes in engines.items() for each in dtypes if dtype in (None, each)]
    if not pairs:
        where = f" in {dtype}" if dtype is not None else ""
        raise EngineError(f"there is no certificate of formulas for {engine or 'any engine'}{where}: use --engine dense")
    certificates = tuple(proof.certificate(*pair) for pair in pairs)
    return LogicReport(certificates, engine is not None or dtype is not None, positions)
